// Matrix opcodes: MFMA, sparse MFMA (gfx90a, gfx942, gfx950) and WMMA (gfx11, gfx12).
//
// One formula places the operands of MFMA: with `per` consecutive k in a lane, element (i, k) of block b of A (and of B, by
// column) is in lane i + M * (b + blocks * (k / per)), at position k % per. Results accumulate in k order with fma.
// Sources: AMD matrix instruction calculator (published layouts), CDNA3/CDNA4 ISA, RDNA3/RDNA4 ISA.
#include <deque>

#include "checks.h"
#include "float8.h"

namespace hipemu {

namespace {

enum class E : u8 { f16, bf16, f32, xf32, f64, i8, fp8, bf8, fp6, bf6, fp4 };

constexpr u32 bits_of(E e) {
    switch (e) {
    case E::f64: return 64;
    case E::f32: case E::xf32: return 32;
    case E::f16: case E::bf16: return 16;
    case E::fp6: case E::bf6: return 6;
    case E::fp4: return 4;
    default: return 8;
    }
}

float decode_small(E e, u32 v) { // fp6 e2m3, bf6 e3m2, fp4 e2m1 (OCP microscaling formats)
    int M = e == E::fp6 ? 3 : e == E::bf6 ? 2 : 1, X = e == E::bf6 ? 3 : 2, bias = e == E::bf6 ? 3 : 1;
    int exponent = int(v >> M & ((1u << X) - 1)), mantissa = int(v & ((1u << M) - 1));
    float r = exponent ? std::ldexp(float(mantissa + (1 << M)), exponent - bias - M) : std::ldexp(float(mantissa), 1 - bias - M);
    return v >> (M + X) & 1 ? -r : r;
}

// Nearest even to 10 explicit mantissa bits.
float to_xf32(float f) {
    u32 x = std::bit_cast<u32>(f);
    if ((x & 0x7f800000u) == 0x7f800000u) return f;
    x += 0xfff + (x >> 13 & 1);
    return std::bit_cast<float>(x & ~0x1fffu);
}

u32 field(const u32 *rows, int lane, u32 at_bit, u32 bits) {
    u32 word = at_bit / 32, shift = at_bit % 32;
    u64 v = rows[word * kLanes + lane];
    if (shift + bits > 32) v |= u64(rows[(word + 1) * kLanes + lane]) << 32;
    return u32(v >> shift) & (bits == 32 ? ~0u : (1u << bits) - 1);
}

template <class T> T decode(E e, u32 v, bool fnuz) {
    switch (e) {
    case E::f16: return T(half_to_float(v));
    case E::bf16: return T(bf16_to_float(v));
    case E::f32: return T(std::bit_cast<float>(v));
    case E::xf32: return T(to_xf32(std::bit_cast<float>(v)));
    case E::i8: return T(i8(v));
    case E::fp8: return T(decode_f8<4, 3>(v, fnuz));
    case E::bf8: return T(decode_f8<5, 2>(v, fnuz));
    default: return T(decode_small(e, v));
    }
}

// out[k * size + i] for one block. `from`: lane permutation (B group broadcast), or nullptr.
template <class T> void unpack(E e, const u32 *rows, int size, int k_count, int per, int block, int blocks, const u8 *from, bool fnuz, T *out) {
    for (int k = 0; k < k_count; ++k) {
        int element = k % per, base = size * (block + blocks * (k / per));
        T *o = out + k * size;
        if constexpr (sizeof(T) == 8) {
            for (int i = 0; i < size; ++i) o[i] = f64::load(rows, base + i);
            continue;
        }
        u32 at = u32(element) * bits_of(e);
        if (!from && e == E::f16) {
            const u32 *r = rows + at / 32 * kLanes + base;
            int i = 0;
#if defined(__AVX512F__)
            if constexpr (std::is_same_v<T, float>)
                for (; i + 16 <= size; i += 16) {
                    __m512i words = _mm512_srl_epi32(_mm512_loadu_si512(r + i), _mm_cvtsi32_si128(int(at % 32)));
                    _mm512_storeu_ps(o + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)));
                }
#endif
            for (; i < size; ++i) o[i] = T(half_to_float(r[i] >> (at % 32) & 0xffff));
        } else if (!from && e == E::bf16) {
            const u32 *r = rows + at / 32 * kLanes + base;
            for (int i = 0; i < size; ++i) o[i] = T(bf16_to_float(r[i] >> (at % 32) & 0xffff));
        } else {
            for (int i = 0; i < size; ++i) {
                int lane = base + i;
                o[i] = decode<T>(e, field(rows, from ? from[lane] : lane, at, bits_of(e)), fnuz);
            }
        }
    }
}

float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
i32 multiply_add(i32 a, i32 b, i32 c) { return i32(u32(a) * u32(b) + u32(c)); }

