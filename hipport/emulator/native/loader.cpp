// Loads an AMDGPU ELF: segments into guest memory, relocations, symbols, kernel descriptors, metadata.
// Source: LLVM AMDGPUUsage, "Code Object", "Kernel Descriptor", "Code Object Metadata".
#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include "program.h"

namespace hipemu {

namespace {

[[noreturn]] void bad(const std::string &what) { throw Error(HIPEMU_BAD_CODE_OBJECT, "bad code object: " + what); }

// Bounds-checked reads from untrusted bytes.
struct Bytes {
    std::string_view data;
    template <class T> T at(u64 offset) const {
        if (offset > data.size() || sizeof(T) > data.size() - offset) bad("truncated");
        T x;
        std::memcpy(&x, data.data() + offset, sizeof x);
        return x;
    }
    std::string_view part(u64 offset, u64 bytes) const {
        if (offset > data.size() || bytes > data.size() - offset) bad("truncated");
        return data.substr(offset, bytes);
    }
    std::string text(u64 offset) const {
        if (offset >= data.size()) bad("string outside of its table");
        size_t end = data.find('\0', offset);
        if (end == data.npos) bad("string without end");
        return std::string(data.substr(offset, end - offset));
    }
};

constexpr u64 kMaxImage = 1ull << 32;

} // namespace

u32 elf_machine(std::string_view image) {
    if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, 4) != 0) return 0;
    Elf64_Ehdr h = Bytes{image}.at<Elf64_Ehdr>(0);
    if (h.e_machine != 224 || h.e_ident[EI_CLASS] != ELFCLASS64) return 0;
    return h.e_flags & 0xff;
}

