// Settings, the monitor, start-up and shutdown, error state.
#include <dlfcn.h>

#include <cerrno>
#include <climits>
#include <fstream>

#include "runtime.h"

namespace hiprt {
namespace {

struct ThreadState {
  hipError_t last_error = hipSuccess;    // hipGetLastError
  hipError_t last_command = hipSuccess;  // hipExtGetLastError: the result of the last call, success included
  int device = 0;
};
thread_local ThreadState thread_state;

hipemu_device* the_machine = nullptr;

bool read_number(const char* name, unsigned long long limit, unsigned long long* out, std::string* error) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return false;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || *end != 0 || *text == '-' || value > limit) {
    *error = std::string(name) + "=" + text + " is not a number from 0 to " + std::to_string(limit);
    return false;
  }
  *out = value;
  return true;
}

uint32_t read_checks(const char* text, std::string* error) {
  static const std::map<std::string, uint32_t> names = {
      {"0", 0},
      {"none", 0},
      {"1", HIPEMU_CHECK_ALL},
      {"all", HIPEMU_CHECK_ALL},
      {"bounds", HIPEMU_CHECK_BOUNDS},
      {"uninitialised", HIPEMU_CHECK_UNINITIALISED},
      {"races", HIPEMU_CHECK_RACES},
      {"barriers", HIPEMU_CHECK_BARRIERS},
      {"waitcnt", HIPEMU_CHECK_WAITCNT},
      {"masks", HIPEMU_CHECK_MASKS},
      {"banks", HIPEMU_CHECK_BANKS},
  };
  uint32_t checks = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto found = names.find(std::string(rest.substr(0, comma)));
    if (found == names.end()) {
      *error = "HIPPORT_CHECKS: unknown check \"" + std::string(rest.substr(0, comma)) +
               "\" (all, bounds, uninitialised, races, barriers, waitcnt, masks, banks)";
      return 0;
    }
    checks |= found->second;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return checks;
}

Settings read_settings() {
  Settings settings;
  std::string& error = settings.error;
  if (const char* target = std::getenv("HIPPORT_TARGET"); target && *target) settings.target = target;
  if (const char* path = std::getenv("HIPPORT_STATS")) settings.stats_path = path;
  unsigned long long number = 0;
  if (read_number("HIPPORT_DEVICES", 16, &number, &error)) settings.devices = static_cast<int>(number);
  return settings;
}

void read_options(hipemu_options* options, std::string* error) {
  unsigned long long number = 0;
  if (read_number("HIPPORT_THREADS", 1024, &number, error)) options->threads = static_cast<uint32_t>(number);
  if (read_number("HIPPORT_DETERMINISTIC", 1, &number, error)) options->deterministic = static_cast<uint32_t>(number);
  if (read_number("HIPPORT_MAX_INSTRUCTIONS", ULLONG_MAX, &number, error)) options->max_instructions = number;
  if (const char* checks = std::getenv("HIPPORT_CHECKS")) options->checks = read_checks(checks, error);
}

Settings& mutable_settings() {
  static Settings the_settings = read_settings();
  return the_settings;
}

std::string json_text(const char* text) {
  std::string out = "\"";
  for (const char* c = text ? text : ""; *c; ++c) {
    if (*c == '"' || *c == '\\') out += '\\';
    if (static_cast<unsigned char>(*c) >= 0x20) out += *c;
  }
  return out + '"';
}

