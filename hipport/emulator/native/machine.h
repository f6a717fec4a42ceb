// The machine state that every opcode works on, and the pre-decoded form of an instruction.
//
// A vector register is a row of 64 lanes; wave32 uses the lower half. A 64-bit value is a pair of adjacent rows. Architected
// vector register n is row n, accumulation register n is row 256 + n. Every scalar the ISA can name lives in one array, so
// reading EXEC, VCC or M0 is reading an SGPR.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "hipport_emulator.h"

namespace hipemu {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr int kLanes = 64;

// Indices into Wave::s.
enum Scalar : u16 { kVcc = 106, kTtmp = 108, kM0 = 124, kNull = 125, kExec = 126, kSgprs = 128 };

struct Wave;
struct Workgroup;
struct Inst;
struct Op;
struct CheckPlan;

// ---- findings and faults --------------------------------------------------------------------------------------

// Ends the launch: thrown by an opcode, caught by the scheduler, which knows the place.
struct Fault {
    hipemu_status status;
    const char *id;
    std::string message;
    int lane = 0;
    u64 address = 0;
};

// An error outside of execution (loading, decoding, API use).
struct Error : std::runtime_error {
    hipemu_status status;
    Error(hipemu_status s, const std::string &text) : std::runtime_error(text), status(s) {}
};

// ---- instructions ---------------------------------------------------------------------------------------------

enum class Kind : u8 { none, vgpr, sgpr, constant, scc, vccz, execz, off };

enum Modifier : u8 { kNeg = 1, kAbs = 2, kSext = 4, kHigh = 8 };

// One operand in text order. `index`: row, SGPR or constant number; `width`: 32-bit registers named by the text.
struct Operand {
    Kind kind = Kind::none;
    u8 modifiers = 0;
    u8 width = 1;
    u8 sdwa = 0;  // sub-dword selection, see Sdwa
    u32 index = 0;
};

enum Sdwa : u8 { kDword = 0, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };

enum Flag : u32 {
    kClamp = 1 << 0,
    kGlc = 1 << 1,       // returns the old value (atomics); coherent (loads)
    kLds = 1 << 2,       // memory to LDS
    kOffen = 1 << 3,
    kIdxen = 1 << 4,
    kPreserve = 1 << 5,  // SDWA dst_unused:UNUSED_PRESERVE
    kSextUnused = 1 << 6,
    kDppBoundZero = 1 << 7,
    kDppFetchInactive = 1 << 8,
    kHigh16 = 1 << 9,    // destination is the upper half
    kCoherent = 1 << 10, // any cache-bypassing scope bit
    kGds = 1 << 11,
    kVop3p = 1 << 13,
    kEncodingE64 = 1 << 14,
    kRtn = 1 << 15,
    kUnnormalized = 1 << 16, // coordinates of image samples
    kImageArray = 1 << 17,   // gfx9: the image has layers
    kAddress16 = 1 << 18,    // image coordinates of 16 bits
    kData16 = 1 << 19,       // image data of 16 bits, packed in pairs
};

using Run = const Inst *(*)(Wave &, const Inst *);
struct LaneArgs;
using Lane = void (*)(LaneArgs &);

constexpr int kMaxOperands = 7;

struct Inst {
    Run run;
    const Op *op;
    Lane lane;
    Operand o[kMaxOperands];
    i32 offset = 0;      // byte offset of memory instructions, immediate of SOPP
    u32 flags = 0;
    const u8 *dpp = nullptr; // lane sources, 255: out of bounds; image opcodes: rows of the address words
    u16 dpp_rows = 0xff; // row_mask | bank_mask << 4
    u8 n = 0;            // operands
    u8 omod = 0;         // 0 none, 1 *2, 2 *4, 3 /2
    u8 op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;
    u8 a = 0, b = 0, c = 0; // cbsz, abid, blgp; bitop3 truth table; ds offset1; image component mask, type, address words
    u8 bytes = 4;
    u32 offset1 = 0;
    const Inst *target = nullptr; // branches
    const Inst *second = nullptr; // VOPD: the X half, followed by the Y half
    u64 address = 0;
    const char *text = ""; // disassembly, owned by the program
    const CheckPlan *plan = nullptr;
};

enum class Unit : u8 { control, salu, smem, valu, lds, memory, matrix };

// Operand types of vector instructions; they decide constants, sub-dword reads, modifiers and widths.
enum class Type : u8 { none, b32, u32, i32, f32, b16, u16, i16, f16, bf16, b64, u64, i64, f64, pk16, pkf16, pkf32, mask, wide };

enum OpFlag : u32 {
    kReadsDst = 1 << 0,     // the destination is also the last source
    kKeepHigh = 1 << 1,     // 16-bit destination keeps the other half on every target (VOP3 op_sel opcodes)
    kOwnModifiers = 1 << 2, // op_sel, neg are the opcode's own business
    kAlwaysRuns = 1 << 3,   // has an effect even with EXEC = 0
    kAtomic = 1 << 4,
    kFloatAtomic = 1 << 5,
    kStore = 1 << 6,
    kLoad = 1 << 7,
    kCompareExec = 1 << 8,  // v_cmpx
    kScalarFlush = 1 << 9,  // f32 denormals flushed whatever MODE says (transcendentals)
    kLaneCross = 1 << 10,
    kWritesExec = 1 << 11,
    kJumps = 1 << 12,       // the operand is a branch distance
    kHint = 1 << 13,        // operands do not matter (s_nop, s_waitcnt)
    kKeepsDenormals = 1 << 20, // whatever MODE says: opcodes that look at bits, or flush themselves
    kIntegerClamp = 1 << 14, // the lane function saturates when the instruction says clamp
};

// What the checks must know about an opcode beyond its operands; filled in when the table is made.
enum class Shape : u8 {
    plain, cndmask, cancels, low_word, readfirstlane, readlane, writelane, swap, permlane32_swap, bpermute, counter, compare, logical_and,
    logical_or, and_saveexec, saveexec, bitwise, select, arithmetic, keeps_scc, branch_scc, branch_vcc, wait, reads_scalar, wmma, buffer, image,
};

// One row of the semantics table.
struct Op {
    const char *name;
    Unit unit;
    Run run;
    Lane lane;
    std::vector<Type> types; // in text order, destination first
    u32 flags = 0;
    const char *exactness = "exact";
    u32 info = 0; // for the opcode's own use: bytes per lane, element count
    Shape shape = Shape::plain;
    bool returns = false; // memory: writes o[0]; atomics of global memory say so in the instruction
    Lane in_mode = nullptr; // half-precision results in another rounding mode than nearest even
};

using Table = std::vector<Op>;
// Rows of one file of opcodes; called once each.
Table control_opcodes();
Table scalar_opcodes();
Table scalar_memory_opcodes();
Table integer_opcodes();
Table float_opcodes();
Table half_opcodes();
Table double_opcodes();
Table convert_opcodes();
Table compare_opcodes();
Table packed_opcodes();
Table cross_lane_opcodes();
Table lds_opcodes();
Table memory_opcodes();
Table buffer_opcodes();
Table image_opcodes();
Table matrix_opcodes();
Table sparse_matrix_opcodes();
Table wmma_opcodes();
Table scale_opcodes();

const Op *find_op(const std::string &name); // nullptr when there is none
size_t op_count();
const Op *op_at(size_t index);

// ---- programs -------------------------------------------------------------------------------------------------

struct Program;
// The decoded instruction at a device address; faults when there is none.
const Inst *instruction_at(const Program &program, u64 address);

enum class Generation : u8 { gfx90a, gfx942, gfx950, gfx11, gfx12 };

struct TargetInfo {
    const char *name;
    Generation generation;
    int wave_size;
    u32 lds_bytes;
    u32 max_waves_per_simd;
    u32 simds;
    u32 vgprs; // per lane and SIMD
    u32 vgpr_granule;
    u32 elf_mach;
    bool fp8_fnuz;
    bool architected_flat_scratch;
};
const TargetInfo *find_target(const std::string &name);

// ---- waves ----------------------------------------------------------------------------------------------------

struct alignas(64) Row {
    u32 lane[kLanes];
};

enum class Stop : u8 { running, barrier, waiting, grid_barrier, finished, yielded };

enum ModeBit : u32 { kDx10Clamp = 1 << 8, kIeee = 1 << 9, kFp16Overflow = 1 << 23 };

struct Shadow; // state of the checks of one wave

struct Wave {
    alignas(64) u32 s[kSgprs + 4];
    u32 scc = 0;
    u32 mode = 0;
    bool special_mode = false; // rounding or denormals differ from the default (nearest even, none flushed), or register indexing is on
    u8 index_mode = 0;         // s_set_gpr_idx: 1 src0, 2 src1, 4 src2, 8 destination are relative to M0[7:0]
    bool wave32 = false;
    u32 checks = 0;            // HIPEMU_CHECK_*
    Stop stop = Stop::running;
    const Inst *next = nullptr;
    const Row *constants = nullptr;
    Workgroup *group = nullptr;
    Shadow *shadow = nullptr;
    u64 guest_base = 0, guest_bytes = 0; // arena range that unchecked accesses may touch
    u8 *scratch = nullptr;
    u32 scratch_bytes = 0; // per lane
    u32 index = 0;         // in its workgroup
    u32 signalled_phase = ~0u; // barrier phase this wave has signalled
    u32 epoch = 0;             // barriers this wave has passed
    u32 grid_phase = 0, grid_waves = 0;
    u32 polls = 0;             // coherent loads, and atomics that changed nothing, in this turn
    u64 stores = 0;            // stores to global memory, and atomics that changed something
    u32 clock_reads = 0;
    u64 instructions = 0;
    u64 matrix_instructions = 0;
    const Inst *barrier_at = nullptr;
    u8 sink[16] = {};          // where dropped accesses go
    Row v[512];

