// hipRTC: compiles HIP source at run time by calling the SDK's clang.
//
// Beside this library lies `rtc.args`: one line per word, the compiler first, `@TARGET` standing for the processor and
// `@WAVE` for its wave size. The Python side writes it when it builds the library (hipport/hiprt/build.py).
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <vector>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_version.h>
#include <hip/hiprtc.h>

extern char** environ;

struct _hiprtcProgram {
  std::string source, name, log;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  std::vector<std::string> expressions;
  std::map<std::string, std::string> lowered;
  std::string code, bitcode;
};

struct ihiprtcLinkState {
  std::vector<std::string> inputs;   // bitcode
  std::vector<std::string> options;  // for the compiler
  std::string output;
};

namespace {

std::mutex& lock() {
  static auto& the_lock = *new std::mutex;
  return the_lock;
}
std::set<hiprtcLinkState>& live_links() {
  static auto& all = *new std::set<hiprtcLinkState>;
  return all;
}
std::set<hiprtcProgram>& live_programs() {
  static auto& all = *new std::set<hiprtcProgram>;
  return all;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return static_cast<bool>(file.flush());
}

bool read_file(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text->assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

// A folder that removes itself with everything in it.
struct Scratch {
  std::string path;
  std::vector<std::string> files;
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/hipport-rtc-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  ~Scratch() {
    for (auto file = files.rbegin(); file != files.rend(); ++file) std::remove(file->c_str());
    if (!path.empty()) rmdir(path.c_str());
  }
  // Full path of a file in it; folders in the name are made.
  std::string file(const std::string& name) {
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const std::string folder = path + "/" + name.substr(0, slash);
      if (::mkdir(folder.c_str(), 0700) == 0) files.push_back(folder);
    }
    files.push_back(path + "/" + name);
    return files.back();
  }
};

std::vector<std::string> compiler_words(const std::string& target) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&hiprtcVersion), &info) == 0) return {};
  std::string path = info.dli_fname;
  path = path.substr(0, path.find_last_of('/') + 1) + "rtc.args";
  std::ifstream file(path);
  std::vector<std::string> words;
  const std::string processor = target.substr(0, target.find(':'));
  const std::string wave = processor.compare(0, 4, "gfx9") == 0 ? "64" : "32";
  for (std::string line; std::getline(file, line);) {
    for (const auto& [mark, value] : {std::pair<std::string, std::string>{"@TARGET", target}, {"@WAVE", wave}}) {
      for (size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) line.replace(at, mark.size(), value);
    }
    words.push_back(line);
  }
  return words;
}

// Runs a command with stdout and stderr in `log`; true on exit code 0.
bool run(const std::vector<std::string>& words, Scratch& scratch, std::string* log) {
  if (words.empty()) {
    *log += "hipport: rtc.args is missing beside the library: hipRTC has no compiler\n";
    return false;
  }
  const std::string log_path = scratch.file("log.txt");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int started = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    *log += "hipport: cannot start " + words[0] + ": " + std::strerror(started) + "\n";
    return false;
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::string text;
  if (read_file(log_path, &text)) *log += text;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string default_target() {
  const char* target = std::getenv("HIPPORT_TARGET");
  return target != nullptr && *target != 0 ? target : "gfx942";
}

// Options as the caller gave them, without those that hipRTC itself understands.
std::vector<std::string> own_options(int count, const char* const* options, std::string* target, bool* relocatable) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    const size_t equals = option.find('=');
    const std::string key = option.substr(0, equals);
    if (key == "--gpu-architecture" || key == "--offload-arch" || key == "-arch") {
      if (equals != std::string::npos) *target = option.substr(equals + 1);
    } else if (option == "-fgpu-rdc") {
      *relocatable = true;
    } else {
      words.push_back(option);
    }
  }
  return words;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// Each name expression becomes a pointer whose initialiser names the symbol: that instantiates it and gives its mangled name.
std::string with_expressions(const _hiprtcProgram& program) {
  std::string text = program.source + "\n";
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    text += "__device__ __attribute__((used)) const void* const volatile __hipport_name_" + std::to_string(i) + " = (const void*)(" +
            program.expressions[i] + ");\n";
  }
  return text;
}

bool find_lowered(_hiprtcProgram& program, const std::vector<std::string>& command, Scratch& scratch) {
  std::vector<std::string> words = command;
  const std::string ir = scratch.file("names.ll");
  words.insert(words.end(), {"-S", "-emit-llvm", "-O0", "-o", ir});
  std::string text;
  if (!run(words, scratch, &program.log) || !read_file(ir, &text)) return false;
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    const std::string mark = "__hipport_name_" + std::to_string(i);
    const std::regex pattern("@[^\\n]*" + mark + "[^\\n0-9][^\\n]*=[^@\\n]*@\"?([A-Za-z0-9_.$]+)");
    std::smatch match;
    if (!std::regex_search(text, match, pattern)) {
      program.log += "hipport: no symbol found for name expression " + program.expressions[i] + "\n";
      return false;
    }
    program.lowered[program.expressions[i]] = match[1];
  }
  return true;
}

