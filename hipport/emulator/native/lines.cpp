// Source lines from DWARF 4 and 5 line tables. Source: DWARF Debugging Information Format 5, section 6.2.
#include <algorithm>

#include "program.h"

namespace hipemu {

namespace {

struct Cursor {
    std::string_view data;
    size_t at = 0;
    [[noreturn]] static void bad() { throw Error(HIPEMU_BAD_CODE_OBJECT, "bad line table"); }
    u64 fixed(int n) {
        if (at + n > data.size()) bad();
        u64 x = 0;
        for (int k = 0; k < n; ++k) x |= u64(u8(data[at + k])) << (8 * k);
        at += n;
        return x;
    }
    u64 uleb() {
        u64 x = 0;
        for (int shift = 0;; shift += 7) {
            u8 b = u8(fixed(1));
            if (shift < 64) x |= u64(b & 127) << shift;
            if (!(b & 128)) return x;
        }
    }
    i64 sleb() {
        i64 x = 0;
        int shift = 0;
        u8 b;
        do {
            b = u8(fixed(1));
            if (shift < 64) x |= i64(b & 127) << shift;
            shift += 7;
        } while (b & 128);
        if (shift < 64 && (b & 64)) x |= -(i64(1) << shift);
        return x;
    }
    std::string text() {
        size_t end = data.find('\0', at);
        if (end == data.npos) bad();
        std::string s(data.substr(at, end - at));
        at = end + 1;
        return s;
    }
};

std::string text_at(std::string_view table, u64 offset) {
    if (offset >= table.size()) return "";
    size_t end = table.find('\0', offset);
    return std::string(table.substr(offset, end == table.npos ? end : end - offset));
}

} // namespace

void read_lines(Program &program, std::string_view debug_line, std::string_view line_str, std::string_view debug_str) {
    Cursor all{debug_line};
    while (all.at + 4 < debug_line.size()) {
        u64 length = all.fixed(4);
        int offset_bytes = 4;
        if (length == 0xffffffff) { length = all.fixed(8); offset_bytes = 8; }
        if (length > debug_line.size() - all.at) Cursor::bad();
        Cursor c{debug_line.substr(all.at, length)};
        all.at += length;
        u16 version = u16(c.fixed(2));
        if (version < 2 || version > 5) continue;
        if (version == 5) c.fixed(2); // address and segment selector sizes
        u64 header_bytes = c.fixed(offset_bytes);
        size_t program_at = c.at + header_bytes;
        u32 min_length = u32(c.fixed(1));
        if (version >= 4) c.fixed(1);
        c.fixed(1);
        i8 line_base = i8(c.fixed(1));
        u8 line_range = u8(c.fixed(1)), opcode_base = u8(c.fixed(1));
        if (line_range == 0) Cursor::bad();
        std::vector<u8> lengths(opcode_base ? opcode_base - 1 : 0);
        for (u8 &n : lengths) n = u8(c.fixed(1));
        std::vector<u32> files; // table index -> program.files
        auto intern = [&](const std::string &name) {
            auto found = std::find(program.files.begin(), program.files.end(), name);
            if (found != program.files.end()) return u32(found - program.files.begin());
            program.files.push_back(name);
            return u32(program.files.size() - 1);
        };
        if (version == 5) {
            for (int table = 0; table < 2; ++table) {
                std::vector<std::pair<u64, u64>> format(c.fixed(1));
                for (auto &[content, form] : format) { content = c.uleb(); form = c.uleb(); }
                u64 n = c.uleb();
                for (u64 k = 0; k < n; ++k) {
                    std::string path;
                    for (auto &[content, form] : format) {
                        std::string s;
                        switch (form) {
                        case 0x08: s = c.text(); break;
                        case 0x1f: s = text_at(line_str, c.fixed(offset_bytes)); break;
                        case 0x0e: s = text_at(debug_str, c.fixed(offset_bytes)); break;
                        case 0x0b: c.fixed(1); break;
                        case 0x05: c.fixed(2); break;
                        case 0x06: c.fixed(4); break;
                        case 0x07: c.fixed(8); break;
                        case 0x0f: c.uleb(); break;
                        case 0x1e: c.fixed(8); c.fixed(8); break;
                        default: Cursor::bad();
                        }
                        if (content == 1) path = s;
                    }
                    if (table == 1) files.push_back(intern(path));
                }
            }
        } else {
            while (!c.text().empty()) {}
            files.push_back(intern(""));
            for (std::string name; !(name = c.text()).empty();) {
                c.uleb(); c.uleb(); c.uleb();
                files.push_back(intern(name));
            }
        }
        c.at = program_at;
        u64 address = 0;
        u32 file = 1, line = 1;
        auto emit = [&](bool end) {
            u32 index = file < files.size() ? files[file] : 0;
            program.lines.push_back({address + program.bias, index, end ? 0 : line});
        };
        while (c.at < c.data.size()) {
            u8 opcode = u8(c.fixed(1));
            if (opcode >= opcode_base) {
                u8 adjusted = opcode - opcode_base;
                address += u64(adjusted / line_range) * min_length;
                line = u32(i32(line) + line_base + adjusted % line_range);
                emit(false);
                continue;
            }
            switch (opcode) {
            case 0: {
                u64 n = c.uleb();
                size_t next = c.at + n;
                u8 sub = n ? u8(c.fixed(1)) : 0;
                if (sub == 1) { emit(true); address = 0; file = 1; line = 1; }
                else if (sub == 2) address = c.fixed(int(std::min<u64>(n - 1, 8)));
                if (next > c.data.size()) Cursor::bad();
                c.at = next;
                break;
            }
            case 1: emit(false); break;
            case 2: address += c.uleb() * min_length; break;
            case 3: line = u32(i32(line) + i32(c.sleb())); break;
            case 4: file = u32(c.uleb()); break;
            case 5: c.uleb(); break;
            case 8: address += u64((255 - opcode_base) / line_range) * min_length; break;
            case 9: address += c.fixed(2); break;
            default:
                for (u8 k = 0; opcode - 1u < lengths.size() && k < lengths[opcode - 1]; ++k)
                    if (opcode >= 12 || opcode == 5) c.uleb();
                break;
            }
        }
    }
    std::stable_sort(program.lines.begin(), program.lines.end(), [](const Line &a, const Line &b) { return a.address < b.address; });
}

} // namespace hipemu
