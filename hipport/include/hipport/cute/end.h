// See begin.h.
#pragma pop_macro("__CUDA_ARCH__")
#pragma pop_macro("__CUDACC_VER_MINOR__")
#pragma pop_macro("__CUDACC_VER_MAJOR__")
#pragma pop_macro("__CUDA__")
#pragma pop_macro("__CUDACC__")