hiprtcResult compile(_hiprtcProgram& program, int count, const char* const* options) {
  Scratch scratch;
  if (scratch.path.empty()) return HIPRTC_ERROR_OUT_OF_MEMORY;
  std::string target = default_target();
  program.log.clear();
  program.lowered.clear();
  program.code.clear();
  program.bitcode.clear();
  bool relocatable = false;
  std::vector<std::string> extra = own_options(count, options, &target, &relocatable);
  std::vector<std::string> command = compiler_words(target);
  command.insert(command.end(), extra.begin(), extra.end());
  command.insert(command.end(), {"-I", scratch.path});
  for (const auto& [name, text] : program.headers) write_file(scratch.file(name), text);
  const std::string name = program.name.empty() || program.name.find('/') != std::string::npos ? "program.hip" : program.name;
  const std::string source = scratch.file(name);
  if (!write_file(source, with_expressions(program))) return HIPRTC_ERROR_OUT_OF_MEMORY;
  command.push_back(source);
  if (!program.expressions.empty() && !find_lowered(program, command, scratch)) return HIPRTC_ERROR_COMPILATION;
  const std::string output = scratch.file("program.out");
  std::vector<std::string> words = command;
  if (relocatable) words.insert(words.end(), {"-fgpu-rdc", "-emit-llvm", "-c"});
  words.insert(words.end(), {"-o", output});
  std::string& result = relocatable ? program.bitcode : program.code;
  if (!run(words, scratch, &program.log) || !read_file(output, &result)) return HIPRTC_ERROR_COMPILATION;
  return HIPRTC_SUCCESS;
}

// Whole-program optimisation of the inputs together: device code may be inlined across them.
bool link_inputs(ihiprtcLinkState& state) {
  Scratch scratch;
  const std::vector<std::string> compiler = compiler_words(default_target());
  if (scratch.path.empty() || compiler.empty()) return false;
  std::vector<std::string> words = {compiler[0], "--target=amdgcn-amd-amdhsa", "-mcpu=" + default_target(), "-O3", "-flto", "-nogpulib"};
  words.insert(words.end(), state.options.begin(), state.options.end());
  for (size_t i = 0; i < state.inputs.size(); ++i) {
    words.push_back(scratch.file("input" + std::to_string(i) + ".bc"));
    if (!write_file(words.back(), state.inputs[i])) return false;
  }
  const std::string output = scratch.file("linked.co");
  words.insert(words.end(), {"-o", output});
  std::string log;
  const bool done = run(words, scratch, &log) && read_file(output, &state.output);
  if (!done) std::fprintf(stderr, "hipport: linking device code failed:\n%s", log.c_str());
  return done;
}

