// The semantics table: every row of every opcode file, by mnemonic.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "launch.h"
#include "machine.h"

namespace hipemu {

namespace {

struct All {
    std::vector<Op> rows;
    std::unordered_map<std::string_view, const Op *> by_name;
    All() {
        for (Table (*part)() : {control_opcodes, scalar_opcodes, scalar_memory_opcodes, integer_opcodes, float_opcodes, half_opcodes,
                                double_opcodes, convert_opcodes, compare_opcodes, packed_opcodes, cross_lane_opcodes, lds_opcodes,
                                memory_opcodes, buffer_opcodes, matrix_opcodes, sparse_matrix_opcodes, wmma_opcodes})
            for (Op &row : part()) rows.push_back(std::move(row));
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
