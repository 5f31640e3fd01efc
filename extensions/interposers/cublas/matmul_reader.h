// What the opaque descriptors of cuBLASLt hold. They are read anew at every call, because programs
// make them for a call and reuse their addresses.
#pragma once

#include "extensions/interposers/cublas/matmul_call.h"

namespace attune::cublas {

// The functions of the library that made the descriptors.
struct MatmulReader {
  decltype(&cublasLtMatmulDescGetAttribute) operation_attribute;
  decltype(&cublasLtMatrixLayoutGetAttribute) layout_attribute;

  // False if the library does not tell, as of a descriptor that is null. What no later step asks
  // for is left out, because each attribute takes a call.
  bool Read(cublasLtMatmulDesc_t descriptor, MatmulOperation& operation) const;
  bool Read(cublasLtMatrixLayout_t descriptor, MatrixLayout& layout) const;
};

}  // namespace attune::cublas
