// How much faster attune's choice is than cuBLASLt's first answer, on an NVIDIA GPU.
//
//   cuda_gemm [--set misaligned|random|mixed] [--db FILE] [--device cuda:0] [--per-problem 4s]
//   [--rounds 25] [--only TEXT] [--json]
#include <cstdint>
#include <vector>

#include "attune/base/random.h"
#include "attune/problem/gemm.h"
#include "bench/vendor_choice.h"

namespace attune {
namespace {

struct Shape {
  int64_t m;
  int64_t n;
  int64_t k;
  const char* transposes;
};

// Columns that start at odd elements.
constexpr Shape kMisaligned[] = {
    {1111, 1237, 3331, "NN"}, {333, 777, 4099, "TN"},   {5124, 700, 2048, "NN"},
    {35, 8457, 1760, "NN"},   {5124, 9124, 1760, "NN"}, {7133, 2048, 2048, "NN"},
    {4097, 4097, 4097, "NN"}, {2049, 2049, 2049, "TN"}, {50257, 1024, 768, "TN"},
    {30522, 512, 768, "NN"},  {1025, 4096, 1025, "NN"}, {64, 12544, 147, "NN"},
    {1001, 64, 2047, "TN"},   {50257, 64, 768, "NN"},   {999, 999, 99, "NN"}};
// Of transformers, DeepBench and convolutions.
constexpr Shape kMixed[] = {
    {4096, 4096, 4096, "TN"}, {8192, 8192, 8192, "TN"}, {1024, 1024, 1024, "NN"},
    {512, 512, 512, "NN"},    {256, 256, 256, "NN"},    {4096, 1, 4096, "TN"},
    {4096, 8, 4096, "TN"},    {4096, 16, 4096, "TN"},   {11008, 32, 4096, "TN"},
    {4096, 64, 11008, "TN"},  {4096, 128, 14336, "TN"}, {28672, 256, 4096, "TN"},
    {1760, 16, 1760, "NN"},   {1760, 7000, 1760, "NN"}, {2048, 7000, 2048, "NT"},
    {2560, 64, 2560, "NN"},   {35, 8457, 1760, "NN"},   {5124, 700, 2048, "NN"},
    {3072, 1500, 1024, "TN"}, {7680, 1500, 2560, "NN"}, {64, 12544, 147, "NN"},
    {64, 3136, 576, "NN"},    {256, 3136, 64, "NN"},    {512, 784, 1152, "NN"},
    {2048, 49, 512, "NN"},    {1000, 64, 2048, "TN"},   {25088, 4096, 64, "NT"},
    {4096, 4096, 64, "NT"},   {128, 128, 65536, "TN"},  {192, 192, 200000, "TN"},
    {1111, 1237, 3331, "NN"}, {333, 777, 4099, "TN"}};

Problem ProblemOf(const Shape& shape) {
  Gemm gemm;
  gemm.m = shape.m;
  gemm.n = shape.n;
  gemm.k = shape.k;
  gemm.trans_a = shape.transposes[0] == 'T' ? Transpose::kYes : Transpose::kNo;
  gemm.trans_b = shape.transposes[1] == 'T' ? Transpose::kYes : Transpose::kNo;
  gemm.type = gemm.c_type = DataType::kBf16;
  return Normalized(gemm);
}

template <size_t kCount>
ProblemSet SetOf(const char* name, const Shape (&shapes)[kCount]) {
  ProblemSet set{name, {}};
  for (const Shape& shape : shapes) set.problems.push_back(ProblemOf(shape));
  return set;
}

// Extents that are odd and spread evenly over the powers of two from 64 to 8192.
ProblemSet RandomSet() {
  constexpr int kProblems = 30;
  constexpr const char* kTransposes[] = {"NN", "TN", "NT"};
  ProblemSet set{"random", {}};
  Random random(1);
  const auto extent = [&] {
    const int64_t power = int64_t{64} << random.Below(7);
    return power + static_cast<int64_t>(random.Below(static_cast<uint64_t>(power))) / 2 * 2 + 1;
  };
  for (int i = 0; i < kProblems; ++i) {
    const int64_t m = extent();
    const int64_t n = extent();
    const int64_t k = extent();
    set.problems.push_back(ProblemOf({m, n, k, kTransposes[random.Below(3)]}));
  }
  return set;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  using namespace attune;
  return VendorBenchMain(argc, argv,
                         {"cuda_gemm",
                          "cuda.cublaslt-gemm",
                          {SetOf("misaligned", kMisaligned), RandomSet(), SetOf("mixed", kMixed)}});
}
