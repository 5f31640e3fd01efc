// How much faster attune's choice is than cuBLASLt's first answer, on an NVIDIA GPU.
//
//   cuda_gemm [--set misaligned|random|mixed|kinds] [--db FILE] [--device cuda:0]
//             [--per-problem 4s] [--cache warm|cold|rotating] [--within TIME] [--rounds 25]
//             [--only TEXT] [--json]
#include <cstdint>
#include <vector>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
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
// From transformers, DeepBench and convolutions.
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

// Every type, batches, few rows or columns, and epilogues: kinds that the other sets lack.
constexpr const char* kKinds[] = {
    "gemm@1{m=1023,n=65,k=1023,batch=64,sa=0,type=bf16,ctype=bf16}",
    "gemm@1{m=128,n=8,k=512,batch=96,sa=0,type=f16,ctype=f16}",
    "gemm@1{m=257,n=255,k=129,batch=96,type=f16,ctype=f16}",
    "gemm@1{m=64,n=64,k=64,batch=512,type=bf16,ctype=bf16}",
    "gemm@1{m=1,n=4097,k=4095,type=bf16,ctype=bf16}",
    "gemm@1{m=4095,n=3,k=4097,ta=t,type=f16,ctype=f16}",
    "gemm@1{m=3,n=4097,k=4095}",
    "gemm@1{m=4096,n=7,k=1024}",
    "gemm@1{m=333,n=1111,k=777}",
    "gemm@1{m=2048,n=2048,k=2048}",
    "gemm@1{m=2047,n=2047,k=2047,math=tf32}",
    "gemm@1{m=1024,n=1024,k=1024,type=f64}",
    "gemm@1{m=77,n=99,k=2001,type=f64}",
    "gemm@1{m=2048,n=2048,k=2048,ta=t,type=i8,ctype=i32}",
    "gemm@1{m=1536,n=1536,k=1536,ta=t,type=f8e4m3,ctype=bf16}",
    "gemm@1{m=1023,n=333,k=1023,type=bf16,ctype=bf16,bias=row,act=relu}"};

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
                          {SetOf("misaligned", kMisaligned), RandomSet(), SetOf("mixed", kMixed),
                           SetOfTexts("kinds", kKinds)}});
}
