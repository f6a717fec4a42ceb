// nvcuda::wmma, CUDA's C++ interface to warp matrix products, as hipport::tensor::wmma.
//
// CUDA leaves the order of a fragment's elements open. Tiles of 16 x 16 x 16 have the order of AMD's matrix instructions (see
// `native_tile`), so that nothing moves between lanes but what warps of one wavefront exchange. Others have the order of
// mma.sync and its products (hipport/mma.h): a tile of M x N is cut into pieces of 16 x 8, tiles with 8 rows transposed.
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
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental
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

// Several elements in one storage element, as CUDA has it.
template <> struct element<experimental::precision::u4> { using storage = unsigned; static constexpr Element kind = Element::u4; };
template <> struct element<experimental::precision::s4> { using storage = int; static constexpr Element kind = Element::s4; };
template <> struct element<experimental::precision::b1> { using storage = unsigned; static constexpr Element kind = Element::b1; };

/// Elements in one storage element.
template <class T>
inline constexpr int per_storage =
    hipport::detail::element_bits(element<T>::kind) < 8 ? 32 / hipport::detail::element_bits(element<T>::kind) : 1;

/// Tiles in the order of a matrix instruction. Lane l of a warp holds row l % 16 of A and of B^T: k = 8 (l / 16) ... + 7, or all 16
/// on gfx11. It holds row l % 16 of D and half of its columns, as `column_of_sum` says. On CDNA two warps share an instruction
/// and 8-bit integers are left to mma.sync. C: accumulator type.
template <int M, int N, int K, class C>
#if defined(HIPPORT_MMA_BY_LANES)
inline constexpr bool native_tile = false;
#elif defined(__GFX11__) || defined(__GFX12__)
inline constexpr bool native_tile = M == 16 && N == 16 && K == 16;
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
inline constexpr bool native_tile = M == 16 && N == 16 && K == 16 && !__hip_internal::is_same<C, int>::value;
#else
inline constexpr bool native_tile = false;
#endif
#if defined(__GFX11__)
inline constexpr int native_elements = 16;
#else
inline constexpr int native_elements = 8;
#endif
/// Column of sum `e`.
__device__ inline int column_of_sum(int e) {
  const int side = static_cast<int>(__lane_id() >> 4 & 1u);
#if defined(__GFX11__)
  return 2 * e + side;
#elif defined(__GFX12__)
  return 8 * side + e;
#else  // four from the own half of the wavefront, four from the other
  const int upper = static_cast<int>(__lane_id() >> 5);
  return 8 * (upper ^ (e >> 2)) + 4 * side + (e & 3);
#endif
}
/// Accumulator type that goes with an operand type.
template <class T> struct sums { using type = float; };
template <> struct sums<signed char> { using type = int; };
template <> struct sums<char> { using type = int; };
template <> struct sums<unsigned char> { using type = int; };
template <class T> inline constexpr bool is_sub_byte = per_storage<T> > 1;

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

namespace detail {
template <int M, int N, int K, class T, int Rows> struct operand_fragment {
  using element_type = T;
  using storage_element_type = typename element<T>::storage;
  static constexpr int num_elements = native_tile<M, N, K, typename sums<T>::type> ? native_elements : Rows * K / 32;
  static constexpr int num_storage_elements = num_elements / per_storage<T>;
  storage_element_type x[num_storage_elements];
};
}  // namespace detail
template <int M, int N, int K, class T, class Layout>
struct fragment<matrix_a, M, N, K, T, Layout> : detail::operand_fragment<M, N, K, T, M> {};
template <int M, int N, int K, class T, class Layout>
struct fragment<matrix_b, M, N, K, T, Layout> : detail::operand_fragment<M, N, K, T, N> {};
template <int M, int N, int K, class T> struct fragment<accumulator, M, N, K, T, void> {
  using element_type = T;
  using storage_element_type = T;
  static constexpr int num_elements = M * N / 32, num_storage_elements = num_elements;
  T x[num_elements];
};