    u64 exec() const { u64 x; std::memcpy(&x, &s[kExec], 8); return x; }
    void set_exec(u64 x) { if (wave32) x = u32(x); std::memcpy(&s[kExec], &x, 8); }
    u64 vcc() const { u64 x; std::memcpy(&x, &s[kVcc], 8); return wave32 ? u32(x) : x; }
    u64 full() const { return wave32 ? 0xffffffffull : ~0ull; }
};

void set_mode(Wave &w, u32 mode); // also refuses what is not implemented

struct Launch;

struct Workgroup {
    u8 *lds = nullptr;
    u32 lds_bytes = 0;
    u32 id[3] = {0, 0, 0};
    Launch *launch = nullptr;
    const Program *program = nullptr;
    const TargetInfo *target = nullptr;
    std::vector<Wave *> waves;
    u32 live = 0;    // waves not finished
    u32 arrived = 0; // at the barrier
    u32 phase = 0;   // barriers completed
    void *lds_shadow = nullptr;
};

// Counts the wave in at the workgroup barrier; the last one opens it.
void barrier_signal(Wave &w);

// ---- operand access -------------------------------------------------------------------------------------------

[[noreturn]] void fault(hipemu_status status, const char *id, std::string message, int lane = 0, u64 address = 0);
[[noreturn]] void unimplemented(const Inst *i, const std::string &what);

inline u32 read32_special(const Wave &w, const Operand &o) {
    switch (o.kind) {
    case Kind::scc: return w.scc;
    case Kind::vccz: return w.vcc() == 0;
    case Kind::execz: return w.exec() == 0;
    default: return 0;
    }
}

inline u32 read32(const Wave &w, const Operand &o) {
    if (o.kind == Kind::sgpr) return w.s[o.index];
    if (o.kind == Kind::constant) return w.constants[o.index].lane[0];
    return read32_special(w, o);
}

inline u64 read64(const Wave &w, const Operand &o) {
    if (o.kind == Kind::sgpr) { u64 x; std::memcpy(&x, &w.s[o.index], 8); return x; }
    if (o.kind == Kind::constant) return w.constants[o.index].lane[0] | u64(w.constants[o.index + 1].lane[0]) << 32;
    return read32_special(w, o);
}

inline void write32(Wave &w, const Operand &o, u32 x) { w.s[o.index] = x; w.s[kNull] = 0; }
inline void write64(Wave &w, const Operand &o, u64 x) { if (o.index != kNull) std::memcpy(&w.s[o.index], &x, 8); }

// A lane mask: one SGPR on wave32, two on wave64.
inline u64 read_mask(const Wave &w, const Operand &o) { return w.wave32 ? read32(w, o) : read64(w, o); }
inline void write_mask(Wave &w, const Operand &o, u64 x) {
    if (w.wave32) write32(w, o, u32(x)); else write64(w, o, x);
}

// Arguments of a lane function: sources as rows, results into `out` (never aliases a register).
struct LaneArgs {
    u32 *out;
    const u32 *src[4];
    u64 mask_in;
    u64 mask_out;
    u64 exec;
    Wave *wave;
    const Inst *inst;
};

// Runs a vector instruction: fetches sources, calls the lane function, stores under EXEC.
const Inst *run_vector(Wave &w, const Inst *i);
const Inst *run_vector_modified(Wave &w, const Inst *i); // DPP, SDWA, neg, abs, op_sel, omod, clamp, special MODE
const Inst *run_packed(Wave &w, const Inst *i);
const Inst *run_dual(Wave &w, const Inst *i);
const Inst *run_missing(Wave &w, const Inst *i);

// Blend 64 results into a register row under EXEC.
inline void store_lanes(u32 *row, const u32 *values, u64 exec) {
#if defined(__AVX512F__)
    for (int l = 0; l < kLanes; l += 16)
        _mm512_mask_storeu_epi32(row + l, __mmask16(exec >> l), _mm512_loadu_si512(values + l));
#else
    if (exec == ~0ull) {
        std::memcpy(row, values, sizeof(Row));
        return;
    }
    for (int l = 0; l < kLanes; ++l) row[l] = exec >> l & 1 ? values[l] : row[l];
#endif
}

// Bit l is set when values[l] is not 0.
inline u64 mask_of(const u32 *values) {
#if defined(__AVX512F__)
    u64 mask = 0;
    for (int l = 0; l < kLanes; l += 16) {
        __m512i x = _mm512_loadu_si512(values + l);
        mask |= u64(_mm512_test_epi32_mask(x, x)) << l;
    }
    return mask;
#else
    u64 mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= u64(values[l] != 0) << l;
    return mask;
#endif
}

template <class F> inline void for_lanes(u64 exec, F &&body) {
    while (exec) {
        int lane = __builtin_ctzll(exec);
        exec &= exec - 1;
        body(lane);
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------

constexpr u64 kSharedBase = 0x0001000000000000ull;  // flat aperture of LDS
constexpr u64 kPrivateBase = 0x0002000000000000ull; // flat aperture of scratch

enum class Space : u8 { global, lds, scratch, flat };

// Where each active lane's access goes. `exec` holds the lanes that may go ahead.
struct Access {
    u64 exec;
    int row = -1; // first register of the data, for the checks
    u8 *at[kLanes];
};

// Resolves lane addresses (device addresses, LDS offsets or scratch offsets) to host pointers. Addresses outside of guest
// memory end the launch; with checks on, bad lanes are reported and dropped.
void resolve(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, Access &access);
// One address for the whole wave (scalar loads).
u8 *resolve_scalar(Wave &w, const Inst *i, u64 address, u32 bytes, bool store);

}  // namespace hipemu