void load_elf(Program &program, std::string_view image, const TargetInfo *target, void *(*place)(void *, u64), void *context) {
    Bytes file{image};
    if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, 4) != 0) bad("not an ELF file");
    Elf64_Ehdr header = file.at<Elf64_Ehdr>(0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != 224) bad("not an AMDGPU ELF");
    if (header.e_type != ET_DYN) bad("not linked (expected a shared object; link it with ld.lld -shared)");
    if (header.e_ident[EI_ABIVERSION] < 2) bad("code object version below 4 is not supported");
    u32 mach = header.e_flags & 0xff;
    if (mach != target->elf_mach) {
        char text[96];
        snprintf(text, sizeof text, "the code object is for machine 0x%x, the device is %s (0x%x)", mach, target->name, target->elf_mach);
        throw Error(HIPEMU_WRONG_TARGET, text);
    }
    program.target = target;
    program.elf = std::string(image);
    program.identity = hash_hex(image);

    // Segments.
    u64 top = 0;
    std::vector<Elf64_Phdr> segments;
    if (header.e_phentsize != sizeof(Elf64_Phdr)) bad("program headers");
    for (u32 k = 0; k < header.e_phnum; ++k) segments.push_back(file.at<Elf64_Phdr>(header.e_phoff + k * sizeof(Elf64_Phdr)));
    for (const Elf64_Phdr &p : segments) {
        if (p.p_type != PT_LOAD) continue;
        if (p.p_memsz > kMaxImage || p.p_vaddr > kMaxImage || p.p_filesz > p.p_memsz) bad("segment size");
        top = std::max(top, p.p_vaddr + p.p_memsz);
    }
    if (top == 0) bad("nothing to load");
    program.bytes = (top + 4095) / 4096 * 4096;
    program.base = u64(place(context, program.bytes));
    program.bias = program.base;
    u8 *memory = reinterpret_cast<u8 *>(program.base);
    std::memset(memory, 0, program.bytes);
    u64 exec_begin = 0, exec_end = 0;
    for (const Elf64_Phdr &p : segments) {
        if (p.p_type != PT_LOAD) continue;
        std::string_view bytes = file.part(p.p_offset, p.p_filesz);
        std::memcpy(memory + p.p_vaddr, bytes.data(), bytes.size());
        if (p.p_flags & PF_X) { exec_begin = p.p_vaddr; exec_end = p.p_vaddr + p.p_filesz; }
    }
    auto mapped = [&](u64 address, u64 bytes) {
        if (address > top || bytes > top - address) bad("address outside of the image");
        return memory + address;
    };

    // Sections: symbols, debug information, the extent of .text.
    std::vector<Elf64_Shdr> sections;
    if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) bad("section headers");
    for (u32 k = 0; k < header.e_shnum; ++k) sections.push_back(file.at<Elf64_Shdr>(header.e_shoff + k * sizeof(Elf64_Shdr)));
    std::string_view names;
    if (header.e_shstrndx < sections.size()) names = file.part(sections[header.e_shstrndx].sh_offset, sections[header.e_shstrndx].sh_size);
    std::string_view debug_line, line_str, debug_str;
    for (const Elf64_Shdr &s : sections) {
        std::string name = names.empty() ? "" : Bytes{names}.text(s.sh_name);
        if (name == ".text" && (s.sh_flags & SHF_EXECINSTR)) { exec_begin = s.sh_addr; exec_end = s.sh_addr + s.sh_size; }
        if (s.sh_flags & SHF_COMPRESSED) continue;
        if (name == ".debug_line") debug_line = file.part(s.sh_offset, s.sh_size);
        if (name == ".debug_line_str") line_str = file.part(s.sh_offset, s.sh_size);
        if (name == ".debug_str") debug_str = file.part(s.sh_offset, s.sh_size);
    }
    std::unordered_map<std::string, u64> descriptors;
    auto read_symbols = [&](const Elf64_Shdr &s) {
        if (s.sh_link >= sections.size() || s.sh_entsize != sizeof(Elf64_Sym)) bad("symbol table");
        std::string_view strings = file.part(sections[s.sh_link].sh_offset, sections[s.sh_link].sh_size);
        for (u64 k = 0; k * sizeof(Elf64_Sym) < s.sh_size; ++k) {
            Elf64_Sym y = file.at<Elf64_Sym>(s.sh_offset + k * sizeof(Elf64_Sym));
            if (y.st_shndx == SHN_UNDEF || y.st_shndx >= SHN_LORESERVE) continue;
            std::string name = Bytes{strings}.text(y.st_name);
            u32 type = ELF64_ST_TYPE(y.st_info);
            if (name.empty()) continue;
            if (name.size() > 3 && name.substr(name.size() - 3) == ".kd") { descriptors[name.substr(0, name.size() - 3)] = y.st_value; continue; }
            if (type == STT_SECTION || type == STT_FILE) continue;
            if (y.st_value > top) bad("symbol outside of the image");
            bool function = type == STT_FUNC || (type == STT_NOTYPE && y.st_value >= exec_begin && y.st_value < exec_end);
            program.symbols.push_back({name, y.st_value + program.bias, y.st_size, function});
        }
    };
    bool full_table = false;
    for (const Elf64_Shdr &s : sections) if (s.sh_type == SHT_SYMTAB) { read_symbols(s); full_table = true; }
    if (!full_table) for (const Elf64_Shdr &s : sections) if (s.sh_type == SHT_DYNSYM) read_symbols(s);
    std::sort(program.symbols.begin(), program.symbols.end(), [](const Symbol &a, const Symbol &b) { return a.address < b.address; });

    // Relocations.
    for (const Elf64_Shdr &s : sections) {
        if (s.sh_type != SHT_RELA || !(s.sh_flags & SHF_ALLOC)) continue;
        if (s.sh_link >= sections.size()) bad("relocation section");
        const Elf64_Shdr &table = sections[s.sh_link];
        for (u64 k = 0; k * sizeof(Elf64_Rela) < s.sh_size; ++k) {
            Elf64_Rela r = file.at<Elf64_Rela>(s.sh_offset + k * sizeof(Elf64_Rela));
            u32 type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
            u64 value = 0;
            if (index) {
                Elf64_Sym y = file.at<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym));
                if (y.st_shndx == SHN_UNDEF && ELF64_ST_BIND(y.st_info) != STB_WEAK) {
                    std::string_view strings = table.sh_link < sections.size() ? file.part(sections[table.sh_link].sh_offset, sections[table.sh_link].sh_size) : "";
                    bad("undefined symbol " + Bytes{strings}.text(y.st_name));
                }
                value = y.st_shndx == SHN_UNDEF ? 0 : y.st_value + program.bias;
            }
            u64 result;
            u32 width = 8;
            switch (type) {
            case 1: result = u32(value + r.r_addend); width = 4; break;          // ABS32_LO
            case 2: result = (value + r.r_addend) >> 32; width = 4; break;       // ABS32_HI
            case 3: result = value + r.r_addend; break;                          // ABS64
            case 6: result = u32(value + r.r_addend); width = 4; break;          // ABS32
            case 13: result = program.bias + r.r_addend; break;                  // RELATIVE64
            default: bad("relocation type " + std::to_string(type));
            }
            std::memcpy(mapped(r.r_offset, width), &result, width);
        }
    }

    // Metadata note, then each kernel's descriptor.
    for (const Elf64_Phdr &p : segments) {
        if (p.p_type != PT_NOTE) continue;
        std::string_view note = file.part(p.p_offset, p.p_filesz);
        Bytes b{note};
        for (u64 at = 0; at + 12 <= note.size();) {
            u32 name_bytes = b.at<u32>(at), bytes = b.at<u32>(at + 4), type = b.at<u32>(at + 8);
            u64 name_at = at + 12, data_at = name_at + (u64(name_bytes) + 3) / 4 * 4;
            std::string_view data = b.part(data_at, bytes);
            if (type == 32 && b.part(name_at, name_bytes).substr(0, 6) == "AMDGPU") read_metadata(program, data);
            at = data_at + (u64(bytes) + 3) / 4 * 4;
        }
    }
    for (KernelCode &k : program.kernels) {
        auto found = descriptors.find(k.name);
        if (found == descriptors.end()) bad("kernel " + k.name + " has no descriptor");
        const u8 *d = mapped(found->second, 64);
        auto get = [&](u32 offset) { u32 x; std::memcpy(&x, d + offset, 4); return x; };
        i64 entry;
        std::memcpy(&entry, d + 16, 8);
        k.entry = found->second + u64(entry) + program.bias;
        k.lds_bytes = std::max(k.lds_bytes, get(0));
        k.private_bytes = std::max(k.private_bytes, get(4));
        k.kernarg_bytes = std::max(k.kernarg_bytes, get(8));
        k.rsrc3 = get(44);
        k.rsrc1 = get(48);
        k.rsrc2 = get(52);
        k.properties = get(56) & 0xffff;
        k.preload = get(56) >> 16;
        if (target->generation >= Generation::gfx11) k.wave_size = k.properties & 1 << 10 ? 32 : 64;
        if (k.preload & 127) k.entry += 256; // the prologue loads by hand what this machine preloads
        if (k.entry < exec_begin + program.bias || k.entry >= exec_end + program.bias) bad("kernel entry outside of the code");
    }

    // Regions to decode on first use: small programs as a whole, big ones function by function.
    if (exec_end > exec_begin) {
        constexpr u64 kWhole = 512 << 10;
        auto add = [&](u64 begin, u64 end) {
            auto r = std::make_unique<Region>();
            r->begin = begin + program.bias;
            r->end = end + program.bias;
            program.regions.push_back(std::move(r));
        };
        if (exec_end - exec_begin <= kWhole) {
            add(exec_begin, exec_end);
        } else {
            std::vector<u64> cuts = {exec_begin};
            for (const Symbol &s : program.symbols) {
                u64 a = s.address - program.bias;
                if (s.function && s.bytes && a >= exec_begin && a < exec_end && a % 4 == 0) cuts.push_back(a);
            }
            std::sort(cuts.begin(), cuts.end());
            cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
            for (size_t k = 0; k < cuts.size(); ++k) add(cuts[k], k + 1 < cuts.size() ? cuts[k + 1] : exec_end);
        }
    }
    try {
        read_lines(program, debug_line, line_str, debug_str);
    } catch (const Error &) {
        program.lines.clear(); // source places are a convenience
    }
}

