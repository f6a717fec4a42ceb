// From LLVM's disassembly to pre-decoded instructions. One line of text is a mnemonic, operands and modifiers; the row of the
// semantics table that the mnemonic names says how operands are typed.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "lanes.h"
#include "program.h"

namespace hipemu {

namespace {

constexpr u32 kMaxConstants = 1 << 17; // pairs of rows

[[noreturn]] void refuse(std::string_view text, const std::string &what) {
    throw Error(HIPEMU_UNIMPLEMENTED, what + " in '" + std::string(text) + "'");
}

// ---- lane sources of DPP controls -------------------------------------------------------------------------------

const u8 *dpp_table(const std::array<u8, kLanes> &lanes) {
    static std::mutex mutex;
    static std::map<std::array<u8, kLanes>, std::unique_ptr<std::array<u8, kLanes>>> tables;
    std::lock_guard lock(mutex);
    auto &slot = tables[lanes];
    if (!slot) slot = std::make_unique<std::array<u8, kLanes>>(lanes);
    return slot->data();
}

template <class F> const u8 *dpp_lanes(F source) {
    std::array<u8, kLanes> lanes;
    for (int l = 0; l < kLanes; ++l) {
        int from = source(l);
        lanes[l] = from < 0 || from >= kLanes ? 255 : u8(from);
    }
    return dpp_table(lanes);
}

std::vector<int> numbers(std::string_view s) {
    std::vector<int> out;
    for (size_t i = 0; i < s.size();) {
        if (isdigit(s[i])) {
            int x = 0;
            while (i < s.size() && isdigit(s[i])) x = x * 10 + (s[i++] - '0');
            out.push_back(x);
        } else ++i;
    }
    return out;
}

// Lane sources of a DPP control, nullptr when `name` is not one.
const u8 *dpp_control(std::string_view name, std::string_view value, int wave_size) {
    std::vector<int> v = numbers(value);
    int n = v.empty() ? 0 : v[0];
    if (name == "quad_perm" && v.size() == 4) return dpp_lanes([&](int l) { return (l & ~3) + v[l & 3]; });
    if (name == "dpp8" && v.size() == 8) return dpp_lanes([&](int l) { return (l & ~7) + v[l & 7]; });
    if (name == "row_shl") return dpp_lanes([&](int l) { return (l & 15) + n > 15 ? -1 : l + n; });
    if (name == "row_shr") return dpp_lanes([&](int l) { return (l & 15) < n ? -1 : l - n; });
    if (name == "row_ror") return dpp_lanes([&](int l) { return (l & ~15) + ((l - n) & 15); });
    if (name == "wave_shl") return dpp_lanes([&](int l) { return l + 1 < wave_size ? l + 1 : -1; });
    if (name == "wave_rol") return dpp_lanes([&](int l) { return (l + 1) % wave_size; });
    if (name == "wave_shr") return dpp_lanes([&](int l) { return l - 1; });
    if (name == "wave_ror") return dpp_lanes([&](int l) { return (l + wave_size - 1) % wave_size; });
    if (name == "row_mirror") return dpp_lanes([&](int l) { return (l & ~15) + 15 - (l & 15); });
    if (name == "row_half_mirror") return dpp_lanes([&](int l) { return (l & ~7) + 7 - (l & 7); });
    if (name == "row_bcast" && n == 15) return dpp_lanes([&](int l) { return l < 16 ? -1 : (l & ~15) - 1; });
    if (name == "row_bcast" && n == 31) return dpp_lanes([&](int l) { return l < 32 ? -1 : 31; });
    if (name == "row_newbcast" || name == "row_share") return dpp_lanes([&](int l) { return (l & ~15) + n; });
    if (name == "row_xmask") return dpp_lanes([&](int l) { return l ^ n; });
    return nullptr;
}

// ---- text -------------------------------------------------------------------------------------------------------

bool starts(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }
bool ends(std::string_view s, std::string_view suffix) {
    return s.size() >= suffix.size() && s.substr(s.size() - suffix.size()) == suffix;
}
std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
}

// Splits at `separator` outside of brackets, parentheses and quotes.
std::vector<std::string_view> split(std::string_view s, char separator) {
    std::vector<std::string_view> out;
    int depth = 0;
    bool quoted = false;
    size_t start = 0;
    for (size_t i = 0; i <= s.size(); ++i) {
        if (i == s.size() || (s[i] == separator && depth == 0 && !quoted)) {
            std::string_view piece = trim(s.substr(start, i - start));
            if (!piece.empty()) out.push_back(piece);
            start = i + 1;
            continue;
        }
        if (s[i] == '"') quoted = !quoted;
        if (s[i] == '[' || s[i] == '(') ++depth;
        if (s[i] == ']' || s[i] == ')') --depth;
    }
    return out;
}

bool parse_int(std::string_view s, i64 &out) {
    bool negative = !s.empty() && s[0] == '-';
    if (negative) s.remove_prefix(1);
    int base = 10;
    if (starts(s, "0x")) { s.remove_prefix(2); base = 16; }
    else if (starts(s, "0b")) { s.remove_prefix(2); base = 2; }
    u64 x = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x, base);
    if (error != std::errc() || end != s.data() + s.size() || s.empty()) return false;
    out = negative ? -i64(x) : i64(x);
    return true;
}