// Sixteen results in a row. The compiler does not keep them in vector registers over the k loop by itself.
template <class T> struct Sixteen {
    T x[16];
    static Sixteen load(const T *p) { Sixteen v; std::memcpy(v.x, p, sizeof v.x); return v; }
    void store(T *p) const { std::memcpy(p, x, sizeof x); }
    void add_product(T a, const Sixteen &b) { for (int n = 0; n < 16; ++n) x[n] = multiply_add(a, b.x[n], x[n]); }
};
#if defined(__AVX512F__)
template <> struct Sixteen<float> {
    __m512 x;
    static Sixteen load(const float *p) { return {_mm512_loadu_ps(p)}; }
    void store(float *p) const { _mm512_storeu_ps(p, x); }
    void add_product(float a, const Sixteen &b) { x = _mm512_fmadd_ps(_mm512_set1_ps(a), b.x, x); }
};
template <> struct Sixteen<i32> {
    __m512i x;
    static Sixteen load(const i32 *p) { return {_mm512_loadu_si512(p)}; }
    void store(i32 *p) const { _mm512_storeu_si512(p, x); }
    void add_product(i32 a, const Sixteen &b) { x = _mm512_add_epi32(x, _mm512_mullo_epi32(_mm512_set1_epi32(a), b.x)); }
};
#endif

// Rows [m, m + 4) of one block: columns of 16 * Halves.
template <int Halves, class T> void multiply_rows(const T *A, const T *B, int size, int k_count, int m, T *const *rows) {
    Sixteen<T> acc[4][Halves];
    for (int r = 0; r < 4; ++r)
        for (int h = 0; h < Halves; ++h) acc[r][h] = Sixteen<T>::load(rows[r] + 16 * h);
    for (int k = 0; k < k_count; ++k) {
        Sixteen<T> b[Halves];
        for (int h = 0; h < Halves; ++h) b[h] = Sixteen<T>::load(B + k * 16 * Halves + 16 * h);
        for (int r = 0; r < 4; ++r)
            for (int h = 0; h < Halves; ++h) acc[r][h].add_product(A[k * size + m + r], b[h]);
    }
    for (int r = 0; r < 4; ++r)
        for (int h = 0; h < Halves; ++h) acc[r][h].store(rows[r] + 16 * h);
}

// gfx950's f8f6f4: 8-bit elements come in chunks of 16 (lane group g holds k = 16 g .. and, in its second half, the same of the
// upper half of K), narrower ones in runs of 32. Source: the register maps in composable_kernel's MX tests.
void place_f8f6f4(E e, int size, int k, int &lane_group, int &element) {
    int groups = kLanes / size;
    if (bits_of(e) == 8) {
        int within = k % (16 * groups);
        lane_group = within / 16;
        element = k / (16 * groups) * 16 + within % 16;
    } else {
        lane_group = k / 32;
        element = k % 32;
    }
}
template <class T> void unpack_f8f6f4(E e, const u32 *rows, int size, int k_count, T *out) {
    for (int k = 0; k < k_count; ++k) {
        int group, element;
        place_f8f6f4(e, size, k, group, element);
        for (int i = 0; i < size; ++i)
            out[k * size + i] = decode<T>(e, field(rows, i + size * group, u32(element) * bits_of(e), bits_of(e)), false);
    }
}

struct Tile {
    int m, n, k, blocks, per;
    E a, b;
    bool sparse;
};
std::vector<Tile> &shapes() {
    static std::vector<Tile> all;
    return all;
}

// Register (in units of results) and first lane of row m of block b.
void place(const Tile &s, int m, int block, bool wide, int &reg, int &lane) {
    if (s.m == 32) { reg = 16 * block + 4 * (m / 8) + m % 4; lane = 32 * (m / 4 % 2); }
    else if (s.m == 16) {
        if (wide) { reg = m / 4; lane = 16 * (m % 4); }
        else { reg = 4 * block + m % 4; lane = 16 * (m / 4); }
    } else if (wide) { reg = 0; lane = 4 * block + 16 * m; }
    else { reg = m; lane = 4 * block; }
}

const u32 *rows_of(Wave &w, const Operand &o, u32 *tmp, u32 n_rows) {
    if (o.kind == Kind::vgpr) return w.v[o.index].lane;
    u32 low = read32(w, o), high = n_rows == 0 ? 0 : u32(read64(w, o) >> 32);
    (void)n_rows;
    for (int l = 0; l < kLanes; ++l) { tmp[l] = low; tmp[l + kLanes] = high; }
    return nullptr; // every row is tmp
}

template <class T> T load_c(const u32 *rows, int reg, int lane) {
    if constexpr (sizeof(T) == 8) return f64::load(rows + reg * 2 * kLanes, lane);
    else return std::bit_cast<T>(rows[reg * kLanes + lane]);
}

