// Copyright 2026 hipport developers
#pragma once
#include <hip/hip_runtime.h>

void scale(float *values, float factor, int n, hipStream_t stream);