void write_statistics() {
  if (settings().stats_path.empty() || the_machine == nullptr) return;
  FILE* file = std::fopen(settings().stats_path.c_str(), "w");
  if (file == nullptr) {
    report_once("cannot write " + settings().stats_path + " (HIPPORT_STATS)");
    return;
  }
  hipemu_statistics s{};
  hipemu_statistics_get(the_machine, &s);
  const std::pair<const char*, uint64_t> counters[] = {
      {"instructions", s.instructions},         {"waves", s.waves},
      {"workgroups", s.workgroups},             {"nanoseconds", s.nanoseconds},
      {"lds_accesses", s.lds_accesses},         {"lds_conflict_cycles", s.lds_conflict_cycles},
      {"global_accesses", s.global_accesses},   {"global_segments", s.global_segments},
      {"global_minimum", s.global_minimum},     {"mfma_instructions", s.mfma_instructions},
      {"scratch_bytes", s.scratch_bytes},       {"launches", launches_started()},
      {"cpu_nanoseconds", s.cpu_nanoseconds},
  };
  std::fprintf(file, "{\"target\": %s", json_text(settings().target.c_str()).c_str());
  for (const auto& [name, value] : counters) std::fprintf(file, ", \"%s\": %llu", name, (unsigned long long)value);
  std::fprintf(file, ", \"findings\": [");
  const size_t n = hipemu_finding_count(the_machine);
  for (size_t i = 0; i < n; ++i) {
    hipemu_finding f{};
    if (hipemu_finding_at(the_machine, i, &f) != HIPEMU_OK) continue;
    std::fprintf(file, "%s{\"id\": %s, \"message\": %s, \"kernel\": %s, \"instruction\": %s, \"file\": %s, \"line\": %u, "
                 "\"occurrences\": %llu}", i ? ", " : "", json_text(f.id).c_str(), json_text(f.message).c_str(),
                 json_text(f.kernel).c_str(), json_text(f.instruction).c_str(), json_text(f.source_file).c_str(),
                 f.source_line, (unsigned long long)f.occurrences);
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

// What device code printed to stderr last; an assert is told from another trap by its message.
std::string& last_device_stderr() {
  static std::string text;
  return text;
}

void print_from_device(void*, hipemu_stream stream, const char* text, size_t bytes) {
  FILE* file = stream == HIPEMU_STDERR ? stderr : stdout;
  std::fwrite(text, 1, bytes, file);
  if (stream == HIPEMU_STDERR) last_device_stderr().assign(text, bytes);
}

// llvm-objdump of the SDK that this library was built for: its path lies beside the library.
std::string own_objdump() {
  Dl_info info{};
  if (std::getenv("HIPPORT_OBJDUMP") != nullptr || dladdr(reinterpret_cast<void*>(&hipInit), &info) == 0) return "";
  const std::string library = info.dli_fname;
  std::ifstream file(library.substr(0, library.find_last_of('/') + 1) + "objdump.path");
  std::string path;
  std::getline(file, path);
  return path;
}

hipError_t start() {
  Settings& chosen = mutable_settings();
  if (!chosen.error.empty()) {
    report_once(chosen.error);
    return hipErrorNoDevice;
  }
  if (chosen.devices == 0) return hipErrorNoDevice;
  hipemu_config config{};
  config.struct_bytes = sizeof config;
  const std::string objdump = own_objdump();
  if (!objdump.empty()) config.objdump = objdump.c_str();
  if (hipemu_device_create(chosen.target.c_str(), &config, &the_machine) != HIPEMU_OK) {
    report_once(std::string("no emulated device: ") + hipemu_error_text());
    return hipErrorNoDevice;
  }
  chosen.options.struct_bytes = sizeof chosen.options;
  hipemu_options_get(the_machine, &chosen.options);
  chosen.options.host_copies = 1;
  read_options(&chosen.options, &chosen.error);
  if (!chosen.error.empty() || hipemu_options_set(the_machine, &chosen.options) != HIPEMU_OK) {
    report_once(chosen.error.empty() ? hipemu_error_text() : chosen.error);
    return hipErrorNoDevice;
  }
  hipemu_output_set(the_machine, print_from_device, nullptr);
  std::atexit(write_statistics);
  return make_devices() ? hipSuccess : hipErrorNoDevice;
}

}  // namespace

const Settings& settings() { return mutable_settings(); }
hipemu_device* machine() { return the_machine; }

std::mutex& monitor() {
  static std::mutex& lock = *new std::mutex;  // outlives static destructors of the program
  return lock;
}

hipError_t start_runtime() {
  static const hipError_t outcome = start();
  return outcome;
}

void report_once(const std::string& line) {
  static std::set<std::string>& said = *new std::set<std::string>;
  static std::mutex& lock = *new std::mutex;
  std::lock_guard<std::mutex> guard(lock);
  if (said.insert(line).second) std::fprintf(stderr, "hipport: %s\n", line.c_str());
}

hipError_t refuse(const char* name, const char* reason) {
  report_once(std::string(name) + " is not implemented: hipErrorNotSupported (" + reason + ")");
  return record(hipErrorNotSupported);
}

hipError_t record(hipError_t error) {
  thread_state.last_command = error;
#if HIP_VERSION_MAJOR >= 7
  // HIP 7 ("HIP API 7.0 changes"): successes and hipErrorNotReady leave an earlier error in place.
  if (error != hipSuccess && error != hipErrorNotReady) thread_state.last_error = error;
#else
  thread_state.last_error = error;  // HIP 6: the result of the last call, success included
#endif
  return error;
}

hipError_t sticky_error() { return device().fault; }

bool assertion_failed() {
  const bool failed = last_device_stderr().find("Device-side assertion") != std::string::npos;
  last_device_stderr().clear();
  return failed;
}

int current_device() { return thread_state.device; }
void set_current_device(int ordinal) { thread_state.device = ordinal; }

hipError_t peek_error() { return thread_state.last_error; }
hipError_t take_error() { return std::exchange(thread_state.last_error, hipSuccess); }
hipError_t take_command_error() { return std::exchange(thread_state.last_command, hipSuccess); }

}  // namespace hiprt