struct Decoder {
    const Program &program;
    const TargetInfo &target;

    // "5", "[4:7]" after the register letter.
    bool parse_range(std::string_view s, u32 &first, u32 &count) {
        i64 a = 0, b = 0;
        if (!s.empty() && s[0] == '[') {
            size_t colon = s.find(':');
            if (s.back() != ']') return false;
            if (colon == s.npos) {
                if (!parse_int(s.substr(1, s.size() - 2), a)) return false;
                b = a;
            } else if (!parse_int(s.substr(1, colon - 1), a) || !parse_int(s.substr(colon + 1, s.size() - colon - 2), b)) {
                return false;
            }
        } else {
            if (!parse_int(s, a)) return false;
            b = a;
        }
        first = u32(a);
        count = u32(b - a + 1);
        return a >= 0 && b >= a && b < 1024;
    }

    static Operand scalar(u32 index, u8 width) {
        Operand o;
        o.kind = Kind::sgpr;
        o.index = index;
        o.width = width;
        return o;
    }
    Operand constant(u64 value, u8 width = 1) {
        Operand o;
        o.kind = Kind::constant;
        o.index = program.constant(value);
        o.width = width;
        return o;
    }

    bool parse_register(std::string_view s, Operand &o) {
        u32 first, count;
        if (s.size() > 1 && (s[0] == 'v' || s[0] == 'a' || s[0] == 's') && (isdigit(s[1]) || s[1] == '[')) {
            std::string_view rest = s.substr(1);
            if (ends(rest, ".l")) rest.remove_suffix(2);
            else if (ends(rest, ".h")) { rest.remove_suffix(2); o.modifiers |= kHigh; }
            if (!parse_range(rest, first, count)) return false;
            o.kind = s[0] == 's' ? Kind::sgpr : Kind::vgpr;
            o.index = first + (s[0] == 'a' ? 256 : 0);
            o.width = u8(count);
            if (o.kind == Kind::sgpr ? first + count > 106 : o.index + count > 512) return false;
            return true;
        }
        if (starts(s, "ttmp")) {
            if (!parse_range(s.substr(4), first, count) || first + count > 16) return false;
            o = scalar(kTtmp + first, u8(count));
            return true;
        }
        struct Name { const char *name; u16 index; u8 width; };
        static const Name names[] = {
            {"vcc", kVcc, 2}, {"vcc_lo", kVcc, 1}, {"vcc_hi", kVcc + 1, 1}, {"exec", kExec, 2}, {"exec_lo", kExec, 1},
            {"exec_hi", kExec + 1, 1}, {"m0", kM0, 1}, {"flat_scratch", 102, 2}, {"flat_scratch_lo", 102, 1},
            {"flat_scratch_hi", 103, 1}, {"xnack_mask", 104, 2}, {"xnack_mask_lo", 104, 1}, {"xnack_mask_hi", 105, 1}};
        for (const Name &n : names)
            if (s == n.name) { o = scalar(n.index, n.width); return true; }
        if (s == "off") { o.kind = Kind::off; return true; }
        if (s == "null") { o = scalar(kNull, 2); return true; }
        if (s == "src_scc" || s == "scc") { o.kind = Kind::scc; return true; }
        if (s == "src_vccz" || s == "vccz") { o.kind = Kind::vccz; return true; }
        if (s == "src_execz" || s == "execz") { o.kind = Kind::execz; return true; }
        if (s == "src_shared_base" || s == "src_shared_base_lo") { o = constant(kSharedBase, 2); return true; }
        if (s == "src_shared_limit" || s == "src_shared_limit_lo") { o = constant(kSharedBase + 0xffffffffull, 2); return true; }
        if (s == "src_private_base" || s == "src_private_base_lo") { o = constant(kPrivateBase, 2); return true; }
        if (s == "src_private_limit" || s == "src_private_limit_lo") { o = constant(kPrivateBase + 0xffffffffull, 2); return true; }
        return false;
    }