// ---- metadata -------------------------------------------------------------------------------------------------------

namespace {

// A reader for the parts of msgpack that code object metadata uses.
struct MessagePack {
    std::string_view data;
    size_t at = 0;
    int depth = 0;

    u64 take(int bytes) {
        if (at + bytes > data.size()) bad("truncated metadata");
        u64 x = 0;
        for (int k = 0; k < bytes; ++k) x = x << 8 | u8(data[at++]);
        return x;
    }
    std::string_view raw(u64 bytes) {
        if (bytes > data.size() - at) bad("truncated metadata");
        std::string_view s = data.substr(at, bytes);
        at += bytes;
        return s;
    }
    struct Value {
        enum { nil, number, text, array, map } kind = nil;
        i64 integer = 0;
        std::string string;
        std::vector<Value> items; // maps: key, value, key, value, ...
        const Value *find(const char *key) const {
            if (kind != map) return nullptr;
            for (size_t k = 0; k + 1 < items.size(); k += 2)
                if (items[k].string == key) return &items[k + 1];
            return nullptr;
        }
        i64 number_at(const char *key, i64 otherwise = 0) const { const Value *v = find(key); return v && v->kind == number ? v->integer : otherwise; }
        std::string text_at(const char *key) const { const Value *v = find(key); return v && v->kind == text ? v->string : ""; }
    };
    Value sequence(u64 n, bool is_map) {
        Value v;
        v.kind = is_map ? Value::map : Value::array;
        if (is_map) n *= 2;
        if (n > data.size()) bad("metadata size");
        if (++depth > 64) bad("metadata nesting");
        for (u64 k = 0; k < n; ++k) v.items.push_back(value());
        --depth;
        return v;
    }
    Value text(u64 n) { Value v; v.kind = Value::text; v.string = std::string(raw(n)); return v; }
    Value number(i64 x) { Value v; v.kind = Value::number; v.integer = x; return v; }
    Value value() {
        u8 t = u8(take(1));
        if (t < 0x80) return number(t);
        if (t >= 0xe0) return number(i8(t));
        if (t < 0x90) return sequence(t & 15, true);
        if (t < 0xa0) return sequence(t & 15, false);
        if (t < 0xc0) return text(t & 31);
        switch (t) {
        case 0xc0: return {};
        case 0xc2: return number(0);
        case 0xc3: return number(1);
        case 0xc4: case 0xd9: return text(take(1));
        case 0xc5: case 0xda: return text(take(2));
        case 0xc6: case 0xdb: return text(take(4));
        case 0xca: take(4); return number(0);
        case 0xcb: take(8); return number(0);
        case 0xcc: return number(i64(take(1)));
        case 0xcd: return number(i64(take(2)));
        case 0xce: return number(i64(take(4)));
        case 0xcf: return number(i64(take(8)));
        case 0xd0: return number(i8(take(1)));
        case 0xd1: return number(i16(take(2)));
        case 0xd2: return number(i32(take(4)));
        case 0xd3: return number(i64(take(8)));
        case 0xdc: return sequence(take(2), false);
        case 0xdd: return sequence(take(4), false);
        case 0xde: return sequence(take(2), true);
        case 0xdf: return sequence(take(4), true);
        default: bad("metadata type");
        }
    }
};

} // namespace