const u8 *group_pattern(int blgp) {
    static u8 table[8][kLanes];
    static bool ready = [] {
        for (int l = 0; l < kLanes; ++l) {
            table[0][l] = u8(l);
            table[1][l] = u8(l & 31);
            table[2][l] = u8(32 + (l & 31));
            table[3][l] = u8((l + 16) & 63);
            for (int g = 0; g < 4; ++g) table[4 + g][l] = u8(16 * g + (l & 15));
        }
        return true;
    }();
    (void)ready;
    return blgp ? table[blgp] : nullptr;
}

float e8m0(u32 v) { return v == 255 ? std::bit_cast<float>(0x7fc00000u) : std::ldexp(1.0f, int(v) - 127); }

template <class T> const Inst *mfma(Wave &w, const Inst *i) {
    ++w.matrix_instructions;
    const Tile &s = shapes()[i->op->info];
    constexpr bool wide = sizeof(T) == 8;
    bool fnuz = w.group->target->fp8_fnuz;
    alignas(64) static thread_local T A[32 * 128], B[32 * 128];
    alignas(64) static thread_local u32 result[32 * 2 * kLanes];
    alignas(64) u32 constant[2 * kLanes];
    const u32 *a_rows = w.v[i->o[1].index].lane, *b_rows = w.v[i->o[2].index].lane;
    const u32 *c_rows = rows_of(w, i->o[3], constant, wide);
    E a_type = s.a, b_type = s.b;
    bool formats = s.a == E::fp4; // f8f6f4: cbsz and blgp name the formats
    const u8 *pattern = nullptr;
    if (formats) {
        static const E kinds[] = {E::fp8, E::bf8, E::fp6, E::bf6, E::fp4};
        if (i->a > 4 || i->c > 4) unimplemented(i, "matrix format");
        a_type = kinds[i->a];
        b_type = kinds[i->c];
    } else if (!wide) {
        pattern = group_pattern(i->c & 7);
    }
    u32 negate = wide ? i->c : 0;
    if (wide && i->neg_lo) negate |= i->neg_lo;
    int registers = s.m * s.n * s.blocks / kLanes;
    if (s.m * s.n * s.blocks < kLanes) registers = 1;
    for (int b = 0; b < s.blocks; ++b) {
        int a_block = b;
        if (!formats && i->a && s.blocks > 1) { // broadcast one block of A within groups of 2^cbsz
            int group = 1 << i->a;
            a_block = (b & ~(group - 1)) | (i->b & (group - 1));
        }
        if (formats) {
            if constexpr (sizeof(T) == 4) {
                unpack_f8f6f4<T>(a_type, a_rows, s.m, s.k, A);
                unpack_f8f6f4<T>(b_type, b_rows, s.n, s.k, B);
            }
        } else {
            unpack<T>(a_type, a_rows, s.m, s.k, s.per, a_block, s.blocks, nullptr, fnuz, A);
            unpack<T>(b_type, b_rows, s.n, s.k, s.per, b, s.blocks, pattern, fnuz, B);
        }
        if (formats && i->n >= 6) { // one scale per 32 k, in the lane that holds them
            // Byte of the scale register: op_sel is bit 0, op_sel_hi bit 1.
            u32 a_byte = (i->op_sel & 1) | (i->op_sel_hi & 1) << 1, b_byte = (i->op_sel >> 1 & 1) | (i->op_sel_hi >> 1 & 1) << 1;
            for (int k = 0; k < s.k; ++k)
                for (int r = 0; r < s.m; ++r) {
                    int lane = r + s.m * (k / 32);
                    auto scale = [&](const Operand &o, u32 byte) {
                        u32 v = o.kind == Kind::vgpr ? w.v[o.index].lane[lane] : read32(w, o);
                        return e8m0(v >> (8 * byte) & 0xff);
                    };
                    A[k * s.m + r] *= T(scale(i->o[4], a_byte));
                    B[k * s.n + r] *= T(scale(i->o[5], b_byte));
                }
        }
        if constexpr (!wide) {
            if (s.n != 4) { // results of a row lie side by side in a register
                for (int m = 0; m < s.m; m += 4) {
                    T *rows[4];
                    for (int r = 0; r < 4; ++r) {
                        int reg, lane;
                        place(s, m + r, b, wide, reg, lane);
                        rows[r] = reinterpret_cast<T *>(result + reg * kLanes + lane);
                        std::memcpy(rows[r], c_rows ? c_rows + reg * kLanes + lane : constant, sizeof(T) * s.n);
                    }
                    if (s.n == 16) multiply_rows<1>(A, B, s.m, s.k, m, rows);
                    else multiply_rows<2>(A, B, s.m, s.k, m, rows);
                }
                continue;
            }
        }
        for (int m = 0; m < s.m; ++m) {
            int reg, lane;
            place(s, m, b, wide, reg, lane);
            alignas(64) T acc[32];
            for (int n = 0; n < s.n; ++n) {
                acc[n] = c_rows ? load_c<T>(c_rows, reg, lane + n) : load_c<T>(constant, 0, lane + n);
                if (negate & 4) acc[n] = -acc[n];
            }
            for (int k = 0; k < s.k; ++k) {
                T a = A[k * s.m + m];
                if (negate & 1) a = -a;
                for (int n = 0; n < s.n; ++n) acc[n] = multiply_add(a, negate & 2 ? -B[k * s.n + n] : B[k * s.n + n], acc[n]);
            }
            for (int n = 0; n < s.n; ++n) {
                if constexpr (wide) f64::store(result + reg * 2 * kLanes, lane + n, acc[n]);
                else result[reg * kLanes + lane + n] = std::bit_cast<u32>(acc[n]);
            }
        }
    }
    // MFMA ignores EXEC.
    std::memcpy(w.v[i->o[0].index].lane, result, sizeof(Row) * (wide ? 2 * registers : registers));
    return i + 1;
}

} // namespace