    bool parse_constant(std::string_view s, Type type, Operand &o) {
        i64 x;
        if (starts(s, "lit(") && s.back() == ')') s = s.substr(4, s.size() - 5); // a literal that could have been inline
        if (starts(s, "lit64(") && s.back() == ')') {
            if (!parse_int(s.substr(6, s.size() - 7), x)) return false;
            o = constant(u64(x), 2);
            return true;
        }
        if (parse_int(s, x)) {
            bool hex = s.find("0x") != s.npos;
            u64 bits = u64(x);
            if (type == Type::f64 && hex) bits = bits <= 0xffffffffull ? bits << 32 : bits; // a 32-bit literal is the upper half
            if (hex && (type == Type::i64) && bits <= 0xffffffffull) bits = u64(i64(i32(bits)));
            o = constant(bits, 2);
            return true;
        }
        char *end = nullptr;
        std::string copy(s);
        double d = std::strtod(copy.c_str(), &end);
        if (end == copy.c_str() || *end) return false;
        switch (type) {
        case Type::f16: case Type::pkf16: case Type::b16: case Type::u16: case Type::i16: case Type::pk16:
            o = constant(float_to_half(float(d)), 2);
            break;
        case Type::bf16: o = constant(float_to_bf16(float(d)), 2); break;
        case Type::f64: case Type::b64: case Type::u64: case Type::i64: o = constant(std::bit_cast<u64>(d), 2); break;
        default: o = constant(std::bit_cast<u32>(float(d)), 2); break;
        }
        // 1/(2 pi) is one exact bit pattern per type.
        if (copy.find("0.1591") != copy.npos) {
            u64 sign = copy[0] == '-';
            if (type == Type::f16 || type == Type::pkf16) o = constant(0x3118 | sign << 15, 2);
            else if (type == Type::f64) o = constant(0x3fc45f306dc9c882ull | sign << 63, 2);
            else if (type == Type::bf16) o = constant(0x3e22 | sign << 15, 2);
            else o = constant(0x3e22f983 | sign << 31, 2);
        }
        return true;
    }

    bool parse_operand(std::string_view s, Type type, Operand &o) {
        u8 modifiers = 0;
        for (bool again = true; again;) {
            again = false;
            if (starts(s, "sext(") && s.back() == ')') { modifiers |= kSext; s = s.substr(5, s.size() - 6); again = true; }
            else if (starts(s, "neg(") && s.back() == ')') { modifiers |= kNeg; s = s.substr(4, s.size() - 5); again = true; }
            else if (starts(s, "abs(") && s.back() == ')') { modifiers |= kAbs; s = s.substr(4, s.size() - 5); again = true; }
            else if (s.size() > 2 && s.front() == '|' && s.back() == '|') { modifiers |= kAbs; s = s.substr(1, s.size() - 2); again = true; }
            else if (s.size() > 1 && s[0] == '-' && !isdigit(s[1]) && s[1] != '.') { modifiers |= kNeg; s.remove_prefix(1); again = true; }
        }
        if (!parse_register(s, o) && !parse_constant(s, type, o)) return false;
        o.modifiers |= modifiers;
        return true;
    }

    static u8 bits_of(std::string_view value) {
        u8 bits = 0;
        std::vector<int> v = numbers(value);
        for (size_t i = 0; i < v.size() && i < 8; ++i) bits |= u8((v[i] & 1) << i);
        return bits;
    }

