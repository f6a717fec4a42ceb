// Launch bounds with CUDA's meaning.
//
// CUDA's second argument of __launch_bounds__ is the number of blocks that a multiprocessor should hold; HIP's is the
// number of wavefronts per execution unit (SIMD). A block of `threads` threads is ceil(threads / W) wavefronts, and a
// workgroup processor spreads them over its execution units:
//
//   gfx9 (CDNA): W = 64, 4 SIMDs per compute unit.
//   gfx10 and later (RDNA): W = 32, 4 SIMDs per workgroup processor, 2 per compute unit in CU mode.
//
// Sources: HIP programming guide, "__launch_bounds__"; AMD CDNA3 and RDNA3 ISA guides, "Program organization";
// LLVM AMDGPUUsage, attribute "amdgpu-waves-per-eu".
#pragma once

namespace hipport {

// Wavefronts per execution unit that keep `blocks` workgroups of `threads` threads resident. Only the value in the
// device pass matters. At least 1, at most what the hardware can hold.
__attribute__((host, device)) constexpr int waves_per_eu(long long threads, long long blocks) {
#if defined(__GFX9__) || !defined(__HIP_DEVICE_COMPILE__)
  constexpr long long wave_size = 64;
  constexpr long long execution_units = 4;
  constexpr long long most = 8;
#else
  constexpr long long wave_size = 32;
#if defined(__AMDGCN_CUMODE__) && __AMDGCN_CUMODE__
  constexpr long long execution_units = 2;
#else
  constexpr long long execution_units = 4;
#endif
  constexpr long long most = 16;
#endif
  const long long waves = blocks * ((threads + wave_size - 1) / wave_size);
  const long long per_unit = (waves + execution_units - 1) / execution_units;
  return static_cast<int>(per_unit < 1 ? 1 : per_unit > most ? most : per_unit);
}

}  // namespace hipport