void matrix_definedness(const Inst *i, u64 *defined) {
    const Tile &s = shapes()[i->op->info];
    bool wide = s.a == E::f64;
    int wave = kLanes, d = int(i->o[0].index);
    auto undefined_lanes = [&](const Operand &o) {
        u64 lanes = 0;
        if (o.kind == Kind::vgpr)
            for (u32 k = 0; k < o.width; ++k) lanes |= ~defined[o.index + k];
        return lanes;
    };
    u64 a = undefined_lanes(i->o[1]), b = undefined_lanes(i->o[2]);
    u64 result[64];
    int registers = int(i->o[0].width);
    for (int r = 0; r < registers && r < 64; ++r) result[r] = s.sparse ? defined[d + r] : i->o[3].kind == Kind::vgpr ? defined[i->o[3].index + r] : ~0ull;
    // Row m (column n) is spoiled when a lane that holds part of it is.
    u32 rows[16] = {}, columns[16] = {};
    for (int l = 0; l < wave; ++l) {
        if (a >> l & 1) rows[l / s.m % s.blocks] |= 1u << (l % s.m);
        if (b >> l & 1) columns[l / s.n % s.blocks] |= 1u << (l % s.n);
    }
    for (int block = 0; block < s.blocks; ++block)
        for (int m = 0; m < s.m; ++m) {
            int reg, lane;
            place(s, m, block, wide, reg, lane);
            u64 spoiled = rows[block] >> m & 1 ? (s.n == 32 ? 0xffffffffull : (1ull << s.n) - 1) : columns[block];
            for (int k = 0; k < (wide ? 2 : 1); ++k)
                if (reg * (wide ? 2 : 1) + k < registers) result[reg * (wide ? 2 : 1) + k] &= ~(spoiled << lane);
        }
    for (int r = 0; r < registers && r < 64; ++r) defined[d + r] = result[r];
}

namespace {

// 4:2 structured sparsity: of four consecutive k of A, two are stored; two index bits per stored element say which.
template <class T> const Inst *smfmac(Wave &w, const Inst *i) {
    ++w.matrix_instructions;
    const Tile &s = shapes()[i->op->info];
    bool fnuz = w.group->target->fp8_fnuz;
    static thread_local T A[32 * 128], B[32 * 128], stored[32 * 64];
    const u32 *index = w.v[i->o[3].index].lane;
    int half_k = s.k / 2, half_per = s.per / 2;
    unpack<T>(s.a, w.v[i->o[1].index].lane, s.m, half_k, half_per, 0, 1, nullptr, fnuz, stored);
    unpack<T>(s.b, w.v[i->o[2].index].lane, s.n, s.k, s.per, 0, 1, nullptr, fnuz, B);
    std::fill_n(A, s.k * s.m, T(0));
    u32 index_bits = u32(half_per) * 2, sets = 32 / index_bits, set = i->a ? 0 : i->b % sets;
    for (int k = 0; k < half_k; ++k)
        for (int m = 0; m < s.m; ++m) {
            int group = k / half_per, position = k % half_per, lane = m + s.m * group;
            u32 which = index[lane] >> (set * index_bits + 2 * position) & 3;
            int dense = group * s.per + position / 2 * 4 + int(which);
            A[dense * s.m + m] = stored[k * s.m + m];
        }
    u32 *d = w.v[i->o[0].index].lane;
    for (int m = 0; m < s.m; ++m) {
        int reg, lane;
        place(s, m, 0, false, reg, lane);
        T acc[32];
        for (int n = 0; n < s.n; ++n) acc[n] = load_c<T>(d, reg, lane + n);
        for (int k = 0; k < s.k; ++k)
            for (int n = 0; n < s.n; ++n) acc[n] = multiply_add(A[k * s.m + m], B[k * s.n + n], acc[n]);
        for (int n = 0; n < s.n; ++n) d[reg * kLanes + lane + n] = std::bit_cast<u32>(acc[n]);
    }
    return i + 1;
}

std::deque<std::string> names;
const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

Type constant_type(E e) { return e == E::f64 ? Type::f64 : e == E::i8 ? Type::i32 : Type::f32; }

void add(Table &t, std::vector<std::string> spellings, Tile s, const char *exactness = "fma chain in k order") {
    u32 index = u32(shapes().size());
    shapes().push_back(s);
    Run run = s.sparse ? (s.a == E::i8 ? smfmac<i32> : smfmac<float>) : s.a == E::f64 ? mfma<double> : s.a == E::i8 ? mfma<i32> : mfma<float>;
    for (std::string &n : spellings)
        t.push_back({intern(std::move(n)), Unit::matrix, run, nullptr, {Type::wide, Type::wide, Type::wide, constant_type(s.a)}, kOwnModifiers | kAlwaysRuns,
                     s.a == E::i8 ? "exact" : exactness, index});
}

} // namespace

