// Shared between host and device code of histogram.cu.
#pragma once

constexpr int kBins = 16;

__host__ __device__ inline int bin_of(unsigned value) { return (value >> 3) % kBins; }

__device__ inline void add_to(unsigned* bins, unsigned value) { atomicAdd(&bins[bin_of(value)], 1u); }