    static u8 sdwa_select(std::string_view v, std::string_view text) {
        static const char *names[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
        for (u8 i = 0; i < 7; ++i)
            if (v == names[i]) return i;
        refuse(text, "unknown sub-dword selection");
    }

    // Offsets of ds_swizzle_b32 are printed symbolically.
    static i64 swizzle_offset(std::string_view v, std::string_view text) {
        std::vector<int> n = numbers(v);
        if (v.find("QUAD_PERM") != v.npos && n.size() >= 4) {
            size_t k = n.size() - 4;
            return 0x8000 | n[k] | n[k + 1] << 2 | n[k + 2] << 4 | n[k + 3] << 6;
        }
        if (v.find("BITMASK_PERM") != v.npos) {
            size_t q = v.find('"');
            if (q == v.npos || v.size() < q + 6) refuse(text, "unknown swizzle");
            u32 and_mask = 0, or_mask = 0, xor_mask = 0;
            for (int b = 0; b < 5; ++b) {
                char ch = v[q + 1 + b];
                int bit = 4 - b;
                if (ch == '1') or_mask |= 1u << bit;
                else if (ch == 'p') and_mask |= 1u << bit;
                else if (ch == 'i') { and_mask |= 1u << bit; xor_mask |= 1u << bit; }
                else if (ch != '0') refuse(text, "unknown swizzle");
            }
            return and_mask | or_mask << 5 | xor_mask << 10;
        }
        if (v.find("FFT") != v.npos && n.size() == 1) return 0xe000 | n[0];
        if (v.find("ROTATE") != v.npos && n.size() == 2) return 0xc000 | n[0] << 10 | n[1] << 5;
        // SWAP, REVERSE and BROADCAST are shorthands of the bit mask form.
        size_t comma = v.find(',');
        std::vector<int> m = comma == v.npos ? std::vector<int>{} : numbers(v.substr(comma));
        if (v.find("SWAP") != v.npos && m.size() == 1) return 0x1f | m[0] << 10;
        if (v.find("REVERSE") != v.npos && m.size() == 1) return 0x1f | (m[0] - 1) << 10;
        if (v.find("BROADCAST") != v.npos && m.size() == 2) return (0x1f & ~(m[0] - 1)) | m[1] << 5;
        refuse(text, "unknown swizzle");
    }

    // Texel format of a typed buffer access: channels, bits << 8, Numeric << 16; 0 when it is none that is implemented.
    static u32 texel_format(std::string_view v) {
        static const char *numerics[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"};
        size_t data = v.find("DATA_FORMAT_");
        std::string_view layout = data == v.npos ? v : v.substr(data, v.find(',', data) - data);
        std::vector<int> bits = numbers(layout);
        if (v.find("BUF_NUM_FORMAT") != v.npos && data == v.npos) bits = {8}; // gfx9 leaves out its default
        if (bits.empty() || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32)) return 0;
        for (int b : bits) if (b != bits[0]) return 0;
        for (u32 k = 0; k < 7; ++k)
            if (v.find(std::string("_") + numerics[k]) != v.npos) return u32(bits.size()) | u32(bits[0]) << 8 | k << 16;
        return data == v.npos ? 0 : u32(bits.size()) | u32(bits[0]) << 8;
    }

    // The type field of image resources.
    static u8 image_type(std::string_view v, std::string_view text) {
        static const char *names[] = {"1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};
        for (u8 k = 0; k < 8; ++k)
            if (starts(v, "SQ_RSRC_IMG_") && v.substr(12) == names[k]) return u8(8 + k);
        refuse(text, "unknown image type");
    }

    void modifier(Inst &i, std::string_view m, std::string_view text) {
        size_t colon = m.find(':');
        std::string_view name = m.substr(0, colon), value = colon == m.npos ? "" : m.substr(colon + 1);
        i64 x = 0;
        bool number = parse_int(value, x);
        if (name == "offset" && number) i.offset = i32(x);
        else if (name == "offset" && starts(value, "swizzle(")) i.offset = i32(swizzle_offset(value, text));
        else if (name == "offset0" && number) i.offset = i32(x);
        else if (name == "offset1" && number) i.offset1 = u32(x);
        else if (name == "glc") i.flags |= kGlc | kCoherent;
        else if (name == "sc0") i.flags |= kGlc;
        else if (name == "sc1" || name == "dlc") i.flags |= kCoherent;
        else if (name == "slc" || name == "nt" || name == "nv" || name == "lwe") {}
        else if (name == "th") { if (value.find("RETURN") != value.npos) i.flags |= kGlc; }
        else if (name == "scope") { if (value != "SCOPE_CU") i.flags |= kCoherent; }
        else if (name == "offen") i.flags |= kOffen;
        else if (name == "idxen") i.flags |= kIdxen;
        else if (name == "gds") i.flags |= kGds;
        else if (name == "lds") i.flags |= kLds;
        else if (name == "dmask" && number) i.a = u8(x);
        else if (name == "dim") i.b = image_type(value, text);
        else if (name == "format") i.offset1 = texel_format(value);
        else if (name == "unorm") i.flags |= kUnnormalized;
        else if (name == "da") i.flags |= kImageArray;
        else if (name == "a16") i.flags |= kAddress16;
        else if (name == "d16") i.flags |= kData16;
        else if (name == "clamp") i.flags |= kClamp;
        else if (name == "mul" && number) i.omod = x == 2 ? 1 : 2;
        else if (name == "div" && x == 2) i.omod = 3;
        else if (name == "op_sel") i.op_sel = bits_of(value);
        else if (name == "op_sel_hi") i.op_sel_hi = bits_of(value);
        else if (name == "neg_lo") i.neg_lo = bits_of(value);
        else if (name == "neg_hi") i.neg_hi = bits_of(value);
        else if (name == "byte_sel" && number) i.a = u8(x);
        else if (name == "row_mask" && number) i.dpp_rows = u16((i.dpp_rows & 0xf0) | x);
        else if (name == "bank_mask" && number) i.dpp_rows = u16((i.dpp_rows & 0x0f) | x << 4);
        else if (name == "bound_ctrl") i.flags |= kDppBoundZero;
        else if (name == "fi" && number) { if (x) i.flags |= kDppFetchInactive; }
        else if (name == "dst_sel") i.o[0].sdwa = sdwa_select(value, text);
        else if (name == "src0_sel") i.offset1 |= sdwa_select(value, text);
        else if (name == "src1_sel") i.offset1 |= u32(sdwa_select(value, text)) << 4;
        else if (name == "dst_unused") {
            if (value == "UNUSED_PRESERVE") i.flags |= kPreserve;
            else if (value == "UNUSED_SEXT") i.flags |= kSextUnused;
        } else if (name == "cbsz" && number) i.a = u8(x);
        else if ((name == "abid" || name == "index_key") && number) i.b = u8(x);
        else if (name == "blgp" && number) i.c = u8(x);
        else if (name == "blgp") { // f64 MFMA reuses the field as negation
            i.c = bits_of(value);
        } else if (name == "neg" && !number && starts(value, "[")) i.c = bits_of(value);
        else if (name == "bitop3" && number) i.a = u8(x);
        else if (name == "wait_exp" || name == "wait_va_vdst" || name == "wait_vdst" || name == "wait_vm_vsrc" || name == "waitcnt") {}
        else if (const u8 *lanes = dpp_control(name, value, target.wave_size)) {
            i.dpp = lanes;
            if (name == "dpp8") i.flags |= kDppBoundZero; // reads 0 from a lane that is off
        }
        else refuse(text, "unknown modifier '" + std::string(m) + "'");
    }

    static std::string_view base_name(std::string_view mnemonic, u32 &flags, bool &dpp, bool &sdwa) {
        for (bool again = true; again;) {
            again = false;
            if (ends(mnemonic, "_e32")) { mnemonic.remove_suffix(4); again = true; }
            else if (ends(mnemonic, "_e64")) { mnemonic.remove_suffix(4); flags |= kEncodingE64; again = true; }
            else if (ends(mnemonic, "_dpp")) { mnemonic.remove_suffix(4); dpp = true; again = true; }
            else if (ends(mnemonic, "_dpp8")) { mnemonic.remove_suffix(5); dpp = true; again = true; }
            else if (ends(mnemonic, "_sdwa")) { mnemonic.remove_suffix(5); sdwa = true; again = true; }
        }
        return mnemonic;
    }

    // Operands of vector opcodes in their places: 0 destination, 1-3 sources, 4 mask out, 5 mask in.
    void place_vector(Inst &i, std::vector<std::string_view> &pieces, std::string_view text) {
        const Op &op = *i.op;
        std::vector<Type> types = op.types;
        bool compare = types[0] == Type::mask;
        if (compare && (op.flags & kCompareExec) && pieces.size() + 1 == types.size()) types.erase(types.begin()); // gfx10+: EXEC implied
        if ((op.flags & kReadsDst) && types.size() == pieces.size() + 1) types.pop_back(); // the destination, read again
        bool implied_vcc = types.back() == Type::mask && types.size() == pieces.size() + 1 && types.size() > 2; // VOPD's cndmask
        if (implied_vcc) {
            i.o[5] = scalar(kVcc, 2);
            types.pop_back();
        }
        if (pieces.size() != types.size()) refuse(text, "unexpected number of operands");
        int source = 1;
        bool destination_seen = compare && types[0] != Type::mask;
        for (size_t k = 0; k < pieces.size(); ++k) {
            Operand o;
            if (!parse_operand(pieces[k], types[k], o)) refuse(text, "unknown operand '" + std::string(pieces[k]) + "'");
            if (types[k] == Type::mask) {
                if (k <= 1) i.o[4] = o; else i.o[5] = o;
            } else if (!destination_seen && !compare) {
                u8 keep = i.o[0].sdwa;
                i.o[0] = o;
                i.o[0].sdwa = keep;
                destination_seen = true;
                if (o.modifiers & kHigh) i.flags |= kHigh16;
            } else {
                if (source > 3) refuse(text, "too many sources");
                i.o[source++] = o;
            }
        }
        i.n = u8(source - 1);
        if (op.flags & kReadsDst) i.o[++i.n] = i.o[0];
    }

    static bool is_16bit(Type t) { return t == Type::b16 || t == Type::u16 || t == Type::i16 || t == Type::f16 || t == Type::bf16; }

    void finish_vector(Inst &i, bool sdwa, std::string_view text) {
        const Op &op = *i.op;
        if (sdwa) {
            i.o[1].sdwa = u8(i.offset1 & 15);
            if (i.n > 1) i.o[2].sdwa = u8(i.offset1 >> 4 & 15);
        }
        bool packed = op.run == run_packed;
        bool modified = i.dpp || sdwa || i.omod || (i.flags & (kClamp | kHigh16));
        for (int k = 1; k <= i.n; ++k) modified |= i.o[k].modifiers != 0;
        if (i.o[0].sdwa || i.o[1].sdwa || i.o[2].sdwa) modified = true;
        if (!packed && !(op.flags & kOwnModifiers) && i.op_sel) {
            for (int k = 1; k <= i.n; ++k)
                if (i.op_sel >> (k - 1) & 1) i.o[k].modifiers |= kHigh;
            int n_text_sources = i.n - ((op.flags & kReadsDst) ? 1 : 0);
            if (i.op_sel >> n_text_sources & 1) i.flags |= kHigh16;
            modified = true;
        }
        if (!op.types.empty() && is_16bit(op.types[0]) && (target.generation >= Generation::gfx11 || (op.flags & kKeepHigh))) modified = true;
        if (i.o[0].kind == Kind::sgpr && op.types[0] != Type::mask) refuse(text, "scalar destination of a vector instruction");
        if (op.flags & kOwnModifiers) {
            if (i.dpp || sdwa || i.omod) refuse(text, "modifier not implemented for this opcode");
        } else if (packed) {
            if (sdwa || i.omod) refuse(text, "modifier not implemented for packed opcodes");
            for (int k = 1; k <= i.n; ++k)
                if (i.o[k].modifiers & (kNeg | kAbs)) refuse(text, "sign of a packed operand not implemented");
        } else {
            if (i.neg_lo || i.neg_hi) refuse(text, "neg_lo/neg_hi not implemented for this opcode");
        }
        i.run = packed || (op.run != run_vector) ? op.run : modified ? run_vector_modified : run_vector;
        if (op.run != run_vector && op.run != run_packed && !(op.flags & kOwnModifiers) && modified) refuse(text, "modifier not implemented for this opcode");
        if ((i.flags & kClamp) && i.run == run_vector_modified && !(op.flags & kOwnModifiers)) {
            Type d = op.types[0];
            bool clamps = d == Type::f32 || d == Type::f16 || d == Type::f64 || (op.flags & kIntegerClamp);
            if (!clamps) refuse(text, "clamp not implemented for this opcode");
        }
    }

    // Image opcodes: data, address words (one register range, or a list of them), resource, sampler.
    void place_image(Inst &i, const std::vector<std::string_view> &pieces, std::string_view text) {
        if (pieces.size() < 3 || pieces.size() > 4) refuse(text, "unexpected number of operands");
        std::array<u8, kLanes> rows{};
        u32 n = 0;
        auto append = [&](std::string_view range) {
            Operand o;
            if (!parse_register(range, o) || o.kind != Kind::vgpr) refuse(text, "unknown image address '" + std::string(range) + "'");
            if (!n) i.o[1] = o;
            for (u32 k = 0; k < o.width && n < kLanes; ++k) rows[n++] = u8(o.index + k);
        };
        std::string_view address = pieces[1];
        if (address.front() == '[') for (std::string_view range : split(address.substr(1, address.size() - 2), ',')) append(range);
        else append(address);
        if (target.generation < Generation::gfx11) // the text names the first register only
            for (; n < 16 && rows[n - 1] < 255; ++n) rows[n] = u8(rows[n - 1] + 1);
        i.dpp = dpp_table(rows);
        i.c = u8(target.generation < Generation::gfx11 ? 1 : n);
        for (size_t k : {size_t(0), size_t(2), size_t(3)})
            if (k < pieces.size() && !parse_operand(pieces[k], Type::b32, i.o[k])) refuse(text, "unknown operand '" + std::string(pieces[k]) + "'");
        if (i.o[2].width != 8) refuse(text, "image resource of other than 8 registers");
        i.n = u8(pieces.size());
    }

    Inst decode(std::string_view text, u64 address, u32 bytes) {
        Inst i{};
        i.address = address;
        i.bytes = u8(bytes);
        i.run = run_missing;
        i.dpp_rows = 0xff;
        size_t space = text.find(' ');
        std::string_view mnemonic = text.substr(0, space);
        std::string_view rest = space == text.npos ? "" : text.substr(space + 1);
        bool dpp = false, sdwa = false;
        std::string name(base_name(mnemonic, i.flags, dpp, sdwa));
        i.op = find_op(name);
        if (!i.op) return i;
        const Op &op = *i.op;
        i.lane = op.lane;
        i.run = op.run;
        if (op.flags & kHint) return i;
        std::vector<std::string_view> pieces = split(rest, ',');
        std::vector<std::string_view> operands;
        std::vector<std::string_view> modifiers;
        for (size_t k = 0; k < pieces.size(); ++k) {
            std::vector<std::string_view> words = split(pieces[k], ' ');
            operands.push_back(words[0]);
            for (size_t j = 1; j < words.size(); ++j) modifiers.push_back(words[j]);
        }
        bool packed = op.run == run_packed || op.unit == Unit::matrix;
        i.op_sel_hi = packed && !(op.flags & kOwnModifiers) ? 7 : 0;
        for (std::string_view m : modifiers) modifier(i, m, text);
        if (dpp && !i.dpp) refuse(text, "DPP control missing");
        if (op.unit == Unit::valu && op.lane) {
            place_vector(i, operands, text);
            finish_vector(i, sdwa, text);
            return i;
        }
        if (op.shape == Shape::image) {
            place_image(i, operands, text);
            return i;
        }
        if (operands.size() > kMaxOperands) refuse(text, "too many operands");
        for (size_t k = 0; k < operands.size(); ++k) {
            Type type = k < op.types.size() ? op.types[k] : Type::b32;
            if (!parse_operand(operands[k], type, i.o[k])) {
                if (operands[k].find('(') != operands[k].npos && op.unit == Unit::control) { // hwreg(...), gpr_idx(...): looked at by the opcode
                    i.o[k].kind = Kind::none;
                    continue;
                }
                refuse(text, "unknown operand '" + std::string(operands[k]) + "'");
            }
        }
        i.n = u8(operands.size());
        if (op.unit == Unit::control && i.n) {
            i64 x;
            if (parse_int(operands.back(), x)) { i.offset = i32(x); }
        }
        if (op.unit == Unit::valu && !(op.flags & kOwnModifiers) && (i.dpp || sdwa || i.omod || (i.flags & kClamp)))
            refuse(text, "modifier not implemented for this opcode");
        return i;
    }
};

} // namespace

Program::Program() {
    void *p = mmap(nullptr, size_t(kMaxConstants) * 2 * sizeof(Row), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw Error(HIPEMU_OUT_OF_MEMORY, "no address space for constants");
    constants = static_cast<Row *>(p);
}

Program::~Program() {
    if (constants) munmap(constants, size_t(kMaxConstants) * 2 * sizeof(Row));
}

u32 Program::constant(u64 value) const {
    auto [at, fresh] = constant_index.try_emplace(value, n_constants);
    if (fresh) {
        if (n_constants + 2 > kMaxConstants * 2) throw Error(HIPEMU_RESOURCES, "too many distinct constants");
        for (int l = 0; l < kLanes; ++l) {
            constants[n_constants].lane[l] = u32(value);
            constants[n_constants + 1].lane[l] = u32(value >> 32);
        }
        n_constants += 2;
    }
    return at->second;
}

void decode_region(const Program &program, Region &region) {
    region.text = disassemble(program, region.begin - program.bias, region.end - program.bias);
    Decoder decoder{program, *program.target};
    size_t lines = std::count(region.text.begin(), region.text.end(), '\n');
    region.code.reserve(lines * 3 + 1);
    region.at.assign((region.end - region.begin) / 4 + 1, ~0u);
    char *p = region.text.data(), *end = p + region.text.size();
    struct Dual { size_t first; Inst x, y; };
    std::vector<Dual> duals;
    std::vector<size_t> branches;
    while (p < end) {
        char *newline = static_cast<char *>(memchr(p, '\n', end - p));
        if (!newline) newline = end;
        char *cursor = p;
        u64 address = std::strtoull(cursor, &cursor, 16) + program.bias;
        u32 bytes = u32(std::strtoul(cursor, &cursor, 10));
        while (cursor < newline && *cursor == ' ') ++cursor;
        std::string_view text(cursor, newline - cursor);
        if (newline < end) *newline = 0;
        p = newline + 1;
        if (address < region.begin || address >= region.end) continue;
        Inst i{};
        try {
            size_t dual = text.find(" :: ");
            if (dual == text.npos) {
                i = decoder.decode(text, address, bytes);
            } else {
                auto half = [&](std::string_view t) {
                    std::string plain = "v_" + std::string(t.substr(7)); // v_dual_x -> v_x
                    Inst x = decoder.decode(plain, address, bytes);
                    x.text = cursor;
                    return x;
                };
                duals.push_back({region.code.size(), half(text.substr(0, dual)), half(trim(text.substr(dual + 4)))});
                i.run = run_dual;
                i.address = address;
                i.bytes = u8(bytes);
            }
        } catch (const Error &error) {
            // Refused only when it is executed: dead code must not stop a kernel.
            i = Inst{};
            i.run = run_missing;
            i.address = address;
            i.bytes = u8(bytes);
        }
        i.text = cursor;
        if (i.op && (i.op->flags & kJumps)) branches.push_back(region.code.size());
        region.at[(address - region.begin) / 4] = u32(region.code.size());
        region.code.push_back(i);
    }
    Inst sentinel{};
    sentinel.run = run_missing;
    sentinel.address = region.end;
    sentinel.text = "(end of code)";
    region.code.push_back(sentinel);
    // The halves of VOPD live behind the sentinel: capacity was reserved, so pointers stay valid.
    for (Dual &d : duals) {
        region.code.push_back(d.x);
        region.code[d.first].second = &region.code.back();
        region.code.push_back(d.y);
    }
    for (size_t index : branches) {
        Inst &i = region.code[index];
        u64 to = i.address + 4 + i64(i16(i.offset)) * 4;
        if (to >= region.begin && to < region.end && region.at[(to - region.begin) / 4] != ~0u)
            i.target = &region.code[region.at[(to - region.begin) / 4]];
    }
    plan_checks(region, *program.target);
    region.decoded = true;
}

const Inst *instruction_at(const Program &program, u64 address) {
    std::lock_guard lock(program.mutex);
    auto &regions = program.regions;
    auto after = std::upper_bound(regions.begin(), regions.end(), address,
                                  [](u64 a, const std::unique_ptr<Region> &r) { return a < r->begin; });
    if (after != regions.begin()) {
        Region &region = **std::prev(after);
        if (address < region.end) {
            if (!region.decoded) decode_region(program, region);
            u32 index = address % 4 ? ~0u : region.at[(address - region.begin) / 4];
            if (index != ~0u) return &region.code[index];
        }
    }
    fault(HIPEMU_MEMORY_FAULT, "HP862", "jump to an address that holds no code", 0, address);
}

} // namespace hipemu