Table matrix_opcodes() {
    Table t;
    auto v = [](const char *x) { return std::string("v_mfma_") + x; };
    // f32
    add(t, {v("f32_32x32x1f32"), v("f32_32x32x1_2b_f32")}, {32, 32, 1, 2, 1, E::f32, E::f32, false});
    add(t, {v("f32_16x16x1f32"), v("f32_16x16x1_4b_f32")}, {16, 16, 1, 4, 1, E::f32, E::f32, false});
    add(t, {v("f32_4x4x1f32"), v("f32_4x4x1_16b_f32")}, {4, 4, 1, 16, 1, E::f32, E::f32, false});
    add(t, {v("f32_32x32x2f32"), v("f32_32x32x2_f32")}, {32, 32, 2, 1, 1, E::f32, E::f32, false});
    add(t, {v("f32_16x16x4f32"), v("f32_16x16x4_f32")}, {16, 16, 4, 1, 1, E::f32, E::f32, false});
    // f16
    add(t, {v("f32_32x32x4f16"), v("f32_32x32x4_2b_f16")}, {32, 32, 4, 2, 4, E::f16, E::f16, false});
    add(t, {v("f32_16x16x4f16"), v("f32_16x16x4_4b_f16")}, {16, 16, 4, 4, 4, E::f16, E::f16, false});
    add(t, {v("f32_4x4x4f16"), v("f32_4x4x4_16b_f16")}, {4, 4, 4, 16, 4, E::f16, E::f16, false});
    add(t, {v("f32_32x32x8f16"), v("f32_32x32x8_f16")}, {32, 32, 8, 1, 4, E::f16, E::f16, false});
    add(t, {v("f32_16x16x16f16"), v("f32_16x16x16_f16")}, {16, 16, 16, 1, 4, E::f16, E::f16, false});
    add(t, {v("f32_16x16x32_f16")}, {16, 16, 32, 1, 8, E::f16, E::f16, false});
    add(t, {v("f32_32x32x16_f16")}, {32, 32, 16, 1, 8, E::f16, E::f16, false});
    // bf16: gfx908's form holds two, the 1k form four per lane
    add(t, {v("f32_32x32x2bf16")}, {32, 32, 2, 2, 2, E::bf16, E::bf16, false});
    add(t, {v("f32_16x16x2bf16")}, {16, 16, 2, 4, 2, E::bf16, E::bf16, false});
    add(t, {v("f32_4x4x2bf16")}, {4, 4, 2, 16, 2, E::bf16, E::bf16, false});
    add(t, {v("f32_32x32x4bf16")}, {32, 32, 4, 1, 2, E::bf16, E::bf16, false});
    add(t, {v("f32_16x16x8bf16")}, {16, 16, 8, 1, 2, E::bf16, E::bf16, false});
    add(t, {v("f32_32x32x4bf16_1k"), v("f32_32x32x4_2b_bf16")}, {32, 32, 4, 2, 4, E::bf16, E::bf16, false});
    add(t, {v("f32_16x16x4bf16_1k"), v("f32_16x16x4_4b_bf16")}, {16, 16, 4, 4, 4, E::bf16, E::bf16, false});
    add(t, {v("f32_4x4x4bf16_1k"), v("f32_4x4x4_16b_bf16")}, {4, 4, 4, 16, 4, E::bf16, E::bf16, false});
    add(t, {v("f32_32x32x8bf16_1k"), v("f32_32x32x8_bf16")}, {32, 32, 8, 1, 4, E::bf16, E::bf16, false});
    add(t, {v("f32_16x16x16bf16_1k"), v("f32_16x16x16_bf16")}, {16, 16, 16, 1, 4, E::bf16, E::bf16, false});
    add(t, {v("f32_16x16x32_bf16")}, {16, 16, 32, 1, 8, E::bf16, E::bf16, false});
    add(t, {v("f32_32x32x16_bf16")}, {32, 32, 16, 1, 8, E::bf16, E::bf16, false});
    // xf32 (gfx942)
    add(t, {v("f32_16x16x8_xf32")}, {16, 16, 8, 1, 2, E::xf32, E::xf32, false}, "inputs rounded to 10 mantissa bits");
    add(t, {v("f32_32x32x4_xf32")}, {32, 32, 4, 1, 2, E::xf32, E::xf32, false}, "inputs rounded to 10 mantissa bits");
    // i8
    add(t, {v("i32_32x32x4i8"), v("i32_32x32x4_2b_i8")}, {32, 32, 4, 2, 4, E::i8, E::i8, false});
    add(t, {v("i32_16x16x4i8"), v("i32_16x16x4_4b_i8")}, {16, 16, 4, 4, 4, E::i8, E::i8, false});
    add(t, {v("i32_4x4x4i8"), v("i32_4x4x4_16b_i8")}, {4, 4, 4, 16, 4, E::i8, E::i8, false});
    add(t, {v("i32_32x32x8i8")}, {32, 32, 8, 1, 4, E::i8, E::i8, false});
    add(t, {v("i32_16x16x16i8")}, {16, 16, 16, 1, 4, E::i8, E::i8, false});
    add(t, {v("i32_32x32x16_i8")}, {32, 32, 16, 1, 8, E::i8, E::i8, false});
    add(t, {v("i32_16x16x32_i8")}, {16, 16, 32, 1, 8, E::i8, E::i8, false});
    add(t, {v("i32_16x16x64_i8")}, {16, 16, 64, 1, 16, E::i8, E::i8, false});
    add(t, {v("i32_32x32x32_i8")}, {32, 32, 32, 1, 16, E::i8, E::i8, false});
    // f64
    add(t, {v("f64_16x16x4f64"), v("f64_16x16x4_f64")}, {16, 16, 4, 1, 1, E::f64, E::f64, false});
    add(t, {v("f64_4x4x4f64"), v("f64_4x4x4_4b_f64")}, {4, 4, 4, 4, 1, E::f64, E::f64, false});
    // fp8 and bf8
    const std::pair<const char *, E> eights[] = {{"fp8", E::fp8}, {"bf8", E::bf8}};
    for (auto [an, ae] : eights)
        for (auto [bn, be] : eights) {
            std::string suffix = std::string("_") + an + "_" + bn;
            add(t, {"v_mfma_f32_16x16x32" + suffix}, {16, 16, 32, 1, 8, ae, be, false});
            add(t, {"v_mfma_f32_32x32x16" + suffix}, {32, 32, 16, 1, 8, ae, be, false});
        }
    // gfx950: formats chosen by cbsz and blgp, optional block scales
    add(t, {v("f32_16x16x128_f8f6f4"), v("scale_f32_16x16x128_f8f6f4")}, {16, 16, 128, 1, 32, E::fp4, E::fp4, false});
    add(t, {v("f32_32x32x64_f8f6f4"), v("scale_f32_32x32x64_f8f6f4")}, {32, 32, 64, 1, 32, E::fp4, E::fp4, false});
    return t;
}

