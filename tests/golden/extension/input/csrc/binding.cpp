// Copyright 2026 hipport developers
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include "scale.cuh"

void scale_(at::Tensor values, double factor) {
  TORCH_CHECK(values.is_cuda(), "values must be on the GPU");
  const at::cuda::OptionalCUDAGuard guard(values.device());
  scale(values.data_ptr<float>(), float(factor), int(values.numel()), at::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale_", &scale_); }
