// Stands for PyTorch's checks where a kernel is built without PyTorch: the caller asks hipGetLastError.
#pragma once

#define C10_HIP_CHECK(expression) (void)(expression)
#define C10_HIP_KERNEL_LAUNCH_CHECK()
#define C10_CUDA_CHECK(expression) (void)(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK()