Table sparse_matrix_opcodes() {
    Table t;
    auto v = [](const char *x) { return std::string("v_smfmac_") + x; };
    add(t, {v("f32_16x16x32_f16")}, {16, 16, 32, 1, 8, E::f16, E::f16, true});
    add(t, {v("f32_32x32x16_f16")}, {32, 32, 16, 1, 8, E::f16, E::f16, true});
    add(t, {v("f32_16x16x32_bf16")}, {16, 16, 32, 1, 8, E::bf16, E::bf16, true});
    add(t, {v("f32_32x32x16_bf16")}, {32, 32, 16, 1, 8, E::bf16, E::bf16, true});
    add(t, {v("i32_16x16x64_i8")}, {16, 16, 64, 1, 16, E::i8, E::i8, true});
    add(t, {v("i32_32x32x32_i8")}, {32, 32, 32, 1, 16, E::i8, E::i8, true});
    add(t, {v("f32_16x16x64_f16")}, {16, 16, 64, 1, 16, E::f16, E::f16, true});
    add(t, {v("f32_32x32x32_f16")}, {32, 32, 32, 1, 16, E::f16, E::f16, true});
    add(t, {v("f32_16x16x64_bf16")}, {16, 16, 64, 1, 16, E::bf16, E::bf16, true});
    add(t, {v("f32_32x32x32_bf16")}, {32, 32, 32, 1, 16, E::bf16, E::bf16, true});
    add(t, {v("i32_16x16x128_i8")}, {16, 16, 128, 1, 32, E::i8, E::i8, true});
    add(t, {v("i32_32x32x64_i8")}, {32, 32, 64, 1, 32, E::i8, E::i8, true});
    const std::pair<const char *, E> eights[] = {{"fp8", E::fp8}, {"bf8", E::bf8}};
    for (auto [an, ae] : eights)
        for (auto [bn, be] : eights) {
            std::string suffix = std::string("_") + an + "_" + bn;
            add(t, {"v_smfmac_f32_16x16x64" + suffix}, {16, 16, 64, 1, 16, ae, be, true});
            add(t, {"v_smfmac_f32_32x32x32" + suffix}, {32, 32, 32, 1, 16, ae, be, true});
            add(t, {"v_smfmac_f32_16x16x128" + suffix}, {16, 16, 128, 1, 32, ae, be, true});
            add(t, {"v_smfmac_f32_32x32x64" + suffix}, {32, 32, 64, 1, 32, ae, be, true});
        }
    return t;
}

