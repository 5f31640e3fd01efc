#include "bench/gemm_choice_shapes.h"

#include <utility>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

struct Extents {
  const char* family;
  int64_t m, n, k;
  Transpose trans_a = Transpose::kNo;
  Transpose trans_b = Transpose::kNo;
  int64_t batch_count = 1;
};

constexpr Transpose kT = Transpose::kYes, kN = Transpose::kNo;

constexpr Extents kShapes[] = {
    {"square", 64, 64, 64},
    {"square", 128, 128, 128},
    {"square", 256, 256, 256},
    {"square", 384, 384, 384},
    {"square", 512, 512, 512},
    {"square", 1024, 1024, 1024},
    {"square", 512, 512, 512, kT, kN},
    {"skinny", 4096, 8, 1024},
    {"skinny", 8, 4096, 1024},
    {"skinny", 4096, 32, 128},
    {"skinny", 64, 64, 8192},
    {"skinny", 1024, 16, 1024, kT, kN},
    {"skinny", 2048, 4, 2048},
    {"skinny", 16, 768, 768},
    {"vector", 4096, 1, 4096},
    {"vector", 1, 4096, 4096},
    {"vector", 1000, 1, 2048},
    {"vector", 4096, 1, 1024, kT, kN},
    {"vector", 1, 1000, 2048, kN, kT},
    // Forward of ResNet-50 at batch 1, one image by its filters: column-major H*W x K x C*R*S.
    {"im2col", 12544, 64, 147},
    {"im2col", 3136, 64, 576},
    {"im2col", 3136, 256, 64},
    {"im2col", 784, 128, 1152},
    {"im2col", 784, 512, 128},
    {"im2col", 196, 256, 2304},
    {"im2col", 49, 512, 4608},
    {"im2col", 49, 2048, 512},
    {"odd", 127, 131, 137},
    {"odd", 509, 503, 499},
    {"odd", 1021, 67, 307},
    {"batch", 16, 16, 16, kN, kN, 512},
    {"batch", 64, 64, 64, kN, kN, 64},
};

}  // namespace

std::vector<NamedGemm> GemmChoiceShapes() {
  std::vector<NamedGemm> shapes;
  for (const Extents& extents : kShapes) {
    Gemm gemm;
    gemm.m = extents.m;
    gemm.n = extents.n;
    gemm.k = extents.k;
    gemm.trans_a = extents.trans_a;
    gemm.trans_b = extents.trans_b;
    gemm.batch_count = extents.batch_count;
    shapes.push_back({extents.family, Normalized(gemm)});
  }
  return shapes;
}

}  // namespace attune
