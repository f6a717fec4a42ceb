// What cuBLASLt has and hipBLASLt lacks: descriptors that live on the stack, and epilogues with another meaning.
//
// Sources: cuBLAS documentation, "cublasLtMatmulDescInit" and "cublasLtEpilogue_t" (RELU_AUX writes a bit mask of one bit
// per element); hipblaslt.h (the descriptor types are opaque and only ...Create makes them; RELU_AUX writes the full
// values before the activation, sixteen times as many bytes for half precision).
#pragma once

#include <hipport/blas.h>

#include <hipblaslt/hipblaslt.h>

#include <stdexcept>
#include <string>

// The cuBLAS whose interface the output has: gates on CUBLAS_VERSION compare with this.
#define HIPPORT_CUBLAS_VERSION 110800

namespace hipport::blaslt {

// A descriptor as a local variable. `&descriptor` is what the C functions take, as with CUDA's opaque structs; the object
// behind it is made by ..._init and released with the variable.
template <class Handle, hipblasStatus_t (*Destroy)(Handle)>
class descriptor {
 public:
  struct address {
    descriptor* owner;
    operator Handle() const { return owner->handle_; }
  };

  descriptor() = default;
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { release(); }

  address operator&() { return {this}; }

  template <class... Arguments, class... Given>
  hipblasStatus_t create(hipblasStatus_t (*make)(Handle*, Arguments...), Given... given) {
    release();
    const hipblasStatus_t status = make(&handle_, given...);
    if (status != HIPBLAS_STATUS_SUCCESS) handle_ = nullptr;
    return status;
  }

 private:
  void release() {
    if (handle_ != nullptr) (void)Destroy(handle_);
    handle_ = nullptr;
  }

  Handle handle_ = nullptr;
};

using matmul_desc = descriptor<hipblasLtMatmulDesc_t, hipblasLtMatmulDescDestroy>;
using matrix_layout = descriptor<hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutDestroy>;
using matmul_preference = descriptor<hipblasLtMatmulPreference_t, hipblasLtMatmulPreferenceDestroy>;
using matrix_transform_desc = descriptor<hipblasLtMatrixTransformDesc_t, hipblasLtMatrixTransformDescDestroy>;

inline hipblasStatus_t matmul_desc_init(matmul_desc::address desc, hipblasComputeType_t compute, hipDataType scale) {
  return desc.owner->create(hipblasLtMatmulDescCreate, compute, scale);
}

inline hipblasStatus_t matrix_layout_init(matrix_layout::address layout, hipDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld) {
  return layout.owner->create(hipblasLtMatrixLayoutCreate, type, rows, cols, ld);
}

inline hipblasStatus_t matmul_preference_init(matmul_preference::address preference) {
  return preference.owner->create(hipblasLtMatmulPreferenceCreate);
}

inline hipblasStatus_t matrix_transform_desc_init(matrix_transform_desc::address desc, hipDataType scale) {
  return desc.owner->create(hipblasLtMatrixTransformDescCreate, scale);
}

// An epilogue that hipBLASLt lacks or computes differently. Using it throws: another epilogue in its place would compute
// something else in silence.
struct missing_epilogue {
  const char* name;
  operator hipblasLtEpilogue_t() const {
    throw std::runtime_error(std::string("hipBLASLt has no epilogue that does what ") + name + " does in cuBLASLt");
  }
};

inline constexpr missing_epilogue relu_aux{"CUBLASLT_EPILOGUE_RELU_AUX"};
inline constexpr missing_epilogue relu_aux_bias{"CUBLASLT_EPILOGUE_RELU_AUX_BIAS"};
inline constexpr missing_epilogue drelu{"CUBLASLT_EPILOGUE_DRELU"};
inline constexpr missing_epilogue drelu_bgrad{"CUBLASLT_EPILOGUE_DRELU_BGRAD"};

}  // namespace hipport::blaslt
