// hipBLAS calls whose C++ overloads cuBLAS has and hipBLAS lacks.
//
// Sources: cuBLAS documentation, "cublasGemmEx" (the overload with cudaDataType as compute type, and the compute type it stands
// for); hipBLAS documentation, "hipblasGemmEx" and HIPBLAS_V2.
#pragma once

#ifndef HIPBLAS_V2
#define HIPBLAS_V2  // hipDataType and hipblasComputeType_t in the signatures of hipBLAS before 3.0
#endif
#include <hipblas/hipblas.h>

namespace hipport {

inline hipblasStatus_t gemm_ex(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m, int n,
                               int k, const void* alpha, const void* a, hipDataType a_type, int lda, const void* b,
                               hipDataType b_type, int ldb, const void* beta, void* c, hipDataType c_type, int ldc,
                               hipblasComputeType_t compute_type, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                       compute_type, algorithm);
}

// The overload from before compute types: a data type says how products are summed.
inline hipblasStatus_t gemm_ex(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m, int n,
                               int k, const void* alpha, const void* a, hipDataType a_type, int lda, const void* b,
                               hipDataType b_type, int ldb, const void* beta, void* c, hipDataType c_type, int ldc,
                               hipDataType compute_type, hipblasGemmAlgo_t algorithm) {
  hipblasComputeType_t type;
  switch (compute_type) {
    case HIP_R_16F: type = HIPBLAS_COMPUTE_16F; break;
    case HIP_R_32F:
    case HIP_C_32F: type = HIPBLAS_COMPUTE_32F; break;
    case HIP_R_64F:
    case HIP_C_64F: type = HIPBLAS_COMPUTE_64F; break;
    case HIP_R_32I: type = HIPBLAS_COMPUTE_32I; break;
    default: return HIPBLAS_STATUS_NOT_SUPPORTED;
  }
  return gemm_ex(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, type,
                 algorithm);
}

}  // namespace hipport
