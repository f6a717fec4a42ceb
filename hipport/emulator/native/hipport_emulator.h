/* C API of the hipport emulator: runs AMDGPU code objects on the CPU.
 *
 * Used by hipport.emulator (ctypes) and by the drop-in HIP runtime (C++). Rules:
 *  - No call throws; every call that can fail returns a hipemu_status, and hipemu_error_text() of the same thread says why.
 *  - Structs that may grow begin with `struct_bytes`: set it to sizeof the struct you compiled against.
 *  - Device addresses are host addresses: guest memory lives in one reserved arena, so copies are memcpy.
 *  - A device may be used from several threads; launches on one device run one after the other.
 *  - Strings handed out live as long as the object they describe (findings: until hipemu_findings_clear).
 */
#ifndef HIPPORT_EMULATOR_H
#define HIPPORT_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HIPEMU_API __attribute__((visibility("default")))
#else
#define HIPEMU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HIPEMU_API_VERSION 1

typedef struct hipemu_device hipemu_device;
typedef struct hipemu_module hipemu_module;
typedef struct hipemu_kernel hipemu_kernel; /* owned by its module */

typedef enum hipemu_status {
    HIPEMU_OK = 0,
    HIPEMU_INVALID_ARGUMENT = 1,   /* bad pointer, size or geometry */
    HIPEMU_OUT_OF_MEMORY = 2,      /* the arena or the machine has no room */
    HIPEMU_BAD_CODE_OBJECT = 3,    /* truncated, corrupt, not AMDGPU */
    HIPEMU_WRONG_TARGET = 4,       /* no code for this device's target */
    HIPEMU_NOT_FOUND = 5,          /* no such kernel, variable or allocation */
    HIPEMU_UNIMPLEMENTED = 6,      /* opcode, modifier or mode that the emulator refuses to guess */
    HIPEMU_TOOLCHAIN = 7,          /* llvm-objdump is missing or failed */
    HIPEMU_MEMORY_FAULT = 8,       /* access outside guest memory, LDS or scratch; or a bounds finding */
    HIPEMU_DEADLOCK = 9,           /* no wave can make progress */
    HIPEMU_INSTRUCTION_LIMIT = 10, /* max_instructions reached */
    HIPEMU_TRAP = 11,              /* s_trap: device abort(), assert(), __builtin_trap() */
    HIPEMU_RESOURCES = 12,         /* too much LDS, scratch, threads or registers for the target */
    HIPEMU_INTERNAL = 13
} hipemu_status;

HIPEMU_API uint32_t hipemu_api_version(void);
/* Text of the last failed call of this thread; never NULL. */
HIPEMU_API const char *hipemu_error_text(void);

/* ---- device ------------------------------------------------------------------------------------------------- */

typedef struct hipemu_config {
    uint32_t struct_bytes;
    const char *objdump;   /* path of llvm-objdump with AMDGPU; NULL: $HIPPORT_OBJDUMP, then PATH */
    const char *cache_dir; /* decoded programs; NULL: $HIPPORT_CACHE/emulator/programs, then the XDG cache */
    uint64_t arena_bytes;  /* address space to reserve for guest memory; 0: 64 GiB */
    uint64_t memory_bytes; /* what hipemu_memory_info reports as total and allocation may use; 0: 16 GiB */
} hipemu_config;

/* target: LLVM processor name, feature suffixes allowed ("gfx90a:xnack-"). config may be NULL. */
HIPEMU_API hipemu_status hipemu_device_create(const char *target, const hipemu_config *config, hipemu_device **out);
HIPEMU_API void hipemu_device_destroy(hipemu_device *device);

enum { /* checks: bitmask of hipemu_options.checks; the range test on every global access is always on */
    HIPEMU_CHECK_BOUNDS = 1 << 0,        /* global, LDS and scratch accesses stay inside what was allocated; use after free */
    HIPEMU_CHECK_UNINITIALISED = 1 << 1, /* LDS and registers never written reach an output, an address or a branch */
    HIPEMU_CHECK_RACES = 1 << 2,         /* LDS words touched by two waves without a barrier between them */
    HIPEMU_CHECK_BARRIERS = 1 << 3,      /* waves at different barriers, or gone while others wait */
    HIPEMU_CHECK_WAITCNT = 1 << 4,       /* a result used before the s_waitcnt that it needs */
    HIPEMU_CHECK_MASKS = 1 << 5,         /* HIP _sync calls whose mask is not the active lanes */
    HIPEMU_CHECK_BANKS = 1 << 6,         /* count LDS bank conflicts and coalescing (statistics, no findings) */
    HIPEMU_CHECK_ALL = (1 << 7) - 1
};

