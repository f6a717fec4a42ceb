// clang 22 cannot compile two traps (__builtin_trap, __trap, abort, a failed mask check of HIP's _sync builtins) in one
// function for gfx11.0: "Unsupported instruction" in the backend. Fixed in LLVM 23 (llvm/llvm-project#174774, reported
// for 22.1.8 in #208912). So every trap of a unit becomes a call of the one below. Force-included by hipport.sdk.
#if defined(__gfx1100__)
extern "C" __device__ __attribute__((noinline, noreturn, cold, weak)) void __hipport_trap() { __builtin_trap(); }
#define __builtin_trap() __hipport_trap()
#endif
