// The semantics table: every row of every opcode file, by mnemonic.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "launch.h"
#include "machine.h"

namespace hipemu {

namespace {

Shape shape_of(const Op &op) {
    std::string_view n(op.name);
    auto begins = [&](std::string_view p) { return n.substr(0, p.size()) == p; };
    auto has = [&](std::string_view p) { return n.find(p) != n.npos; };
    switch (op.unit) {
    case Unit::valu:
        if (begins("v_cndmask")) return Shape::cndmask;
        if (n == "v_xor_b32" || begins("v_sub_u32") || begins("v_sub_nc") || begins("v_sub_f32")) return Shape::cancels;
        if (begins("v_mad_u64") || begins("v_mad_i64") || begins("v_mad_co_") || n == "v_lshl_add_u64" || n == "v_lshlrev_b64") return Shape::low_word;
        if (n == "v_readfirstlane_b32") return Shape::readfirstlane;
        if (n == "v_readlane_b32") return Shape::readlane;
        if (n == "v_writelane_b32") return Shape::writelane;
        if (n == "v_swap_b32") return Shape::swap;
        if (n == "v_permlane32_swap_b32") return Shape::permlane32_swap;
        return Shape::plain;
    case Unit::salu:
        if (begins("s_cmp") || begins("s_bitcmp")) return Shape::compare;
        if (begins("s_and_saveexec")) return Shape::and_saveexec;
        if (has("saveexec") || has("wrexec")) return Shape::saveexec;
        if (n == "s_and_b32" || n == "s_and_b64") return Shape::logical_and;
        if (n == "s_or_b32" || n == "s_or_b64") return Shape::logical_or;
        if (begins("s_cselect")) return Shape::select;
        if (begins("s_mov") || begins("s_cmov") || begins("s_brev") || begins("s_pack")) return Shape::keeps_scc;
        if (begins("s_not") || begins("s_xor") || begins("s_xnor") || begins("s_nand") || begins("s_nor") || begins("s_andn2") || begins("s_orn2") ||
            begins("s_and_not1") || begins("s_or_not1") || begins("s_wqm") || begins("s_quadmask") || begins("s_bitset"))
            return Shape::bitwise;
        return Shape::arithmetic;
    case Unit::control:
        if (begins("s_cbranch_scc")) return Shape::branch_scc;
        if (begins("s_cbranch_vcc")) return Shape::branch_vcc;
        if (begins("s_wait")) return Shape::wait;
        if (n == "s_setpc_b64" || begins("s_setreg") || begins("s_barrier") || begins("s_set_gpr")) return Shape::reads_scalar;
        return Shape::plain;
    case Unit::lds:
        if (n == "ds_bpermute_b32") return Shape::bpermute;
        if (n == "ds_append" || n == "ds_consume") return Shape::counter;
        return Shape::plain;
    case Unit::memory: return begins("buffer_") || begins("tbuffer_") ? Shape::buffer : begins("image_") ? Shape::image : Shape::plain;
    case Unit::matrix: return begins("v_wmma") || begins("v_swmmac") ? Shape::wmma : Shape::plain;
    default: return Shape::plain;
    }
}

struct All {
    std::vector<Op> rows;
    std::unordered_map<std::string_view, const Op *> by_name;
    All() {
        for (Table (*part)() : {control_opcodes, scalar_opcodes, scalar_memory_opcodes, integer_opcodes, float_opcodes, half_opcodes,
                                double_opcodes, convert_opcodes, compare_opcodes, packed_opcodes, cross_lane_opcodes, lds_opcodes,
                                memory_opcodes, buffer_opcodes, image_opcodes, matrix_opcodes, sparse_matrix_opcodes, wmma_opcodes, scale_opcodes})
            for (Op &row : part()) {
                row.shape = shape_of(row);
                row.returns = (row.flags & (kLoad | kLaneCross)) || row.shape == Shape::counter || ((row.flags & kAtomic) && strstr(row.name, "_rtn"));
                rows.push_back(std::move(row));
            }
        std::sort(rows.begin(), rows.end(), [](const Op &a, const Op &b) { return std::string_view(a.name) < b.name; });
        for (const Op &row : rows) by_name.try_emplace(row.name, &row);
    }
};
const All &all() {
    static const All table;
    return table;
}

} // namespace

const Op *find_op(const std::string &name) {
    auto found = all().by_name.find(name);
    return found == all().by_name.end() ? nullptr : found->second;
}
size_t op_count() { return all().rows.size(); }
const Op *op_at(size_t index) { return &all().rows[index]; }

const TargetInfo *find_target(const std::string &name) {
    static const TargetInfo targets[] = {
        {"gfx90a", Generation::gfx90a, 64, 65536, 8, 4, 512, 8, 0x3f, true, false},
        {"gfx942", Generation::gfx942, 64, 65536, 8, 4, 512, 8, 0x4c, true, true},
        {"gfx950", Generation::gfx950, 64, 163840, 8, 4, 512, 8, 0x4f, false, true},
        {"gfx1100", Generation::gfx11, 32, 65536, 16, 2, 1536, 24, 0x41, false, true},
        {"gfx1201", Generation::gfx12, 32, 65536, 16, 2, 1536, 24, 0x4e, false, true},
    };
    std::string plain = name.substr(0, name.find(':'));
    for (const TargetInfo &t : targets)
        if (plain == t.name) return &t;
    return nullptr;
}

void fault(hipemu_status status, const char *id, std::string message, int lane, u64 address) {
    throw Fault{status, id, std::move(message), lane, address};
}

void unimplemented(const Inst *i, const std::string &what) {
    throw Fault{HIPEMU_UNIMPLEMENTED, "HP864", what + " is not implemented: '" + std::string(i->text) + "'"};
}

const Inst *run_missing(Wave &, const Inst *i) {
    if (!strcmp(i->text, "(end of code)")) fault(HIPEMU_MEMORY_FAULT, "HP862", "execution ran past the end of the code", 0, i->address);
    fault(HIPEMU_UNIMPLEMENTED, "HP864", "instruction not implemented: '" + std::string(i->text) + "'", 0, 0);
}

} // namespace hipemu
