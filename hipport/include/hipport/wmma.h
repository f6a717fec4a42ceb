// nvcuda::wmma, CUDA's C++ interface to warp matrix products, as hipport::tensor::wmma.
//
// CUDA leaves the order of a fragment's elements open; here it is that of mma.sync, so that the products are those of
// hipport/mma.h. A tile of M x N is cut into pieces of 16 x 8; tiles with 8 rows are computed transposed.
// Source: CUDA C++ Programming Guide, "Warp Matrix Functions".
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hipport/mma.h>

namespace hipport {
namespace tensor {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

namespace detail {

template <class T> struct element;
template <> struct element<__half> { using storage = __half; static constexpr Element kind = Element::f16; };
template <> struct element<__hip_bfloat16> { using storage = __hip_bfloat16; static constexpr Element kind = Element::bf16; };
template <> struct element<precision::tf32> { using storage = float; static constexpr Element kind = Element::tf32; };
template <> struct element<signed char> { using storage = signed char; static constexpr Element kind = Element::s8; };
template <> struct element<char> { using storage = char; static constexpr Element kind = Element::s8; };
template <> struct element<unsigned char> { using storage = unsigned char; static constexpr Element kind = Element::u8; };
template <> struct element<double> { using storage = double; static constexpr Element kind = Element::f64; };

/// How a tile is cut: operand X gives the rows (16 or 8 of them per piece), operand Y the columns (8 per piece).
template <int M, int N, int K> struct tiling {
  static constexpr bool swapped = M == 8 && N == 32;  // X is B transposed
  static constexpr int rows = swapped ? N : M, columns = swapped ? M : N;
  static constexpr int piece_rows = rows >= 16 ? 16 : 8, halves = piece_rows / 8;
  static constexpr int n_row_pieces = rows / piece_rows, n_column_pieces = columns / 8;
  static_assert(rows % piece_rows == 0 && columns % 8 == 0, "unknown wmma shape");
};

template <class Layout> struct is_row;
template <> struct is_row<row_major> { static constexpr bool value = true; };
template <> struct is_row<col_major> { static constexpr bool value = false; };

/// Elements per lane of one piece of an operand with `n` rows or columns, and the neighbours along k in one register.
template <class T, int K> struct operand {
  static constexpr int bits = hipport::detail::element_bits(element<T>::kind);
  static constexpr int per_register = bits >= 32 ? 1 : 32 / bits;
  static constexpr int n_chunks = K / (4 * per_register);
  /// k of element `e` (without the halves) for the lane with number `q` in its group of four.
  __device__ static int k(int chunk, int within, int q) { return (chunk * 4 + q) * per_register + within; }
};

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment;

template <int M, int N, int K, class T, class Layout> struct fragment<matrix_a, M, N, K, T, Layout> {
  using element_type = T;
  using storage_element_type = typename detail::element<T>::storage;
  static constexpr int num_elements = M * K / 32, num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};
template <int M, int N, int K, class T, class Layout> struct fragment<matrix_b, M, N, K, T, Layout> {
  using element_type = T;
  using storage_element_type = typename detail::element<T>::storage;
  static constexpr int num_elements = N * K / 32, num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};
template <int M, int N, int K, class T> struct fragment<accumulator, M, N, K, T, void> {
  using element_type = T;
  using storage_element_type = T;
  static constexpr int num_elements = M * N / 32, num_storage_elements = num_elements;
  T x[num_elements];
};

namespace detail {

/// f(element, row or column, k) for each element of an operand. Halves: rows 8 apart in one piece (1 for columns).
template <class T, int K, int Pieces, int Halves, class F> __device__ inline void each_element(F f) {
  using O = operand<T, K>;
  const int lane = static_cast<int>(lane_id()), g = lane >> 2, q = lane & 3;
  int at = 0;
#pragma unroll
  for (int piece = 0; piece < Pieces; ++piece)
#pragma unroll
    for (int chunk = 0; chunk < O::n_chunks; ++chunk)
#pragma unroll
      for (int half = 0; half < Halves; ++half)
#pragma unroll
        for (int within = 0; within < O::per_register; ++within)
          f(at++, piece * 8 * Halves + 8 * half + g, O::k(chunk, within, q));
}

/// f(element, row, column) for each accumulator element, in the tile as the program sees it.
template <int M, int N, int K, class F> __device__ inline void each_sum(F f) {
  using G = tiling<M, N, K>;
  const int lane = static_cast<int>(lane_id()), g = lane >> 2, q = lane & 3;
  int at = 0;
#pragma unroll
  for (int r = 0; r < G::n_row_pieces; ++r)
#pragma unroll
    for (int c = 0; c < G::n_column_pieces; ++c)
#pragma unroll
      for (int i = 0; i < 2 * G::halves; ++i) {
        const int row = r * G::piece_rows + g + 8 * (i >> 1), column = 8 * c + 2 * q + (i & 1);
        f(at++, G::swapped ? column : row, G::swapped ? row : column);
      }
}

/// Register `i` of an operand piece, from elements of 8, 16 or 32 bits.
template <class R, class S> __device__ inline R register_of(const S* x, int i) {
  R word;
  __builtin_memcpy(&word, reinterpret_cast<const char*>(x) + sizeof(R) * i, sizeof(R));
  return word;
}

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout, class V>
__device__ inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const V& value) {
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i)
    f.x[i] = static_cast<typename fragment<Use, M, N, K, T, Layout>::storage_element_type>(value);
}

template <int M, int N, int K, class T, class Layout, class V>
__device__ inline void load_matrix_sync(fragment<matrix_a, M, N, K, T, Layout>& f, const V* p, unsigned ldm) {
  using G = detail::tiling<M, N, K>;
  constexpr int pieces = G::swapped ? G::n_column_pieces : G::n_row_pieces, halves = G::swapped ? 1 : G::halves;
  detail::each_element<T, K, pieces, halves>([&](int i, int row, int k) {
    f.x[i] = p[detail::is_row<Layout>::value ? static_cast<size_t>(row) * ldm + k : static_cast<size_t>(k) * ldm + row];
  });
}
template <int M, int N, int K, class T, class Layout, class V>
__device__ inline void load_matrix_sync(fragment<matrix_b, M, N, K, T, Layout>& f, const V* p, unsigned ldm) {
  using G = detail::tiling<M, N, K>;
  constexpr int pieces = G::swapped ? G::n_row_pieces : G::n_column_pieces, halves = G::swapped ? G::halves : 1;
  detail::each_element<T, K, pieces, halves>([&](int i, int column, int k) {
    f.x[i] = p[detail::is_row<Layout>::value ? static_cast<size_t>(k) * ldm + column : static_cast<size_t>(column) * ldm + k];
  });
}
template <int M, int N, int K, class T, class V>
__device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const V* p, unsigned ldm, layout_t layout) {
  detail::each_sum<M, N, K>([&](int i, int row, int column) {
    f.x[i] = p[layout == mem_row_major ? static_cast<size_t>(row) * ldm + column : static_cast<size_t>(column) * ldm + row];
  });
}
template <int M, int N, int K, class T, class V>
__device__ inline void store_matrix_sync(V* p, const fragment<accumulator, M, N, K, T>& f, unsigned ldm, layout_t layout) {
  detail::each_sum<M, N, K>([&](int i, int row, int column) {
    p[layout == mem_row_major ? static_cast<size_t>(row) * ldm + column : static_cast<size_t>(column) * ldm + row] = f.x[i];
  });
}

namespace detail {

template <int PieceRows, int K, Element X, Element Y, class R, int NX, int NY>
__device__ inline vec<float, PieceRows / 4> product(vec<R, NX> x, vec<R, NY> y, vec<float, PieceRows / 4> c) {
  return mma_f32<PieceRows, 8, K, X, Y>(x, y, c);
}
template <int PieceRows, int K, Element X, Element Y, class R, int NX, int NY>
__device__ inline vec<int, PieceRows / 4> product(vec<R, NX> x, vec<R, NY> y, vec<int, PieceRows / 4> c) {
  return mma_s32<PieceRows, 8, K, X, Y>(x, y, c);
}
template <int PieceRows, int K, Element X, Element Y, class R, int NX, int NY>
__device__ inline vec<double, PieceRows / 4> product(vec<R, NX> x, vec<R, NY> y, vec<double, PieceRows / 4> c) {
  return mma_f64<PieceRows, 8, K, X, Y>(x, y, c);
}

template <class T> struct sum_type { using type = T; };
template <> struct sum_type<__half> { using type = float; };

}  // namespace detail

/// d = a * b + c. Half-precision sums are kept in f32 over K and rounded once; `saturate` clamps integers.
template <int M, int N, int K, class TA, class LA, class TB, class LB, class TC, class TD>
__device__ inline void mma_sync(fragment<accumulator, M, N, K, TD>& d, const fragment<matrix_a, M, N, K, TA, LA>& a,
                                const fragment<matrix_b, M, N, K, TB, LB>& b, const fragment<accumulator, M, N, K, TC>& c,
                                bool saturate = false) {
  using G = detail::tiling<M, N, K>;
  using S = typename detail::sum_type<TC>::type;
  const bool clamped = saturate && !hipport::ptx::detail::is_real<S>;
  constexpr Element ka = detail::element<TA>::kind, kb = detail::element<TB>::kind;
  constexpr Element kx = G::swapped ? kb : ka, ky = G::swapped ? ka : kb;
  constexpr int nx = hipport::detail::n_registers(G::piece_rows * K, kx), ny = hipport::detail::n_registers(8 * K, ky);
  using R = typename __hip_internal::conditional<ka == Element::f64, double, unsigned>::type;
  const char* x = reinterpret_cast<const char*>(G::swapped ? static_cast<const void*>(b.x) : static_cast<const void*>(a.x));
  const char* y = reinterpret_cast<const char*>(G::swapped ? static_cast<const void*>(a.x) : static_cast<const void*>(b.x));
#pragma unroll
  for (int r = 0; r < G::n_row_pieces; ++r)
#pragma unroll
    for (int col = 0; col < G::n_column_pieces; ++col) {
      vec<R, nx> left;
      vec<R, ny> right;
#pragma unroll
      for (int i = 0; i < nx; ++i) left[i] = detail::register_of<R>(x, r * nx + i);
#pragma unroll
      for (int i = 0; i < ny; ++i) right[i] = detail::register_of<R>(y, col * ny + i);
      const int base = (r * G::n_column_pieces + col) * 2 * G::halves;
      vec<S, 2 * G::halves> sum;
#pragma unroll
      for (int i = 0; i < 2 * G::halves; ++i) sum[i] = clamped ? S(0) : static_cast<S>(c.x[base + i]);
      sum = detail::product<G::piece_rows, K, kx, ky>(left, right, sum);
#pragma unroll
      for (int i = 0; i < 2 * G::halves; ++i) {
        if constexpr (hipport::ptx::detail::is_real<S>) {
          d.x[base + i] = static_cast<TD>(sum[i]);
        } else {
          d.x[base + i] = clamped ? hipport::ptx::add_sat<int>(c.x[base + i], sum[i]) : sum[i];
        }
      }
    }
}

/// f32 rounded to the precision of tf32, ties away from zero.
__device__ inline float __float_to_tf32(float x) { return __uint_as_float(hipport::ptx::cvt_rna_tf32(x)); }

}  // namespace wmma
}  // namespace tensor
}  // namespace hipport