// ---- WMMA -------------------------------------------------------------------------------------------------------------

namespace {

enum class W : u8 { f16, bf16, iu8, iu4, fp8, bf8 };
struct WmmaShape {
    W a, b;
    int k;
    char result; // 'f' f32, 'h' f16, 'b' bf16, 'i' i32
    bool sparse = false; // the third source is the index, the destination is the accumulator
};
std::vector<WmmaShape> &wmma_shapes() {
    static std::vector<WmmaShape> all;
    return all;
}
int wmma_bits(W t) { return t == W::f16 || t == W::bf16 ? 16 : t == W::iu4 ? 4 : 8; }

// Element k of row (or column) r. gfx11: a lane holds all k of its row, lanes 16-31 repeat; gfx12: the k are split over both.
double wmma_element(const u32 *rows, W type, int r, int k, int k_count, bool gfx12, bool is_signed) {
    int bits = wmma_bits(type), lane = r, e = k;
    if (gfx12) {
        int half = k_count / 2;
        lane = r + 16 * (k / half);
        e = k % half;
    }
    u32 v = field(rows, lane, u32(e * bits), u32(bits));
    switch (type) {
    case W::f16: return half_to_float(v);
    case W::bf16: return bf16_to_float(v);
    case W::iu8: return is_signed ? i8(v) : int(v);
    case W::iu4: return is_signed ? int(i32(v << 28) >> 28) : int(v);
    case W::fp8: return decode_f8<4, 3>(v, false);
    case W::bf8: return decode_f8<5, 2>(v, false);
    }
    return 0;
}

// neg_lo negates the even elements of a 16-bit source, neg_hi the odd ones.
float wmma_signed(float x, W type, int k, u32 neg_lo, u32 neg_hi) {
    return wmma_bits(type) == 16 && (k % 2 ? neg_hi : neg_lo) ? -x : x;
}

const Inst *wmma(Wave &w, const Inst *i) {
    ++w.matrix_instructions;
    if (!w.wave32) unimplemented(i, "WMMA on wave64");
    const WmmaShape &s = wmma_shapes()[i->op->info];
    bool gfx12 = w.group->target->generation == Generation::gfx12, integer = s.result == 'i';
    const u32 *a = w.v[i->o[1].index].lane, *b = w.v[i->o[2].index].lane;
    alignas(64) u32 constant[2 * kLanes];
    u32 *d = w.v[i->o[0].index].lane;
    const u32 *c = s.sparse ? d : rows_of(w, i->o[3], constant, 0);
    alignas(64) u32 out[8 * kLanes];
    bool packed = s.result == 'h' || s.result == 'b';
    int rows = packed && gfx12 ? 4 : 8;
    std::memcpy(out, d, sizeof(Row) * rows);
    alignas(64) static thread_local float A[16 * 64], B[16 * 64];
    bool sa = i->neg_lo & 1, sb = i->neg_lo >> 1 & 1;
    auto element_a = [&](int r, int k, int k_count) {
        return wmma_signed(float(wmma_element(a, s.a, r, k, k_count, gfx12, sa)), s.a, k, i->neg_lo & 1, i->neg_hi & 1);
    };
    for (int k = 0; k < s.k; ++k)
        for (int r = 0; r < 16; ++r) {
            if (!s.sparse) A[k * 16 + r] = element_a(r, k, s.k);
            B[k * 16 + r] = wmma_signed(float(wmma_element(b, s.b, r, k, s.k, gfx12, sb)), s.b, k, i->neg_lo >> 1 & 1, i->neg_hi >> 1 & 1);
        }
    if (s.sparse) { // of four consecutive k of A two are stored; two index bits for each, in the lane that stores it
        std::fill_n(A, s.k * 16, 0.0f);
        const u32 *index = w.v[i->o[3].index].lane;
        int half_k = s.k / 2, per_lane = half_k / 2;
        u32 set = per_lane * 2 == 32 ? 0 : i->b & 1;
        for (int k = 0; k < half_k; ++k)
            for (int r = 0; r < 16; ++r) {
                int position = k % per_lane, lane = r + 16 * (k / per_lane);
                u32 which = index[lane] >> (set * per_lane * 2 + 2 * position) & 3;
                A[(k / 2 * 4 + int(which)) * 16 + r] = element_a(r, k, half_k);
            }
    }
    bool high = !gfx12 && (i->op_sel >> 2 & 1), absolute = i->neg_hi >> 2 & 1, negative = i->neg_lo >> 2 & 1;
    for (int v = 0; v < 8; ++v)
        for (int l = 0; l < 32; ++l) {
            int m = gfx12 ? v + 8 * (l / 16) : 2 * v + l / 16, n = l % 16;
            int reg = packed && gfx12 ? v / 2 : v, shift = packed && ((gfx12 && v % 2) || high) ? 16 : 0;
            u32 old = c ? c[reg * kLanes + l] : constant[l];
            if (!c && packed) old = constant[l] << shift;
            if (integer) {
                i64 sum = i32(old);
                for (int k = 0; k < s.k; ++k) sum += i64(A[k * 16 + m]) * i64(B[k * 16 + n]);
                if (i->flags & kClamp) sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
                out[v * kLanes + l] = u32(sum);
                continue;
            }
            float sum = s.result == 'f' ? std::bit_cast<float>(old) : s.result == 'h' ? half_to_float(old >> shift & 0xffff) : bf16_to_float(old >> shift & 0xffff);
            if (absolute) sum = std::fabs(sum);
            if (negative) sum = -sum;
            for (int k = 0; k < s.k; ++k) sum = std::fma(A[k * 16 + m], B[k * 16 + n], sum);
            if (s.result == 'f') {
                out[v * kLanes + l] = std::bit_cast<u32>(sum);
            } else {
                u32 bits = s.result == 'h' ? float_to_half(sum) : float_to_bf16(sum);
                u32 &o = out[reg * kLanes + l];
                o = (o & ~(0xffffu << shift)) | bits << shift;
            }
        }
    std::memcpy(d, out, sizeof(Row) * rows);
    return i + 1;
}

} // namespace

