// PTX instructions as functions, for code that was inline PTX. One function per instruction; the name is the instruction
// with its mode, the template argument its type. Half-precision values are passed as bits, as PTX registers hold them.
//
// Source of every meaning: PTX ISA, chapter 9, "Instruction set".
#pragma once

#include <hipport/ptx_convert.h>
#include <hipport/ptx_float.h>
#include <hipport/ptx_integer.h>
#include <hipport/ptx_memory.h>
#include <hipport/ptx_video.h>
#include <hipport/ptx_warp.h>

// Where PTX could not be carried over: an error with the reason, if and only if device code that reaches it is built.
#define HIPPORT_UNSUPPORTED_PTX(reason)                                              \
  do {                                                                               \
    struct hipport_unsupported_ptx {                                                 \
      __attribute__((error(reason))) static __device__ void here();                  \
    };                                                                               \
    hipport_unsupported_ptx::here();                                                 \
  } while (false)