typedef struct hipemu_options {
    uint32_t struct_bytes;
    uint32_t threads;          /* worker threads; 0: one per CPU */
    uint32_t deterministic;    /* 1: same bits for any thread count, float atomics included (default 1) */
    uint32_t checks;           /* HIPEMU_CHECK_*; default 0 */
    uint64_t max_instructions; /* wave-instructions per launch; 0: no limit */
    uint32_t poison;           /* pattern in registers and LDS before the first write; default 0xCDCDCDCD */
    uint32_t quantum;          /* wave-instructions before another wave gets its turn; 0: default */
    uint32_t reverse_waves;    /* 1: run waves of a workgroup in reverse order (tests independence of order) */
    uint32_t max_findings;     /* per launch; further ones are only counted; 0: default 64 */
    uint32_t stop_at_finding;  /* 1: the launch ends at its first finding (default 0) */
    uint32_t host_copies;      /* 1: the caller reports its copies with hipemu_copied, so that an uninitialised value stored to
                                * memory is a finding only when it reaches the host (default 0: when it is stored) */
} hipemu_options;

HIPEMU_API hipemu_status hipemu_options_get(hipemu_device *device, hipemu_options *out);
HIPEMU_API hipemu_status hipemu_options_set(hipemu_device *device, const hipemu_options *options);

typedef enum hipemu_stream { HIPEMU_STDOUT = 1, HIPEMU_STDERR = 2 } hipemu_stream;
/* Receives text printed by device code (printf, assert). Called from worker threads, one call at a time. */
typedef void (*hipemu_output_fn)(void *user, hipemu_stream stream, const char *text, size_t bytes);
/* NULL restores the default: write to this process's stdout/stderr. */
HIPEMU_API void hipemu_output_set(hipemu_device *device, hipemu_output_fn function, void *user);

/* ---- memory ------------------------------------------------------------------------------------------------- */

typedef enum hipemu_memory_kind {
    HIPEMU_MEMORY_DEVICE = 0,
    HIPEMU_MEMORY_HOST = 1,    /* hipHostMalloc */
    HIPEMU_MEMORY_MANAGED = 2, /* hipMallocManaged */
    HIPEMU_MEMORY_MODULE = 3,  /* code and variables of a loaded code object */
    HIPEMU_MEMORY_REGISTERED = 4 /* hipHostRegister: outside the arena */
} hipemu_memory_kind;

typedef struct hipemu_allocation {
    void *base;
    uint64_t bytes;
    uint32_t kind; /* hipemu_memory_kind */
    uint32_t flags; /* as given to hipemu_alloc */
} hipemu_allocation;

/* alignment: power of two, 0 for 256. `flags` is the caller's (kept, reported by hipemu_find_allocation). Contents are
 * poisoned only when bounds or uninitialised checks are on. bytes 0 is an error. */
HIPEMU_API hipemu_status hipemu_alloc(hipemu_device *device, uint64_t bytes, uint64_t alignment, hipemu_memory_kind kind,
                                      uint32_t flags, void **out);
/* pointer: exactly what hipemu_alloc returned. Freed memory stays quarantined for a while to find use after free. */
HIPEMU_API hipemu_status hipemu_free(hipemu_device *device, void *pointer);
/* The live allocation that contains `pointer` (interior pointers allowed). HIPEMU_NOT_FOUND otherwise. */
HIPEMU_API hipemu_status hipemu_find_allocation(hipemu_device *device, const void *pointer, hipemu_allocation *out);
/* Live allocations in address order: writes at most `capacity`, returns how many there are. */
HIPEMU_API size_t hipemu_allocations(hipemu_device *device, hipemu_allocation *out, size_t capacity);
/* Let kernels use ordinary host memory in place. Unregister before the memory goes away. */
HIPEMU_API hipemu_status hipemu_register_host(hipemu_device *device, void *pointer, uint64_t bytes, uint32_t flags);
HIPEMU_API hipemu_status hipemu_unregister_host(hipemu_device *device, void *pointer);
HIPEMU_API void hipemu_memory_info(hipemu_device *device, uint64_t *total_bytes, uint64_t *free_bytes);

/* Tell the uninitialised check that the caller moved memory (after the move). from NULL: a fill. Copies between guest
 * memory carry undefined bytes along, copies to the host report them. Returns how many findings that added. */