Table wmma_opcodes() {
    Table t;
    auto add = [&](const char *name, WmmaShape s) {
        wmma_shapes().push_back(s);
        t.push_back({intern(name), Unit::matrix, wmma, nullptr, {Type::wide, Type::wide, Type::wide, s.sparse ? Type::b32 : s.result == 'i' ? Type::i32 : s.result == 'f' ? Type::f32 : s.result == 'b' ? Type::bf16 : Type::f16},
                     kOwnModifiers | kAlwaysRuns, s.result == 'i' ? "exact" : "fma chain in k order", u32(wmma_shapes().size() - 1)});
    };
    add("v_wmma_f32_16x16x16_f16", {W::f16, W::f16, 16, 'f'});
    add("v_wmma_f32_16x16x16_bf16", {W::bf16, W::bf16, 16, 'f'});
    add("v_wmma_f16_16x16x16_f16", {W::f16, W::f16, 16, 'h'});
    add("v_wmma_bf16_16x16x16_bf16", {W::bf16, W::bf16, 16, 'b'});
    add("v_wmma_i32_16x16x16_iu8", {W::iu8, W::iu8, 16, 'i'});
    add("v_wmma_i32_16x16x16_iu4", {W::iu4, W::iu4, 16, 'i'});
    add("v_wmma_i32_16x16x32_iu4", {W::iu4, W::iu4, 32, 'i'});
    add("v_wmma_f32_16x16x16_fp8_fp8", {W::fp8, W::fp8, 16, 'f'});
    add("v_wmma_f32_16x16x16_fp8_bf8", {W::fp8, W::bf8, 16, 'f'});
    add("v_wmma_f32_16x16x16_bf8_fp8", {W::bf8, W::fp8, 16, 'f'});
    add("v_wmma_f32_16x16x16_bf8_bf8", {W::bf8, W::bf8, 16, 'f'});
    add("v_swmmac_f32_16x16x32_f16", {W::f16, W::f16, 32, 'f', true});
    add("v_swmmac_f32_16x16x32_bf16", {W::bf16, W::bf16, 32, 'f', true});
    add("v_swmmac_f16_16x16x32_f16", {W::f16, W::f16, 32, 'h', true});
    add("v_swmmac_bf16_16x16x32_bf16", {W::bf16, W::bf16, 32, 'b', true});
    add("v_swmmac_i32_16x16x32_iu8", {W::iu8, W::iu8, 32, 'i', true});
    add("v_swmmac_i32_16x16x32_iu4", {W::iu4, W::iu4, 32, 'i', true});
    add("v_swmmac_i32_16x16x64_iu4", {W::iu4, W::iu4, 64, 'i', true});
    add("v_swmmac_f32_16x16x32_fp8_fp8", {W::fp8, W::fp8, 32, 'f', true});
    add("v_swmmac_f32_16x16x32_fp8_bf8", {W::fp8, W::bf8, 32, 'f', true});
    add("v_swmmac_f32_16x16x32_bf8_fp8", {W::bf8, W::fp8, 32, 'f', true});
    add("v_swmmac_f32_16x16x32_bf8_bf8", {W::bf8, W::bf8, 32, 'f', true});
    return t;
}

} // namespace hipemu
