// Clang offload bundles: plain, compressed (CCOB), inside fat binaries. Source: Clang Offload Bundler documentation.
#include <dlfcn.h>

#include "program.h"

namespace hipemu {

namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";

template <class T> bool get(std::string_view s, size_t at, T &x) {
    if (at > s.size() || sizeof(T) > s.size() - at) return false;
    std::memcpy(&x, s.data() + at, sizeof x);
    return true;
}

[[noreturn]] void bad(const std::string &what) { throw Error(HIPEMU_BAD_CODE_OBJECT, "bad offload bundle: " + what); }

struct Compressed {
    u64 header = 0, file = 0, original = 0;
    u16 method = 0;
};
bool read_header(std::string_view s, Compressed &c) {
    u16 version;
    if (s.substr(0, 4) != "CCOB" || !get(s, 4, version) || !get(s, 6, c.method)) return false;
    u32 small = 0;
    if (version == 1) {
        if (!get(s, 8, small)) return false;
        c.original = small;
        c.header = 4 + 2 + 2 + 4 + 8;
        c.file = s.size();
    } else if (version == 2) {
        if (!get(s, 8, small)) return false;
        c.file = small;
        if (!get(s, 12, small)) return false;
        c.original = small;
        c.header = 4 + 2 + 2 + 4 + 4 + 8;
    } else if (version == 3) {
        if (!get(s, 8, c.file) || !get(s, 16, c.original)) return false;
        c.header = 4 + 2 + 2 + 8 + 8 + 8;
    } else {
        bad("compressed format version " + std::to_string(version));
    }
    return c.file >= c.header;
}

// zlib and zstd are loaded only when an image needs them.
std::string decompress(std::string_view s) {
    Compressed c;
    if (!read_header(s, c)) bad("truncated header");
    if (c.file > s.size()) bad("truncated");
    if (c.original > (1ull << 32)) bad("size");
    std::string out(c.original, '\0');
    std::string_view in = s.substr(c.header, c.file - c.header);
    if (c.method == 0) {
        void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
        using Uncompress = int (*)(u8 *, unsigned long *, const u8 *, unsigned long);
        auto uncompress = lib ? reinterpret_cast<Uncompress>(dlsym(lib, "uncompress")) : nullptr;
        if (!uncompress) throw Error(HIPEMU_TOOLCHAIN, "zlib (libz.so.1) is needed to read this compressed code object");
        unsigned long n = out.size();
        if (uncompress(reinterpret_cast<u8 *>(out.data()), &n, reinterpret_cast<const u8 *>(in.data()), in.size()) || n != out.size()) bad("zlib data");
    } else if (c.method == 1) {
        void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        using Decompress = size_t (*)(void *, size_t, const void *, size_t);
        auto run = lib ? reinterpret_cast<Decompress>(dlsym(lib, "ZSTD_decompress")) : nullptr;
        if (!run) throw Error(HIPEMU_TOOLCHAIN, "zstd (libzstd.so.1) is needed to read this compressed code object");
        if (run(out.data(), out.size(), in.data(), in.size()) != out.size()) bad("zstd data");
    } else {
        bad("compression method " + std::to_string(c.method));
    }
    return out;
}

// "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" -> "gfx942:xnack-"
std::string processor_of(std::string_view id) {
    size_t at = id.find("gfx");
    return at == id.npos ? "" : std::string(id.substr(at));
}

} // namespace

std::string_view find_code_object(std::string_view image, const TargetInfo *target, std::string &storage) {
    if (image.substr(0, 4) == "CCOB") {
        storage = decompress(image);
        image = storage;
    }
    if (image.substr(0, kMagic.size()) != kMagic) return image;
    u64 n = 0;
    if (!get(image, 24, n) || n > 4096) bad("entry count");
    size_t at = 32;
    std::string seen;
    for (u64 k = 0; k < n; ++k) {
        u64 offset, bytes, id_bytes;
        if (!get(image, at, offset) || !get(image, at + 8, bytes) || !get(image, at + 16, id_bytes) || id_bytes > 4096 || at + 24 + id_bytes > image.size()) bad("truncated");
        std::string_view id = image.substr(at + 24, id_bytes);
        at += 24 + id_bytes;
        std::string processor = processor_of(id);
        if (processor.empty()) continue;
        seen += (seen.empty() ? "" : ", ") + processor;
        if (processor.substr(0, processor.find(':')) != target->name || processor.find("xnack+") != processor.npos) continue;
        if (offset > image.size() || bytes > image.size() - offset) bad("truncated");
        return image.substr(offset, bytes);
    }
    throw Error(HIPEMU_WRONG_TARGET, std::string("no code for ") + target->name + " (the bundle has " + (seen.empty() ? "none" : seen) + ")");
}

size_t image_bytes(const u8 *image) {
    if (!image) return 0;
    if (!std::memcmp(image, "CCOB", 4)) {
        Compressed c;
        std::string_view header(reinterpret_cast<const char *>(image), 32);
        u16 version;
        get(header, 4, version);
        if (version == 1) return 0;
        return read_header(header, c) ? c.file : 0;
    }
    if (!std::memcmp(image, "\177ELF", 4)) {
        // Section headers come last.
        u64 shoff;
        u16 shentsize, shnum;
        std::memcpy(&shoff, image + 40, 8);
        std::memcpy(&shentsize, image + 58, 2);
        std::memcpy(&shnum, image + 60, 2);
        return shoff + u64(shentsize) * shnum;
    }
    if (std::memcmp(image, kMagic.data(), kMagic.size())) return 0;
    u64 n, end = 0;
    std::memcpy(&n, image + 24, 8);
    if (n > 4096) return 0;
    const u8 *p = image + 32;
    for (u64 k = 0; k < n; ++k) {
        u64 offset, bytes, id_bytes;
        std::memcpy(&offset, p, 8);
        std::memcpy(&bytes, p + 8, 8);
        std::memcpy(&id_bytes, p + 16, 8);
        if (id_bytes > 4096) return 0;
        p += 24 + id_bytes;
        end = std::max(end, offset + bytes);
    }
    return std::max<u64>(end, u64(p - image));
}

} // namespace hipemu
