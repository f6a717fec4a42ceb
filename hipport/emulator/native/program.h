// A loaded code object as the interpreter sees it: decoded regions of code, constants, kernels, variables, source lines.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "check_plan.h"
#include "machine.h"

namespace hipemu {

struct Region {
    u64 begin = 0, end = 0; // device addresses
    std::string name;
    bool decoded = false;
    std::string text;            // disassembly; Inst::text points into it
    std::vector<Inst> code;      // in address order, the last one is a sentinel
    std::vector<u32> at;         // (address - begin) / 4 -> index in code, ~0: none
    std::vector<CheckPlan> plans; // one for each of code
    std::vector<u16> plan_registers;
};

struct Symbol {
    std::string name;
    u64 address = 0, bytes = 0;
    bool function = false;
};

struct Argument {
    u32 offset = 0, bytes = 0;
    std::string kind, name;
};

struct KernelCode {
    std::string name;
    u64 entry = 0;
    u32 kernarg_bytes = 0, explicit_bytes = 0, lds_bytes = 0, private_bytes = 0;
    bool dynamic_stack = false;
    u32 wave_size = 64, max_workgroup = 1024, vgprs = 0, agprs = 0, sgprs = 0, vgpr_spills = 0, sgpr_spills = 0;
    u32 rsrc1 = 0, rsrc2 = 0, rsrc3 = 0, properties = 0, preload = 0;
    u32 hash = 0;
    std::vector<Argument> arguments;
};

struct Line {
    u64 address;
    u32 file, line;
};

struct Program {
    const TargetInfo *target = nullptr;
    u64 base = 0, bytes = 0; // image in the arena
    u64 bias = 0;            // device address - ELF address
    mutable std::mutex mutex;
    mutable std::vector<std::unique_ptr<Region>> regions; // sorted by begin
    std::vector<Symbol> symbols;
    std::vector<KernelCode> kernels;
    std::vector<Line> lines;         // sorted by address
    std::vector<std::string> files;
    std::string elf;                 // kept for the disassembler
    std::string objdump, cache_dir;
    std::string identity;            // hash of the ELF
    mutable Row *constants = nullptr;
    mutable u32 n_constants = 0;
    mutable std::map<u64, u32> constant_index;

    Program();
    ~Program();
    Program(const Program &) = delete;
    u32 constant(u64 value) const; // row number of the broadcast value (its upper half is the next row)
};

// Parses an ELF into the arena memory given by `place(bytes)`; throws Error.
void load_elf(Program &program, std::string_view image, const TargetInfo *target, void *(*place)(void *, u64), void *context);
// Machine number of an AMDGPU ELF, 0 when it is not one.
u32 elf_machine(std::string_view image);

// The ELF for the target inside a bundle, fat binary or plain ELF; decompressed into `storage` when needed.
std::string_view find_code_object(std::string_view image, const TargetInfo *target, std::string &storage);
size_t image_bytes(const u8 *image);

// Disassembly of [begin, end) (ELF addresses), one "address bytes text" line per instruction, cached on disk.
std::string disassemble(const Program &program, u64 begin, u64 end);
// Decode a region's text into code.
void decode_region(const Program &program, Region &region);
std::string hash_hex(std::string_view data, u64 seed = 0);

void read_metadata(Program &program, std::string_view note);
void read_lines(Program &program, std::string_view debug_line, std::string_view line_str, std::string_view debug_str);

}  // namespace hipemu