HIPEMU_API uint64_t hipemu_copied(hipemu_device *device, const void *to, const void *from, uint64_t bytes);

/* ---- modules ------------------------------------------------------------------------------------------------ */

/* image: an AMDGPU ELF, or a clang offload bundle / fat binary (compressed or not) that has one for this target. The bytes
 * are copied. */
HIPEMU_API hipemu_status hipemu_module_load(hipemu_device *device, const void *image, size_t bytes, hipemu_module **out);
HIPEMU_API void hipemu_module_unload(hipemu_module *module);
/* Size of the bundle or ELF that starts at `image` when its length is not known (__hipRegisterFatBinary); 0: not one. */
HIPEMU_API size_t hipemu_image_bytes(const void *image);

typedef struct hipemu_argument {
    uint32_t offset; /* in the kernarg segment */
    uint32_t bytes;
    const char *kind; /* metadata .value_kind: "global_buffer", "by_value", "dynamic_shared_pointer", "hidden_..." */
    const char *name; /* may be "" */
} hipemu_argument;

typedef struct hipemu_kernel_info {
    uint32_t struct_bytes;
    const char *name; /* symbol without ".kd" */
    uint32_t kernarg_bytes;
    uint32_t explicit_kernarg_bytes; /* up to the first hidden argument */
    uint32_t lds_bytes;              /* static */
    uint32_t private_bytes;          /* scratch per lane, static part */
    uint32_t dynamic_stack;
    uint32_t wavefront_size;
    uint32_t max_workgroup_size;
    uint32_t vgprs, agprs, sgprs;
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t n_arguments; /* hidden ones included */
    const hipemu_argument *arguments;
} hipemu_kernel_info;

HIPEMU_API size_t hipemu_module_kernel_count(hipemu_module *module);
HIPEMU_API hipemu_kernel *hipemu_module_kernel_at(hipemu_module *module, size_t index);
/* HIPEMU_NOT_FOUND when there is none of that (mangled) name. */
HIPEMU_API hipemu_status hipemu_module_kernel(hipemu_module *module, const char *name, hipemu_kernel **out);
HIPEMU_API hipemu_status hipemu_kernel_info_get(hipemu_kernel *kernel, hipemu_kernel_info *out);

typedef struct hipemu_variable {
    const char *name;
    void *address;
    uint64_t bytes;
} hipemu_variable;
HIPEMU_API size_t hipemu_module_variable_count(hipemu_module *module);
HIPEMU_API hipemu_status hipemu_module_variable_at(hipemu_module *module, size_t index, hipemu_variable *out);
HIPEMU_API hipemu_status hipemu_module_variable(hipemu_module *module, const char *name, hipemu_variable *out);

/* ---- launch ------------------------------------------------------------------------------------------------- */

/* Copies the arguments args[i] points at to their offsets. buffer: at least explicit_kernarg_bytes. n_args: how many
 * pointers `args` holds, or (size_t)-1 when the caller does not know (as hipLaunchKernel). */
HIPEMU_API hipemu_status hipemu_pack_arguments(hipemu_kernel *kernel, void *const *args, size_t n_args, void *buffer,
                                               size_t buffer_bytes);

typedef struct hipemu_launch {
    uint32_t struct_bytes;
    uint32_t grid[3];  /* work-ITEMS per dimension (HSA): CUDA grid * block unless a partial last workgroup is wanted */
    uint32_t block[3]; /* work-items of a workgroup */
    uint32_t dynamic_lds_bytes;
    const void *kernarg; /* explicit arguments; hidden ones are filled in by the emulator */
    uint32_t kernarg_bytes;
    uint32_t cooperative; /* 1: all workgroups are live at once; refused when they do not fit */
    uint64_t multigrid_sync_arg; /* value of hidden_multigrid_sync_arg (multi-device launches); 0: one grid's record, see
                                  * hipemu_launch_kernel */
} hipemu_launch;

typedef struct hipemu_statistics {
    uint64_t instructions; /* wave-instructions */
    uint64_t waves;
    uint64_t workgroups;
    uint64_t nanoseconds;         /* wall clock */
    uint64_t lds_accesses;        /* with HIPEMU_CHECK_BANKS: LDS wave-instructions ... */
    uint64_t lds_conflict_cycles; /* ... and cycles beyond the conflict-free minimum */
    uint64_t global_accesses;     /* with HIPEMU_CHECK_BANKS: global wave-instructions ... */
    uint64_t global_segments;     /* ... 64-byte segments that they touch ... */
    uint64_t global_minimum;      /* ... and the least number that the same bytes need */
    uint64_t mfma_instructions;
    uint64_t scratch_bytes; /* high water mark of scratch reserved */
    uint64_t cpu_nanoseconds; /* of the worker threads, added up */
} hipemu_statistics;

