// The products that gemm_choice is about.
#pragma once

#include <string>
#include <vector>

#include "attune/ops/gemm/gemm.h"

namespace attune {

struct NamedGemm {
  std::string family;  // "square", "skinny", "vector", "im2col", "odd" or "batch".
  Gemm gemm;
};

// Some thirty products in f32: the sizes that programs use (powers of two), the thin ones that BLAS
// libraries neglect, those that ResNet-50's convolutions turn into, and sizes that divide by
// nothing.
std::vector<NamedGemm> GemmChoiceShapes();

}  // namespace attune
