// The content of cuBLASLt's opaque descriptors. They are read anew at every call, because programs
// make them for a call and reuse their addresses.
#pragma once

#include "extensions/interposers/cublas/matmul_call.h"

namespace attune::cublas {

// The functions of the library that created the descriptors.
struct MatmulReader {
  decltype(&cublasLtMatmulDescGetAttribute) operation_attribute;
  decltype(&cublasLtMatrixLayoutGetAttribute) layout_attribute;

  // False if the library does not return a value, as for a null descriptor. Skips attributes that
  // no later step uses, because each takes a call.
  bool Read(cublasLtMatmulDesc_t descriptor, MatmulOperation& operation) const;
  bool Read(cublasLtMatrixLayout_t descriptor, MatrixLayout& layout) const;
};

}  // namespace attune::cublas