typedef struct hipemu_result {
    uint32_t struct_bytes;
    int32_t status;         /* same as the return value */
    uint64_t first_finding; /* index of this launch's first finding */
    uint64_t n_findings;    /* kept */
    uint64_t n_dropped;     /* counted beyond max_findings */
    hipemu_statistics statistics;
} hipemu_result;

/* Runs to completion. HIPEMU_OK does not mean "no findings": look at result. result may be NULL. */
HIPEMU_API hipemu_status hipemu_launch_kernel(hipemu_kernel *kernel, const hipemu_launch *launch, hipemu_result *result);
/* Sums over all launches of the device. */
HIPEMU_API void hipemu_statistics_get(hipemu_device *device, hipemu_statistics *out);
/* Workgroups of this geometry that one compute unit holds (registers, LDS, wave slots of the target). */
HIPEMU_API hipemu_status hipemu_occupancy(hipemu_kernel *kernel, uint32_t block_threads, uint32_t dynamic_lds_bytes,
                                          uint32_t *workgroups_per_cu);

/* ---- findings ----------------------------------------------------------------------------------------------- */

typedef struct hipemu_finding {
    const char *id;          /* "HP850" ... */
    const char *message;     /* one line */
    const char *kernel;
    const char *instruction; /* disassembly */
    const char *source_file; /* from DWARF; "" when unknown */
    uint32_t source_line;    /* 0 when unknown */
    uint64_t pc;             /* offset in the code object */
    uint32_t workgroup[3];
    uint32_t wave;           /* in its workgroup */
    uint32_t lane;
    uint64_t address;        /* memory address, LDS offset or register number; 0 when it concerns none */
    uint64_t occurrences;    /* same id, pc and kernel are folded into the first */
} hipemu_finding;

HIPEMU_API size_t hipemu_finding_count(hipemu_device *device);
HIPEMU_API hipemu_status hipemu_finding_at(hipemu_device *device, size_t index, hipemu_finding *out);
HIPEMU_API void hipemu_findings_clear(hipemu_device *device);

/* ---- one instruction at a time (tests, oracles) ------------------------------------------------------------- */

typedef struct hipemu_wave_state {
    uint32_t struct_bytes;
    uint32_t scc;
    uint32_t mode;      /* MODE register: round bits 0-3, denormals 4-7, DX10 clamp 8, IEEE 9 */
    uint32_t lds_bytes; /* size of `lds` */
    uint8_t *lds;       /* may be NULL */
    uint64_t pc;        /* in: address of the first instruction. out: where it stopped */
    uint64_t max_instructions; /* 0: until s_endpgm */
    uint64_t instructions;     /* out */
    uint32_t sgpr[128];     /* 106, 107: vcc; 124: m0; 126, 127: exec */
    uint32_t vgpr[512][64]; /* 256 + n: accumulation register n; wave32 uses lanes 0-31 */
} hipemu_wave_state;

/* Runs one wave from state->pc (an address inside a loaded module) until s_endpgm or the limit. */
HIPEMU_API hipemu_status hipemu_run_wave(hipemu_module *module, hipemu_wave_state *state);
/* Address of a symbol (function, kernel entry, label) of the module. */
HIPEMU_API hipemu_status hipemu_module_symbol(hipemu_module *module, const char *name, uint64_t *address);

/* ---- the semantics table ------------------------------------------------------------------------------------- */

typedef struct hipemu_opcode {
    const char *mnemonic;  /* without encoding suffix (_e32, _sdwa, ...) */
    const char *unit;      /* salu, smem, valu, lds, memory, matrix, control */
    const char *operands;  /* types, e.g. "f32 f32 f32": destination first */
    const char *exactness; /* exact, or the tolerance ("1 ulp") */
} hipemu_opcode;

HIPEMU_API size_t hipemu_opcode_count(void);
HIPEMU_API hipemu_status hipemu_opcode_at(size_t index, hipemu_opcode *out);

/* Instructions of a kernel (everything between its entry and the end of its symbol): calls `visit` with offset, text and 1
 * when implemented. */
typedef void (*hipemu_visit_fn)(void *user, uint64_t offset, const char *text, int implemented);
HIPEMU_API hipemu_status hipemu_kernel_visit(hipemu_kernel *kernel, hipemu_visit_fn visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
