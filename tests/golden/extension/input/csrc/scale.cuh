// Copyright 2026 hipport developers
#pragma once
#include <cuda_runtime.h>

void scale(float *values, float factor, int n, cudaStream_t stream);
