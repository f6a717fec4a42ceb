// The C API: every call catches, so that nothing is thrown into the caller.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <algorithm>
#include <tuple>
#include "launch.h"

using namespace hipemu;

struct hipemu_device : Device {
    using Device::Device;
};
struct hipemu_kernel {
    hipemu_module *module;
    const KernelCode *code;
    std::vector<hipemu_argument> arguments;
};
struct hipemu_module {
    hipemu_device *device;
    Program program;
    std::vector<hipemu_kernel> kernels;
    std::vector<hipemu_variable> variables;
    u64 place = 0;
};

namespace {

thread_local std::string last_error;

hipemu_status fail(hipemu_status status, const std::string &text) {
    last_error = text;
    return status;
}

template <class F> hipemu_status guarded(F &&body) {
    try {
        return body();
    } catch (const Error &e) {
        return fail(e.status, e.what());
    } catch (const Fault &f) {
        return fail(f.status, f.message);
    } catch (const std::bad_alloc &) {
        return fail(HIPEMU_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception &e) {
        return fail(HIPEMU_INTERNAL, e.what());
    }
}

std::string text_or(const char *given, const char *variable, const std::string &otherwise) {
    if (given) return given;
    const char *set = getenv(variable);
    return set && *set ? set : otherwise;
}

std::string default_cache() {
    if (const char *c = getenv("HIPPORT_CACHE"); c && *c) return std::string(c) + "/emulator/programs";
    if (const char *x = getenv("XDG_CACHE_HOME"); x && *x) return std::string(x) + "/hipport/emulator/programs";
    const char *home = getenv("HOME");
    return home ? std::string(home) + "/.cache/hipport/emulator/programs" : "";
}

void fill_hidden(const KernelCode &k, const Launch &launch, Device &device, u32 dynamic_lds, u8 *kernarg) {
    auto put = [&](const Argument &a, u64 value) { std::memcpy(kernarg + a.offset, &value, std::min<u32>(a.bytes, 8)); };
    for (const Argument &a : k.arguments) {
        const std::string &n = a.kind;
        if (n.rfind("hidden_", 0) != 0) continue;
        std::string what = n.substr(7);
        auto dimension = [&](const char *prefix) { return what.size() > strlen(prefix) && what.rfind(prefix, 0) == 0 ? what.back() - 'x' : -1; };
        int d;
        if ((d = dimension("block_count_")) >= 0) put(a, launch.grid[d] / launch.block[d]);
        else if ((d = dimension("group_size_")) >= 0) put(a, launch.block[d]);
        else if ((d = dimension("remainder_")) >= 0) put(a, launch.grid[d] % launch.block[d]);
        else if ((d = dimension("global_offset_")) >= 0) put(a, 0);
        else if (what == "grid_dims") put(a, launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1);
        else if (what == "dynamic_lds_size") put(a, dynamic_lds);
        else if (what == "private_base") put(a, kPrivateBase >> 32);
        else if (what == "shared_base") put(a, kSharedBase >> 32);
        else if (what == "hostcall_buffer") put(a, device.hostcall.buffer_address());
        else if (what == "heap_v1") put(a, device.hostcall.heap_address());
        else if (what == "queue_ptr") put(a, launch.dispatch_packet + 64);
        else if (what == "multigrid_sync_arg") put(a, launch.multigrid);
        else if (what == "none" || what == "default_queue" || what == "completion_action" || what == "printf_buffer") put(a, 0);
        else throw Error(HIPEMU_UNIMPLEMENTED, "hidden argument " + n + " of kernel " + k.name);
    }
}

bool takes_hidden(const KernelCode &k, std::string_view kind) {
    return std::any_of(k.arguments.begin(), k.arguments.end(), [&](const Argument &a) { return a.kind == kind; });
}

} // namespace

namespace hipemu {

Device::Device(const TargetInfo *t, u64 arena_bytes, u64 memory_bytes)
    : target(t), arena(arena_bytes, memory_bytes), hostcall({
          [this](size_t bytes, size_t alignment) -> void * {
              try {
                  return reinterpret_cast<void *>(arena.allocate(bytes, alignment, HIPEMU_MEMORY_DEVICE, 0));
              } catch (const Error &) {
                  return nullptr;
              }
          },
          [this](void *p) {
              try {
                  arena.release(u64(p));
              } catch (const Error &) {
              }
          },
          [this](int stream, const char *text, size_t bytes) { print(hipemu_stream(stream), {text, bytes}); },
      }) {}

void Device::print(hipemu_stream stream, std::string_view text) {
    std::lock_guard lock(output_mutex);
    if (output) output(output_user, stream, text.data(), text.size());
    else {
        FILE *f = stream == HIPEMU_STDERR ? stderr : stdout;
        fwrite(text.data(), 1, text.size(), f);
        fflush(f);
    }
}

Finding Launch::describe(const Wave *w, const Inst *i, const char *id, const std::string &message, int lane, u64 address) const {
    Finding f;
    f.id = id;
    f.message = message;
    f.kernel = kernel->name;
    f.pc = i ? i->address - program->bias : 0;
    if (i) f.instruction = i->text;
    if (i && !program->lines.empty()) {
        auto after = std::upper_bound(program->lines.begin(), program->lines.end(), i->address, [](u64 a, const Line &l) { return a < l.address; });
        if (after != program->lines.begin() && std::prev(after)->line) {
            f.source_line = std::prev(after)->line;
            if (std::prev(after)->file < program->files.size()) f.source_file = program->files[std::prev(after)->file];
        }
    }
    if (w && w->group) {
        for (int d = 0; d < 3; ++d) f.workgroup[d] = w->group->id[d];
        f.wave = w->index;
    }
    f.lane = u32(lane);
    f.address = address;
    return f;
}

void Launch::report(const Wave *w, const Inst *i, const char *id, const std::string &message, int lane, u64 address, hipemu_status fatal) {
    std::lock_guard lock(mutex);
    if (fatal != HIPEMU_OK) {
        if (status == HIPEMU_OK) {
            status = fatal;
            error = message;
            if (i && i->address) error += " (kernel " + kernel->name + ", instruction '" + i->text + "')";
        }
        stop = true;
    } else if (options.stop_at_finding) {
        stop = true;
    }
    u64 pc = i ? i->address - program->bias : 0;
    auto key = std::make_pair(std::string(id), pc);
    std::lock_guard findings_lock(device->findings_mutex);
    auto found = seen.find(key);
    if (found != seen.end()) {
        if (found->second < device->findings.size()) {
            Finding &first = device->findings[found->second];
            ++first.occurrences;
            // Threads arrive in any order: the place that is named is the first in the order of the grid.
            if (w && w->group && std::make_tuple(w->group->id[2], w->group->id[1], w->group->id[0], w->index) <
                                     std::make_tuple(first.workgroup[2], first.workgroup[1], first.workgroup[0], first.wave)) {
                const auto occurrences = first.occurrences;
                first = describe(w, i, id, message, lane, address);
                first.occurrences = occurrences;
            }
        }
        return;
    }
    if (kept >= (options.max_findings ? options.max_findings : 64)) {
        ++dropped;
        return;
    }
    Finding f = describe(w, i, id, message, lane, address);
    seen[key] = device->findings.size();
    device->findings.push_back(std::move(f));
    ++kept;
}

} // namespace hipemu

extern "C" {

uint32_t hipemu_api_version(void) { return HIPEMU_API_VERSION; }
const char *hipemu_error_text(void) { return last_error.c_str(); }

hipemu_status hipemu_device_create(const char *target, const hipemu_config *config, hipemu_device **out) {
    return guarded([&] {
        if (!target || !out) return fail(HIPEMU_INVALID_ARGUMENT, "target and out must not be NULL");
        const TargetInfo *info = find_target(target);
        if (!info) return fail(HIPEMU_WRONG_TARGET, std::string("unknown target ") + target);
        u64 arena = config && config->arena_bytes ? config->arena_bytes : 64ull << 30;
        u64 memory = config && config->memory_bytes ? config->memory_bytes : 16ull << 30;
        auto device = std::make_unique<hipemu_device>(info, arena, memory);
        device->objdump = text_or(config ? config->objdump : nullptr, "HIPPORT_OBJDUMP", "llvm-objdump");
        device->cache_dir = config && config->cache_dir ? config->cache_dir : default_cache();
        *out = device.release();
        return HIPEMU_OK;
    });
}

void hipemu_device_destroy(hipemu_device *device) { delete device; }

hipemu_status hipemu_options_get(hipemu_device *device, hipemu_options *out) {
    if (!device || !out || out->struct_bytes < sizeof(hipemu_options)) return fail(HIPEMU_INVALID_ARGUMENT, "options struct");
    const Options &o = device->options;
    *out = {out->struct_bytes, o.threads, o.deterministic, o.checks, o.max_instructions, o.poison, o.quantum, o.reverse_waves, o.max_findings, o.stop_at_finding, o.host_copies};
    return HIPEMU_OK;
}

hipemu_status hipemu_options_set(hipemu_device *device, const hipemu_options *o) {
    if (!device || !o || o->struct_bytes < sizeof(hipemu_options)) return fail(HIPEMU_INVALID_ARGUMENT, "options struct");
    if (o->checks & ~u32(HIPEMU_CHECK_ALL)) return fail(HIPEMU_INVALID_ARGUMENT, "unknown check bits");
    std::lock_guard lock(device->launch_mutex);
    device->options = {o->threads, o->deterministic, o->checks, o->max_instructions, o->poison, o->quantum, o->reverse_waves, o->max_findings, o->stop_at_finding, o->host_copies};
    return HIPEMU_OK;
}

void hipemu_output_set(hipemu_device *device, hipemu_output_fn function, void *user) {
    if (!device) return;
    std::lock_guard lock(device->output_mutex);
    device->output = function;
    device->output_user = user;
}

hipemu_status hipemu_alloc(hipemu_device *device, uint64_t bytes, uint64_t alignment, hipemu_memory_kind kind, uint32_t flags, void **out) {
    return guarded([&] {
        if (!device || !out) return fail(HIPEMU_INVALID_ARGUMENT, "device and out must not be NULL");
        *out = reinterpret_cast<void *>(device->arena.allocate(bytes, alignment, kind, flags));
        if (device->undefined.any()) device->undefined.mark(device->arena, u64(*out), bytes, 0);
        if (device->options.checks & (HIPEMU_CHECK_BOUNDS | HIPEMU_CHECK_UNINITIALISED) && kind == HIPEMU_MEMORY_DEVICE && bytes <= (256u << 20)) {
            u32 *words = static_cast<u32 *>(*out);
            std::fill_n(words, bytes / 4, device->options.poison);
        }
        return HIPEMU_OK;
    });
}

hipemu_status hipemu_free(hipemu_device *device, void *pointer) {
    return guarded([&] {
        if (!device || !pointer) return fail(HIPEMU_INVALID_ARGUMENT, "device and pointer must not be NULL");
        device->arena.release(u64(pointer));
        return HIPEMU_OK;
    });
}

hipemu_status hipemu_find_allocation(hipemu_device *device, const void *pointer, hipemu_allocation *out) {
    Allocation a;
    if (!device || !out) return fail(HIPEMU_INVALID_ARGUMENT, "device and out must not be NULL");
    if (!device->arena.find(u64(pointer), a)) return fail(HIPEMU_NOT_FOUND, "no live allocation contains the pointer");
    *out = {reinterpret_cast<void *>(a.base), a.bytes, a.kind, a.flags};
    return HIPEMU_OK;
}

size_t hipemu_allocations(hipemu_device *device, hipemu_allocation *out, size_t capacity) {
    if (!device) return 0;
    std::vector<Allocation> all = device->arena.live();
    for (size_t k = 0; k < all.size() && k < capacity && out; ++k) out[k] = {reinterpret_cast<void *>(all[k].base), all[k].bytes, all[k].kind, all[k].flags};
    return all.size();
}

hipemu_status hipemu_register_host(hipemu_device *device, void *pointer, uint64_t bytes, uint32_t flags) {
    return guarded([&] {
        if (!device) return fail(HIPEMU_INVALID_ARGUMENT, "device must not be NULL");
        device->arena.register_host(u64(pointer), bytes, flags);
        return HIPEMU_OK;
    });
}
hipemu_status hipemu_unregister_host(hipemu_device *device, void *pointer) {
    return guarded([&] {
        if (!device) return fail(HIPEMU_INVALID_ARGUMENT, "device must not be NULL");
        device->arena.unregister_host(u64(pointer));
        return HIPEMU_OK;
    });
}
void hipemu_memory_info(hipemu_device *device, uint64_t *total, uint64_t *free) {
    u64 t = 0, f = 0;
    if (device) device->arena.info(t, f);
    if (total) *total = t;
    if (free) *free = f;
}

uint64_t hipemu_copied(hipemu_device *device, const void *to, const void *from, uint64_t bytes) {
    if (!device || !bytes || !device->undefined.any()) return 0;
    u64 added = 0;
    if (from && device->arena.contains(u64(from), bytes) && !device->arena.contains(u64(to), bytes)) {
        std::vector<Finding> found = device->undefined.take(device->arena, u64(from), bytes);
        std::lock_guard lock(device->findings_mutex);
        for (Finding &f : found) device->findings.push_back(std::move(f));
        added = found.size();
    } else {
        device->undefined.copied(device->arena, u64(to), u64(from), bytes);
    }
    return added;
}

hipemu_status hipemu_module_load(hipemu_device *device, const void *image, size_t bytes, hipemu_module **out) {
    return guarded([&] {
        if (!device || !image || !out) return fail(HIPEMU_INVALID_ARGUMENT, "device, image and out must not be NULL");
        auto module = std::make_unique<hipemu_module>();
        module->device = device;
        module->program.objdump = device->objdump;
        module->program.cache_dir = device->cache_dir;
        std::string storage;
        std::string_view elf = find_code_object({static_cast<const char *>(image), bytes}, device->target, storage);
        auto place = [](void *context, u64 n) {
            auto *m = static_cast<hipemu_module *>(context);
            m->place = m->device->arena.allocate(n, 65536, HIPEMU_MEMORY_MODULE, 0);
            return reinterpret_cast<void *>(m->place);
        };
        try {
            load_elf(module->program, elf, device->target, place, module.get());
        } catch (...) {
            if (module->place) device->arena.release(module->place);
            throw;
        }
        for (const KernelCode &k : module->program.kernels) {
            hipemu_kernel kernel{module.get(), &k, {}};
            for (const Argument &a : k.arguments) kernel.arguments.push_back({a.offset, a.bytes, a.kind.c_str(), a.name.c_str()});
            module->kernels.push_back(std::move(kernel));
        }
        for (const Symbol &s : module->program.symbols)
            if (!s.function && s.bytes) module->variables.push_back({s.name.c_str(), reinterpret_cast<void *>(s.address), s.bytes});
        *out = module.release();
        return HIPEMU_OK;
    });
}

void hipemu_module_unload(hipemu_module *module) {
    if (!module) return;
    std::lock_guard lock(module->device->launch_mutex);
    try {
        module->device->arena.release(module->place);
    } catch (const Error &) {
    }
    delete module;
}

size_t hipemu_image_bytes(const void *image) { return image_bytes(static_cast<const u8 *>(image)); }

size_t hipemu_module_kernel_count(hipemu_module *module) { return module ? module->kernels.size() : 0; }
hipemu_kernel *hipemu_module_kernel_at(hipemu_module *module, size_t index) {
    return module && index < module->kernels.size() ? &module->kernels[index] : nullptr;
}
hipemu_status hipemu_module_kernel(hipemu_module *module, const char *name, hipemu_kernel **out) {
    if (!module || !name || !out) return fail(HIPEMU_INVALID_ARGUMENT, "module, name and out must not be NULL");
    for (hipemu_kernel &k : module->kernels)
        if (k.code->name == name) { *out = &k; return HIPEMU_OK; }
    return fail(HIPEMU_NOT_FOUND, std::string("no kernel named ") + name);
}
hipemu_status hipemu_kernel_info_get(hipemu_kernel *kernel, hipemu_kernel_info *out) {
    if (!kernel || !out || out->struct_bytes < sizeof(hipemu_kernel_info)) return fail(HIPEMU_INVALID_ARGUMENT, "kernel info struct");
    const KernelCode &k = *kernel->code;
    *out = {out->struct_bytes, k.name.c_str(), k.kernarg_bytes, k.explicit_bytes, k.lds_bytes, k.private_bytes, k.dynamic_stack, k.wave_size,
            k.max_workgroup, k.vgprs, k.agprs, k.sgprs, k.vgpr_spills, k.sgpr_spills, u32(kernel->arguments.size()), kernel->arguments.data()};
    return HIPEMU_OK;
}

size_t hipemu_module_variable_count(hipemu_module *module) { return module ? module->variables.size() : 0; }
hipemu_status hipemu_module_variable_at(hipemu_module *module, size_t index, hipemu_variable *out) {
    if (!module || !out || index >= module->variables.size()) return fail(HIPEMU_INVALID_ARGUMENT, "variable index");
    *out = module->variables[index];
    return HIPEMU_OK;
}
hipemu_status hipemu_module_variable(hipemu_module *module, const char *name, hipemu_variable *out) {
    if (!module || !name || !out) return fail(HIPEMU_INVALID_ARGUMENT, "module, name and out must not be NULL");
    for (const hipemu_variable &v : module->variables)
        if (!strcmp(v.name, name)) { *out = v; return HIPEMU_OK; }
    return fail(HIPEMU_NOT_FOUND, std::string("no variable named ") + name);
}
hipemu_status hipemu_module_symbol(hipemu_module *module, const char *name, uint64_t *address) {
    if (!module || !name || !address) return fail(HIPEMU_INVALID_ARGUMENT, "module, name and address must not be NULL");
    for (const Symbol &s : module->program.symbols)
        if (s.name == name) { *address = s.address; return HIPEMU_OK; }
    return fail(HIPEMU_NOT_FOUND, std::string("no symbol named ") + name);
}

hipemu_status hipemu_pack_arguments(hipemu_kernel *kernel, void *const *args, size_t n_args, void *buffer, size_t buffer_bytes) {
    if (!kernel || !buffer) return fail(HIPEMU_INVALID_ARGUMENT, "kernel and buffer must not be NULL");
    const KernelCode &k = *kernel->code;
    if (buffer_bytes < k.explicit_bytes) return fail(HIPEMU_INVALID_ARGUMENT, "the buffer is smaller than the explicit arguments");
    size_t n = 0;
    for (const Argument &a : k.arguments)
        if (a.kind.rfind("hidden_", 0) != 0) ++n;
    if (n_args != size_t(-1) && n_args != n)
        return fail(HIPEMU_INVALID_ARGUMENT, "kernel " + k.name + " takes " + std::to_string(n) + " arguments, got " + std::to_string(n_args));
    size_t at = 0;
    for (const Argument &a : k.arguments) {
        if (a.kind.rfind("hidden_", 0) == 0) continue;
        if (!args || !args[at]) return fail(HIPEMU_INVALID_ARGUMENT, "argument " + std::to_string(at) + " is NULL");
        std::memcpy(static_cast<u8 *>(buffer) + a.offset, args[at++], a.bytes);
    }
    return HIPEMU_OK;
}

hipemu_status hipemu_launch_kernel(hipemu_kernel *kernel, const hipemu_launch *l, hipemu_result *result) {
    hipemu_status status = guarded([&] {
        if (!kernel || !l || l->struct_bytes < sizeof(hipemu_launch)) return fail(HIPEMU_INVALID_ARGUMENT, "launch struct");
        hipemu_device &device = *kernel->module->device;
        const Program &program = kernel->module->program;
        const KernelCode &k = *kernel->code;
        std::lock_guard lock(device.launch_mutex);
        Launch launch;
        launch.device = &device;
        launch.program = &program;
        launch.kernel = &k;
        launch.options = device.options;
        u64 threads = 1;
        for (int d = 0; d < 3; ++d) {
            launch.grid[d] = l->grid[d];
            launch.block[d] = l->block[d];
            if (!l->grid[d] || !l->block[d]) return fail(HIPEMU_INVALID_ARGUMENT, "grid and block dimensions must not be 0");
            launch.groups[d] = u32((u64(l->grid[d]) + l->block[d] - 1) / l->block[d]);
            threads *= l->block[d];
            if (threads > 4096) return fail(HIPEMU_INVALID_ARGUMENT, "too many threads in a block");
        }
        if (threads > 1024) return fail(HIPEMU_INVALID_ARGUMENT, "a block has at most 1024 threads, this one " + std::to_string(threads));
        if (threads > k.max_workgroup)
            return fail(HIPEMU_RESOURCES, "kernel " + k.name + " was compiled for at most " + std::to_string(k.max_workgroup) + " threads per block, not " + std::to_string(threads));
        u64 lds = u64(k.lds_bytes) + l->dynamic_lds_bytes;
        if (lds > program.target->lds_bytes)
            return fail(HIPEMU_RESOURCES, "kernel " + k.name + " needs " + std::to_string(lds) + " bytes of LDS, " + program.target->name + " has " + std::to_string(program.target->lds_bytes));
        launch.lds_bytes = u32((lds + 3) / 4 * 4);
        u64 scratch = k.private_bytes;
        if (k.dynamic_stack) scratch = std::max<u64>(scratch, 16384);
        if (scratch > (256u << 10))
            return fail(HIPEMU_RESOURCES, "kernel " + k.name + " needs " + std::to_string(scratch) + " bytes of scratch per lane, at most 262144 are supported");
        launch.scratch_bytes = u32((scratch + 15) / 16 * 16);
        launch.threads_per_group = u32(threads);
        launch.waves_per_group = u32((threads + k.wave_size - 1) / k.wave_size);
        launch.cooperative = l->cooperative;
        if (l->kernarg_bytes < k.explicit_bytes && !(l->kernarg_bytes == 0 && k.explicit_bytes == 0))
            return fail(HIPEMU_INVALID_ARGUMENT, "kernel " + k.name + " needs " + std::to_string(k.explicit_bytes) + " bytes of arguments, got " + std::to_string(l->kernarg_bytes));
        u64 groups = u64(launch.groups[0]) * launch.groups[1] * launch.groups[2];
        if (launch.cooperative && groups > 4096) return fail(HIPEMU_RESOURCES, "too many blocks for a cooperative launch: " + std::to_string(groups));

        // Kernarg segment, dispatch packet and a queue: outside of the arena, so that no store of a kernel changes them.
        u64 kernarg_bytes = std::max<u64>(k.kernarg_bytes, l->kernarg_bytes);
        launch.segment_bytes = (kernarg_bytes + 255) / 256 * 256 + 8192;
        std::vector<u8> memory(launch.segment_bytes + 256);
        launch.segment = (u64(memory.data()) + 255) / 256 * 256;
        launch.dispatch_packet = launch.segment + launch.segment_bytes - 8192;
        auto put = [](u64 address, auto value) { std::memcpy(reinterpret_cast<u8 *>(address), &value, sizeof value); };
        // Record of grid synchronisation (device library, cg.cl), which kernels store to: barrier words at 32, workgroups at 40.
        struct Record {
            Arena &arena;
            u64 at = 0;
            ~Record() { if (at) arena.release(at); }
        } record{device.arena};
        launch.multigrid = l->multigrid_sync_arg;
        if (!launch.multigrid && takes_hidden(k, "hidden_multigrid_sync_arg")) {
            launch.multigrid = record.at = device.arena.allocate(256, 256, HIPEMU_MEMORY_MODULE, 0);
            std::memset(reinterpret_cast<u8 *>(record.at), 0, 256);
            put(record.at + 12, u32(1));
            put(record.at + 24, u64(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
            put(record.at + 40, u32(groups));
        }
        u8 *kernarg = reinterpret_cast<u8 *>(launch.segment);
        if (l->kernarg_bytes) std::memcpy(kernarg, l->kernarg, l->kernarg_bytes);
        fill_hidden(k, launch, device, l->dynamic_lds_bytes, kernarg);
        launch.kernarg = kernarg;
        const u64 packet = launch.dispatch_packet, queue = packet + 64;
        put(packet, u16(2));
        put(packet + 2, u16(3));
        for (u32 d = 0; d < 3; ++d) { put(packet + 4 + 2 * d, u16(launch.block[d])); put(packet + 12 + 4 * d, launch.grid[d]); }
        put(packet + 24, launch.scratch_bytes);
        put(packet + 28, launch.lds_bytes);
        put(packet + 40, launch.segment);
        put(queue + 0x40, u32(kSharedBase >> 32)); // amd_queue_t: group and private aperture
        put(queue + 0x44, u32(kPrivateBase >> 32));
        u64 first = device.findings.size();
        run_launch(launch);
        device.hostcall.service();
        if (launch.status != HIPEMU_OK) device.hostcall.reset();
        device.totals.add(launch.statistics);
        if (result && result->struct_bytes >= sizeof(hipemu_result)) {
            const Statistics &s = launch.statistics;
            result->first_finding = first;
            result->n_findings = launch.kept;
            result->n_dropped = launch.dropped;
            result->statistics = {s.instructions, s.waves, s.workgroups, s.nanoseconds, s.lds_accesses, s.lds_conflict_cycles, s.global_accesses,
                                  s.global_segments, s.global_minimum, s.mfma, s.scratch_bytes, s.cpu_nanoseconds};
        }
        return launch.status == HIPEMU_OK ? HIPEMU_OK : fail(launch.status, launch.error);
    });
    if (result && result->struct_bytes >= sizeof(hipemu_result)) result->status = status;
    return status;
}

void hipemu_statistics_get(hipemu_device *device, hipemu_statistics *out) {
    if (!device || !out) return;
    const Statistics &s = device->totals;
    *out = {s.instructions, s.waves, s.workgroups, s.nanoseconds, s.lds_accesses, s.lds_conflict_cycles, s.global_accesses, s.global_segments,
            s.global_minimum, s.mfma, s.scratch_bytes, s.cpu_nanoseconds};
}

hipemu_status hipemu_occupancy(hipemu_kernel *kernel, uint32_t block_threads, uint32_t dynamic_lds, uint32_t *out) {
    if (!kernel || !out || !block_threads || block_threads > 1024) return fail(HIPEMU_INVALID_ARGUMENT, "block size");
    const KernelCode &k = *kernel->code;
    const TargetInfo &t = *kernel->module->program.target;
    u32 waves = (block_threads + k.wave_size - 1) / k.wave_size;
    u32 vgprs = std::max(1u, t.generation <= Generation::gfx950 ? std::max(k.vgprs, k.agprs ? k.vgprs : k.vgprs) : k.vgprs);
    u32 granule = t.vgpr_granule, allocated = (vgprs + granule - 1) / granule * granule;
    u32 per_simd = std::min(t.max_waves_per_simd, t.vgprs / allocated), slots = per_simd * t.simds;
    u32 by_waves = slots / waves;
    u64 lds = u64(k.lds_bytes) + dynamic_lds;
    u32 by_lds = lds ? u32(t.lds_bytes / lds) : 32;
    *out = std::min({by_waves, by_lds, 32u});
    return HIPEMU_OK;
}

size_t hipemu_finding_count(hipemu_device *device) {
    if (!device) return 0;
    std::lock_guard lock(device->findings_mutex);
    return device->findings.size();
}
hipemu_status hipemu_finding_at(hipemu_device *device, size_t index, hipemu_finding *out) {
    if (!device || !out) return fail(HIPEMU_INVALID_ARGUMENT, "device and out must not be NULL");
    std::lock_guard lock(device->findings_mutex);
    if (index >= device->findings.size()) return fail(HIPEMU_NOT_FOUND, "finding index");
    const Finding &f = device->findings[index];
    *out = {f.id.c_str(), f.message.c_str(), f.kernel.c_str(), f.instruction.c_str(), f.source_file.c_str(), f.source_line, f.pc,
            {f.workgroup[0], f.workgroup[1], f.workgroup[2]}, f.wave, f.lane, f.address, f.occurrences};
    return HIPEMU_OK;
}
void hipemu_findings_clear(hipemu_device *device) {
    if (!device) return;
    std::lock_guard lock(device->findings_mutex);
    device->findings.clear();
}

hipemu_status hipemu_run_wave(hipemu_module *module, hipemu_wave_state *state) {
    return guarded([&] {
        if (!module || !state || state->struct_bytes < sizeof(hipemu_wave_state)) return fail(HIPEMU_INVALID_ARGUMENT, "wave state struct");
        std::lock_guard lock(module->device->launch_mutex);
        return run_single_wave(*module->device, module->program, *state);
    });
}

size_t hipemu_opcode_count(void) { return op_count(); }
hipemu_status hipemu_opcode_at(size_t index, hipemu_opcode *out) {
    static const char *units[] = {"control", "salu", "smem", "valu", "lds", "memory", "matrix"};
    static const char *types[] = {"-", "b32", "u32", "i32", "f32", "b16", "u16", "i16", "f16", "bf16", "b64", "u64", "i64", "f64", "pk16", "pkf16", "pkf32", "mask", "wide"};
    static std::vector<std::string> texts = [] {
        std::vector<std::string> all(op_count());
        for (size_t k = 0; k < all.size(); ++k)
            for (Type t : op_at(k)->types) all[k] += (all[k].empty() ? "" : " ") + std::string(types[int(t)]);
        return all;
    }();
    if (!out || index >= op_count()) return fail(HIPEMU_INVALID_ARGUMENT, "opcode index");
    const Op &op = *op_at(index);
    *out = {op.name, units[int(op.unit)], texts[index].c_str(), op.exactness};
    return HIPEMU_OK;
}

hipemu_status hipemu_kernel_visit(hipemu_kernel *kernel, hipemu_visit_fn visit, void *user) {
    return guarded([&] {
        if (!kernel || !visit) return fail(HIPEMU_INVALID_ARGUMENT, "kernel and visit must not be NULL");
        const Program &program = kernel->module->program;
        u64 begin = kernel->code->entry, end = 0;
        (void)instruction_at(program, begin);
        for (const Symbol &s : program.symbols)
            if (s.function && begin >= s.address && begin < s.address + s.bytes) end = s.address + s.bytes;
        std::lock_guard lock(program.mutex);
        for (const auto &r : program.regions) {
            if (!r->decoded || begin < r->begin || begin >= r->end) continue;
            for (const Inst &i : r->code) {
                if (i.text == std::string_view("(end of code)")) break; // the second halves of dual instructions follow
                if (i.address < begin || i.address >= (end ? end : r->end)) continue;
                visit(user, i.address - program.bias, i.text, i.run != run_missing && (!i.second || (i.second->run != run_missing && i.second[1].run != run_missing)));
            }
        }
        return HIPEMU_OK;
    });
}

} // extern "C"
