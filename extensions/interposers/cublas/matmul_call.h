// One call of cublasLtMatmul as a problem of attune, or the reason why it is none. Pure: the
// content of the opaque descriptors is an argument.
#pragma once

#include <cstdint>

#include <cublasLt.h>

#include "extensions/interposers/cublas/gemm_call.h"

namespace attune::cublas {

// The content of a cublasLtMatrixLayout_t.
struct MatrixLayout {
  cudaDataType type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0;
  uint64_t columns = 0;
  int64_t leading = 0;
  int32_t batch_count = 1;
  int64_t stride = 0;
  int64_t plane_offset = 0;
  uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;

  friend bool operator==(const MatrixLayout&, const MatrixLayout&) = default;
};

// The content of a cublasLtMatmulDesc_t, as far as attune supports it.
struct MatmulOperation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t trans_a = CUBLAS_OP_N;
  cublasOperation_t trans_b = CUBLAS_OP_N;
  cublasOperation_t trans_c = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;  // Read with the next two only if the epilogue adds it.
  int32_t bias_type = -1;      // The type of D.
  int64_t bias_stride = 0;
  bool has_scales = false;  // A, B, C or D has one, or the maximum of D is requested.
};

struct MatmulCall {
  MatmulOperation operation;
  const void* alpha;
  const void* a;
  MatrixLayout a_layout;
  const void* b;
  MatrixLayout b_layout;
  const void* beta;
  const void* c;
  MatrixLayout c_layout;
  void* d;
  MatrixLayout d_layout;
  cudaStream_t stream;
};

// True if attune has this epilogue. It lacks GELU: the library's is the tanh form.
bool IsKnownEpilogue(uint32_t epilogue);
bool AddsBias(uint32_t epilogue);

// kServed if attune can compute the call, and then `product` is complete; else the reason.
Outcome Describe(const MatmulCall& call, Product& product);

}  // namespace attune::cublas