namespace detail {

/// f(element, row or column, k) for each element of an operand, for each word of sub-byte ones. Halves: rows 8 apart in one piece
/// (1 for columns).
template <int M, int N, int K, class T, int Pieces, int Halves, class F> __device__ inline void each_element(F f) {
  const int lane = static_cast<int>(lane_id()), g = lane >> 2, q = lane & 3;
  if constexpr (native_tile<M, N, K, typename sums<T>::type>) {
#pragma unroll
    for (int e = 0; e < native_elements; ++e) f(e, lane & 15, (native_elements == 8 ? 8 * (lane >> 4) : 0) + e);
  } else {
    using O = operand<T, K>;
    int at = 0;
#pragma unroll
    for (int piece = 0; piece < Pieces; ++piece)
#pragma unroll
      for (int chunk = 0; chunk < O::n_chunks; ++chunk)
#pragma unroll
        for (int half = 0; half < Halves; ++half)
#pragma unroll
          for (int within = 0; within < O::per_register; within += per_storage<T>)
            f(at++, piece * 8 * Halves + 8 * half + g, O::k(chunk, within, q));
  }
}

/// f(element, row, column) for each accumulator element, in the tile as the program sees it.
template <int M, int N, int K, class T, class F> __device__ inline void each_sum(F f) {
  using G = tiling<M, N, K>;
  const int lane = static_cast<int>(lane_id()), g = lane >> 2, q = lane & 3;
  if constexpr (native_tile<M, N, K, T>) {
#pragma unroll
    for (int e = 0; e < 8; ++e) f(e, lane & 15, column_of_sum(e));
    return;
  }
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

/// The storage element that holds element `at`; the leading dimension counts elements.
template <class T, class V> __device__ inline auto element_at(const V* p, size_t at) {
  if constexpr (is_sub_byte<T>) return reinterpret_cast<const typename element<T>::storage*>(p)[at / per_storage<T>];
  else return p[at];
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
  using Storage = typename fragment<Use, M, N, K, T, Layout>::storage_element_type;
  Storage filling = static_cast<Storage>(value);
  if constexpr (!__hip_internal::is_same<Use, accumulator>::value) {
    if constexpr (detail::is_sub_byte<T>) {  // one element, repeated
      constexpr int bits = 32 / detail::per_storage<T>;
      filling = static_cast<Storage>((static_cast<unsigned>(value) & ((1u << bits) - 1)) * (0xffffffffu / ((1u << bits) - 1)));
    }
  }
#pragma unroll
  for (int i = 0; i < f.num_storage_elements; ++i) f.x[i] = filling;
}

template <int M, int N, int K, class T, class Layout, class V>
__device__ inline void load_matrix_sync(fragment<matrix_a, M, N, K, T, Layout>& f, const V* p, unsigned ldm) {
  using G = detail::tiling<M, N, K>;
  constexpr int pieces = G::swapped ? G::n_column_pieces : G::n_row_pieces, halves = G::swapped ? 1 : G::halves;
  static_assert(!detail::is_sub_byte<T> || detail::is_row<Layout>::value, "elements of less than a byte: rows only");
  detail::each_element<M, N, K, T, pieces, halves>([&](int i, int row, int k) {
    const size_t at = detail::is_row<Layout>::value ? static_cast<size_t>(row) * ldm + k : static_cast<size_t>(k) * ldm + row;
    f.x[i] = detail::element_at<T>(p, at);
  });
}
template <int M, int N, int K, class T, class Layout, class V>
__device__ inline void load_matrix_sync(fragment<matrix_b, M, N, K, T, Layout>& f, const V* p, unsigned ldm) {
  using G = detail::tiling<M, N, K>;
  constexpr int pieces = G::swapped ? G::n_row_pieces : G::n_column_pieces, halves = G::swapped ? G::halves : 1;
  static_assert(!detail::is_sub_byte<T> || !detail::is_row<Layout>::value, "elements of less than a byte: columns only");
  detail::each_element<M, N, K, T, pieces, halves>([&](int i, int column, int k) {
    const size_t at = detail::is_row<Layout>::value ? static_cast<size_t>(k) * ldm + column : static_cast<size_t>(column) * ldm + k;
    f.x[i] = detail::element_at<T>(p, at);
  });
}
template <int M, int N, int K, class T, class V>
__device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const V* p, unsigned ldm, layout_t layout) {
  detail::each_sum<M, N, K, T>([&](int i, int row, int column) {
    f.x[i] = p[layout == mem_row_major ? static_cast<size_t>(row) * ldm + column : static_cast<size_t>(column) * ldm + row];
  });
}
template <int M, int N, int K, class T, class V>
__device__ inline void store_matrix_sync(V* p, const fragment<accumulator, M, N, K, T>& f, unsigned ldm, layout_t layout) {
  detail::each_sum<M, N, K, T>([&](int i, int row, int column) {
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

/// Sums of a native tile lane by lane, where a warp of the wavefront is missing.
template <Element E, class S> __device__ inline vec<S, 8> native_by_lanes(vec<unsigned, 4> x, vec<unsigned, 4> y, vec<S, 8> c) {
  const unsigned row = lane_id() & 15u;
#pragma unroll
  for (unsigned w = 0; w < 8; ++w) {
    const unsigned a = hipport::detail::from_lane(x[w & 3u], row + 4u * (w & 4u));
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const unsigned b = hipport::detail::from_lane(y[w & 3u], static_cast<unsigned>(column_of_sum(e)) + 4u * (w & 4u));
      c[e] = hipport::detail::dot<E, E>(a, b, c[e]);
    }
  }
  return c;
}

#if defined(HIPPORT_MMA_BY_LANES)
template <Element E, class S, int Words>
__device__ inline vec<S, 8> native_product(vec<unsigned, Words>, vec<unsigned, Words>, vec<S, 8> c) {
  return c;
}
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
/// Both warps of the wavefront at once: each instruction takes the k of one warp from both halves of the wavefront.
template <Element E, class S> __device__ inline vec<S, 8> native_product(vec<unsigned, 4> x, vec<unsigned, 4> y, vec<S, 8> c) {
  using Step = hipport::detail::MatrixStep<E, E>;
  using hipport::detail::from_wave;
  if (!hipport::detail::matrix_ready()) return native_by_lanes<E>(x, y, c);
  const unsigned lane = __lane_id(), other = lane ^ 32u;
  const bool upper = lane >= 32u;
  unsigned x_low[2], x_high[2], y_low[2], y_high[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned x_other = from_wave(x[2 + i], other), y_other = from_wave(y[2 + i], other);
    x_low[i] = upper ? x_other : x[i];
    x_high[i] = upper ? x[i] : x_other;
    y_low[i] = upper ? y_other : y[i];
    y_high[i] = upper ? y[i] : y_other;
  }
  const auto low = Step::run(x_low, y_low, {0, 0, 0, 0}), high = Step::run(x_high, y_high, {0, 0, 0, 0});
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const S own = upper ? high[v] : low[v], foreign = upper ? low[v] : high[v];
    c[v] += own;
    c[4 + v] += from_wave<S>(foreign, other);
  }
  return c;
}
#elif defined(__GFX11__) || defined(__GFX12__)
template <Element E, class S, int Words> __device__ inline vec<S, 8> native_product(vec<unsigned, Words> x, vec<unsigned, Words> y, vec<S, 8> c) {
  using Step = hipport::detail::MatrixStep<E, E>;
  return __builtin_bit_cast(vec<S, 8>, Step::run(x, y, __builtin_bit_cast(typename Step::sum, c)));
}
#else
template <Element E, class S, int Words> __device__ inline vec<S, 8> native_product(vec<unsigned, Words>, vec<unsigned, Words>, vec<S, 8> c) {
  return c;
}
#endif

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
  if constexpr (detail::native_tile<M, N, K, S>) {
    constexpr int words = sizeof(a.x) / 4;
    vec<S, 8> sum;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = clamped ? S(0) : static_cast<S>(c.x[i]);
    sum = detail::native_product<ka>(__builtin_bit_cast(vec<unsigned, words>, a.x), __builtin_bit_cast(vec<unsigned, words>, b.x), sum);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if constexpr (hipport::ptx::detail::is_real<S>) {
        d.x[i] = static_cast<TD>(sum[i]);
      } else {
        d.x[i] = clamped ? hipport::ptx::add_sat<int>(c.x[i], sum[i]) : sum[i];
      }
    }
    return;
  }
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

/// d = c + the number of ones in a ^ b, or in a & b.
template <class LA, class LB>
__device__ inline void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
                                 const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, LA>& a,
                                 const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, LB>& b,
                                 const fragment<accumulator, 8, 8, 128, int>& c,
                                 experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
                                 experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  const vec<unsigned, 1> x{{a.x[0]}}, y{{b.x[0]}};
  const vec<int, 2> before{{c.x[0], c.x[1]}};
  const vec<int, 2> sum = operation == experimental::bmmaBitOpXOR ? mma_b1<8, 8, 128, true>(x, y, before)
                                                                  : mma_b1<8, 8, 128, false>(x, y, before);
  d.x[0] = sum[0];
  d.x[1] = sum[1];
}

/// f32 rounded to the precision of tf32, ties away from zero.
__device__ inline float __float_to_tf32(float x) { return __uint_as_float(hipport::ptx::cvt_rna_tf32(x)); }

}  // namespace wmma
}  // namespace tensor
}  // namespace hipport
