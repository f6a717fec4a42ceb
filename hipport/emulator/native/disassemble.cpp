// LLVM's disassembler as a child process, its output condensed and cached on disk by the hash of the code object.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "program.h"

extern char **environ;

namespace hipemu {

std::string hash_hex(std::string_view data, u64 seed) {
    // Two independent 64-bit multiply-and-fold streams.
    u64 a = 0x9e3779b97f4a7c15ull ^ seed, b = 0xc2b2ae3d27d4eb4full + data.size();
    auto fold = [](u64 x, u64 y) { unsigned __int128 p = static_cast<unsigned __int128>(x) * y; return u64(p) ^ u64(p >> 64); };
    size_t k = 0;
    for (; k + 8 <= data.size(); k += 8) {
        u64 w;
        std::memcpy(&w, data.data() + k, 8);
        a = fold(a ^ w, 0xa0761d6478bd642full);
        b = fold(b + w, 0xe7037ed1a0b428dbull) + a;
    }
    u64 tail = 0;
    std::memcpy(&tail, data.data() + k, data.size() - k);
    a = fold(a ^ tail, 0x8ebc6af09c88c6e3ull);
    b = fold(b + tail, 0x589965cc75374cc3ull) + a;
    char text[40];
    snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    return text;
}

namespace {

constexpr const char *kFormat = "1"; // of the cache entries

void make_folders(const std::string &path) {
    for (size_t at = 1; at < path.size(); ++at)
        if (path[at] == '/') mkdir(path.substr(0, at).c_str(), 0777);
    mkdir(path.c_str(), 0777);
}

bool read_file(const std::string &path, std::string &out) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return false;
    std::stringstream s;
    s << in.rdbuf();
    out = s.str();
    return true;
}

void write_file(const std::string &path, const std::string &data) {
    std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(reinterpret_cast<u64>(&data) & 0xffffff);
    {
        std::ofstream out(temporary, std::ios::binary);
        out << data;
        if (!out) { unlink(temporary.c_str()); return; }
    }
    if (rename(temporary.c_str(), path.c_str())) unlink(temporary.c_str());
}

// Output of a command; no shell. The child does not inherit a preloaded runtime.
std::string capture(const std::vector<std::string> &command) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC)) throw Error(HIPEMU_TOOLCHAIN, "cannot make a pipe");
    std::vector<char *> arguments;
    for (const std::string &a : command) arguments.push_back(const_cast<char *>(a.c_str()));
    arguments.push_back(nullptr);
    std::vector<char *> environment;
    for (char **e = environ; *e; ++e)
        if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "LD_LIBRARY_PATH=", 16)) environment.push_back(*e);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (error) {
        close(pipe_ends[0]);
        throw Error(HIPEMU_TOOLCHAIN, "cannot run the disassembler '" + command[0] + "': set HIPPORT_OBJDUMP to an llvm-objdump with the AMDGPU target");
    }
    std::string out;
    char buffer[65536];
    for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) != 0;) {
        if (n < 0) { if (errno == EINTR) continue; break; }
        out.append(buffer, size_t(n));
    }
    close(pipe_ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status) || WEXITSTATUS(status)) throw Error(HIPEMU_TOOLCHAIN, "the disassembler '" + command[0] + "' failed on the code object");
    return out;
}

// "\ts_nop 0   // 000000001900: BF800000" -> "1900 4 s_nop 0"
std::string condense(const std::string &listing) {
    std::string out;
    out.reserve(listing.size() / 2);
    size_t p = 0;
    while (p < listing.size()) {
        size_t end = listing.find('\n', p);
        if (end == listing.npos) end = listing.size();
        std::string_view line(listing.data() + p, end - p);
        p = end + 1;
        size_t comment = line.rfind("// ");
        if (line.empty() || line[0] != '\t' || comment == line.npos) continue;
        std::string_view place = line.substr(comment + 3);
        size_t colon = place.find(':');
        if (colon == place.npos) continue;
        size_t first = place.find_first_not_of('0');
        std::string_view address = place.substr(first, colon - first);
        size_t words = 0;
        for (size_t k = colon + 1; k + 8 < place.size() + 1;) {
            if (place[k] == ' ') { ++k; continue; }
            size_t digits = 0;
            while (k + digits < place.size() && isxdigit(place[k + digits])) ++digits;
            if (digits != 8) break;
            ++words;
            k += digits;
        }
        std::string_view text = line.substr(1, comment - 1);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        if (address.empty()) address = "0";
        out.append(address);
        out += ' ';
        out += std::to_string(words * 4);
        out += ' ';
        out.append(text);
        out += '\n';
    }
    return out;
}

} // namespace

std::string disassemble(const Program &program, u64 begin, u64 end) {
    char range[64];
    snprintf(range, sizeof range, "-%llx-%llx", static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end));
    std::string cached = program.cache_dir.empty() ? "" : program.cache_dir + "/" + program.identity + range + ".v" + kFormat;
    std::string text;
    if (!cached.empty() && read_file(cached, text) && !text.empty()) return text;
    std::string folder = "/tmp";
    if (const char *t = getenv("TMPDIR")) folder = t;
    std::string path = folder + "/hipport-code-XXXXXX";
    int file = mkstemp(path.data());
    if (file < 0) throw Error(HIPEMU_TOOLCHAIN, "cannot write a temporary file in " + folder);
    const char *data = program.elf.data();
    for (size_t left = program.elf.size(); left;) {
        ssize_t n = write(file, data, left);
        if (n <= 0) { close(file); unlink(path.c_str()); throw Error(HIPEMU_TOOLCHAIN, "cannot write a temporary file in " + folder); }
        data += n;
        left -= size_t(n);
    }
    close(file);
    char from[40], to[40];
    snprintf(from, sizeof from, "--start-address=0x%llx", static_cast<unsigned long long>(begin));
    snprintf(to, sizeof to, "--stop-address=0x%llx", static_cast<unsigned long long>(end));
    try {
        text = condense(capture({program.objdump, "-d", "--triple=amdgcn-amd-amdhsa", std::string("--mcpu=") + program.target->name, from, to, path}));
    } catch (...) {
        unlink(path.c_str());
        throw;
    }
    unlink(path.c_str());
    if (text.empty()) throw Error(HIPEMU_TOOLCHAIN, "the disassembler '" + program.objdump + "' printed no AMDGPU instructions");
    if (!cached.empty()) {
        make_folders(program.cache_dir);
        write_file(cached, text);
    }
    return text;
}

} // namespace hipemu