hiprtcResult add_input(hiprtcLinkState state, hipJitInputType type, std::string bytes) {
  std::lock_guard<std::mutex> guard(lock());
  if (live_links().count(state) == 0 || bytes.empty()) return HIPRTC_ERROR_INVALID_INPUT;
  if (type != hipJitInputLLVMBitcode || bytes.compare(0, 2, "BC") != 0) {
    std::fprintf(stderr, "hipport: only LLVM bitcode can be linked (input type %d)\n", static_cast<int>(type));
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  state->inputs.push_back(std::move(bytes));
  return HIPRTC_SUCCESS;
}

hiprtcResult with_program(hiprtcProgram program, hiprtcResult (*body)(_hiprtcProgram&, void*), void* data) {
  std::lock_guard<std::mutex> guard(lock());
  if (live_programs().count(program) == 0) return HIPRTC_ERROR_INVALID_PROGRAM;
  return body(*program, data);
}

template <class Body>
hiprtcResult in_program(hiprtcProgram program, Body body) {
  return with_program(
      program, [](_hiprtcProgram& p, void* data) { return (*static_cast<Body*>(data))(p); }, &body);
}

hiprtcResult put_text(const std::string& text, char* out, bool terminated) {
  if (out == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  std::memcpy(out, text.c_str(), text.size() + (terminated ? 1 : 0));
  return HIPRTC_SUCCESS;
}

}  // namespace


#if HIP_VERSION_MAJOR >= 7
typedef const char* const* TextList;
#else
typedef const char** TextList;
#endif

extern "C" {

hiprtcResult hiprtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  *major = 9;  // the NVRTC interface that hipRTC follows
  *minor = 0;
  return HIPRTC_SUCCESS;
}

const char* hiprtcGetErrorString(hiprtcResult result) {
  switch (result) {
#define TEXT(code) \
  case code:       \
    return #code
    TEXT(HIPRTC_SUCCESS);
    TEXT(HIPRTC_ERROR_OUT_OF_MEMORY);
    TEXT(HIPRTC_ERROR_PROGRAM_CREATION_FAILURE);
    TEXT(HIPRTC_ERROR_INVALID_INPUT);
    TEXT(HIPRTC_ERROR_INVALID_PROGRAM);
    TEXT(HIPRTC_ERROR_INVALID_OPTION);
    TEXT(HIPRTC_ERROR_COMPILATION);
    TEXT(HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE);
    TEXT(HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    TEXT(HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    TEXT(HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    TEXT(HIPRTC_ERROR_INTERNAL_ERROR);
    TEXT(HIPRTC_ERROR_LINKING);
#undef TEXT
    default:
      return "Invalid HIPRTC error code";
  }
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram* out, const char* source, const char* name, int count, TextList headers, TextList names) {
  if (out == nullptr || source == nullptr || count < 0) return HIPRTC_ERROR_INVALID_INPUT;
  if (count > 0 && (headers == nullptr || names == nullptr)) return HIPRTC_ERROR_INVALID_INPUT;
  auto* program = new _hiprtcProgram;
  program->source = source;
  program->name = name != nullptr ? name : "";
  for (int i = 0; i < count; ++i) program->headers.emplace_back(names[i], headers[i]);
  std::lock_guard<std::mutex> guard(lock());
  live_programs().insert(program);
  *out = program;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  std::lock_guard<std::mutex> guard(lock());
  if (live_programs().erase(*program) == 0) return HIPRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char* expression) {
  if (expression == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) {
    if (!p.code.empty() || !p.bitcode.empty()) return HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    p.expressions.push_back(trimmed(expression));
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, TextList options) {
  if (count < 0 || (count > 0 && options == nullptr)) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) { return compile(p, count, options); });
}

hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** out) {
  if (expression == nullptr || out == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) {
    if (p.code.empty() && p.bitcode.empty()) return HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const auto found = p.lowered.find(trimmed(expression));
    if (found == p.lowered.end()) return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *out = found->second.c_str();
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* size) {
  if (size == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) {
    *size = p.log.empty() ? 0 : p.log.size() + 1;
    return HIPRTC_SUCCESS;
  });
}
hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* out) {
  return in_program(program, [&](_hiprtcProgram& p) { return put_text(p.log, out, true); });
}
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* size) {
  if (size == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) {
    *size = p.code.size();
    return HIPRTC_SUCCESS;
  });
}
hiprtcResult hiprtcGetCode(hiprtcProgram program, char* out) {
  return in_program(program, [&](_hiprtcProgram& p) { return put_text(p.code, out, false); });
}
hiprtcResult hiprtcGetBitcodeSize(hiprtcProgram program, size_t* size) {
  if (size == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return in_program(program, [&](_hiprtcProgram& p) {
    if (p.bitcode.empty()) return HIPRTC_ERROR_INVALID_PROGRAM;  // not compiled with -fgpu-rdc
    *size = p.bitcode.size();
    return HIPRTC_SUCCESS;
  });
}
hiprtcResult hiprtcGetBitcode(hiprtcProgram program, char* out) {
  return in_program(program, [&](_hiprtcProgram& p) { return p.bitcode.empty() ? HIPRTC_ERROR_INVALID_PROGRAM : put_text(p.bitcode, out, false); });
}

// ------------------------------------------------------------------------------------------------- linking

hiprtcResult hiprtcLinkCreate(unsigned count, hipJitOption* options, void** values, hiprtcLinkState* out) {
  if (out == nullptr || (count != 0 && (options == nullptr || values == nullptr))) return HIPRTC_ERROR_INVALID_INPUT;
  auto* state = new ihiprtcLinkState;
  const char** words = nullptr;
  size_t n_words = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == hipJitOptionIRtoISAOptExt) words = static_cast<const char**>(values[i]);
    if (options[i] == hipJitOptionIRtoISAOptCountExt) n_words = reinterpret_cast<size_t>(values[i]);
  }
  if (words != nullptr) state->options.assign(words, words + n_words);
  std::lock_guard<std::mutex> guard(lock());
  live_links().insert(state);
  *out = state;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcLinkAddData(hiprtcLinkState state, hipJitInputType type, void* image, size_t size, const char*, unsigned,
                               hipJitOption*, void**) {
  if (image == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  return add_input(state, type, std::string(static_cast<const char*>(image), size));
}

hiprtcResult hiprtcLinkAddFile(hiprtcLinkState state, hipJitInputType type, const char* path, unsigned, hipJitOption*, void**) {
  std::string bytes;
  if (path == nullptr || !read_file(path, &bytes)) return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
  return add_input(state, type, std::move(bytes));
}

hiprtcResult hiprtcLinkComplete(hiprtcLinkState state, void** out, size_t* size) {
  if (out == nullptr || size == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  std::lock_guard<std::mutex> guard(lock());
  if (live_links().count(state) == 0 || state->inputs.empty()) return HIPRTC_ERROR_INVALID_INPUT;
  if (!link_inputs(*state)) return HIPRTC_ERROR_LINKING;
  *out = state->output.data();
  *size = state->output.size();
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcLinkDestroy(hiprtcLinkState state) {
  std::lock_guard<std::mutex> guard(lock());
  if (live_links().erase(state) == 0) return HIPRTC_ERROR_INVALID_INPUT;
  delete state;
  return HIPRTC_SUCCESS;
}
}