using namespace hiprt;

extern "C" {

// HIP's last-error calls report; they do not count as calls that have a result of their own.
hipError_t hipGetLastError() { return take_error(); }
hipError_t hipExtGetLastError() { return take_command_error(); }
hipError_t hipPeekAtLastError() { return peek_error(); }

hipError_t hipInit(unsigned int flags) {
  return api([&] { return flags == 0 ? hipSuccess : hipErrorInvalidValue; });
}

hipError_t hipDriverGetVersion(int* version) {
  return api([&] {
    if (version == nullptr) return hipErrorInvalidValue;
    *version = HIP_VERSION;
    return hipSuccess;
  });
}

hipError_t hipRuntimeGetVersion(int* version) {
  return api([&] {
    if (version == nullptr) return hipErrorInvalidValue;
    *version = HIP_VERSION;
    return hipSuccess;
  });
}

hipError_t hipProfilerStart() { return api([] { return hipSuccess; }); }
hipError_t hipProfilerStop() { return api([] { return hipSuccess; }); }

// Conversions that older compilers call from host code.
float __gnu_h2f_ieee(unsigned short half) {
  const unsigned sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ffu;
  float value;
  unsigned bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000u | fraction << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    value = static_cast<float>(fraction) * 0x1p-24f;
    std::memcpy(&bits, &value, 4);
    bits |= sign;
  }
  std::memcpy(&value, &bits, 4);
  return value;
}

unsigned short __gnu_f2h_ieee(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  const unsigned short sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return sign | 0x7e00u | (bits >> 13 & 0x3ffu);
  if (bits >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
  if (bits < 0x38800000u) {                        // subnormal half: let the FPU round to a multiple of 2^-24
    float magnitude;
    std::memcpy(&magnitude, &bits, 4);
    const float rounded = magnitude + 0.5f;  // 0.5 has ulp 2^-24
    unsigned rounded_bits;
    std::memcpy(&rounded_bits, &rounded, 4);
    return sign | static_cast<unsigned short>(rounded_bits - 0x3f000000u);
  }
  const unsigned odd = bits >> 13 & 1;
  return sign | static_cast<unsigned short>((bits + 0xfffu + odd - 0x38000000u) >> 13);
}
}

// For the generated stubs of refused symbols.
extern "C" int hiprt_refuse(const char* name, const char* reason) { return refuse(name, reason); }