void read_metadata(Program &program, std::string_view note) {
    MessagePack::Value root = MessagePack{note}.value();
    const MessagePack::Value *kernels = root.find("amdhsa.kernels");
    if (!kernels) return;
    for (const MessagePack::Value &m : kernels->items) {
        KernelCode k;
        k.name = m.text_at(".name");
        std::string symbol = m.text_at(".symbol");
        if (symbol.size() > 3 && symbol.substr(symbol.size() - 3) == ".kd") k.name = symbol.substr(0, symbol.size() - 3);
        if (k.name.empty()) bad("kernel without a name");
        k.kernarg_bytes = u32(m.number_at(".kernarg_segment_size"));
        k.lds_bytes = u32(m.number_at(".group_segment_fixed_size"));
        k.private_bytes = u32(m.number_at(".private_segment_fixed_size"));
        k.dynamic_stack = m.number_at(".uses_dynamic_stack");
        k.wave_size = u32(m.number_at(".wavefront_size", 64));
        k.max_workgroup = u32(m.number_at(".max_flat_workgroup_size", 1024));
        k.vgprs = u32(m.number_at(".vgpr_count"));
        k.agprs = u32(m.number_at(".agpr_count"));
        k.sgprs = u32(m.number_at(".sgpr_count"));
        k.vgpr_spills = u32(m.number_at(".vgpr_spill_count"));
        k.sgpr_spills = u32(m.number_at(".sgpr_spill_count"));
        if (k.wave_size != 32 && k.wave_size != 64) bad("wavefront size");
        if (k.kernarg_bytes > (1u << 20)) bad("kernarg size");
        bool hidden = false;
        if (const MessagePack::Value *args = m.find(".args"))
            for (const MessagePack::Value &a : args->items) {
                Argument arg;
                arg.offset = u32(a.number_at(".offset"));
                arg.bytes = u32(a.number_at(".size"));
                arg.kind = a.text_at(".value_kind");
                arg.name = a.text_at(".name");
                if (u64(arg.offset) + arg.bytes > k.kernarg_bytes) bad("argument outside of the kernarg segment");
                if (arg.kind.rfind("hidden_", 0) == 0) hidden = true;
                else if (!hidden) k.explicit_bytes = std::max(k.explicit_bytes, arg.offset + arg.bytes);
                k.arguments.push_back(std::move(arg));
            }
        program.kernels.push_back(std::move(k));
    }
}

} // namespace hipemu
