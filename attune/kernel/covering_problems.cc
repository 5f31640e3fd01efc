#include "attune/kernel/covering_problems.h"

#include <cassert>
#include <span>
#include <type_traits>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/ops/registry.h"
#include "attune/problem/problem.h"

namespace attune::kernel {
namespace {

template <class T, class Change>
void AddVariant(const T& plain, const Change& change, std::vector<Problem>& problems) {
  T variant = plain;
  change(variant);
  if constexpr (std::is_same_v<T, Gemm>) variant = Normalized(variant);
  problems.emplace_back(variant);
}

std::vector<Problem> GemmProblems() {
  const Gemm plain = PackedGemm(70, 30, 20);
  std::vector<Problem> problems = {plain};
  const auto add = [&](const auto& change) { AddVariant(plain, change, problems); };
  // Packed anew, as the stored shapes change.
  const auto transposed = [](Gemm& gemm, Transpose a, Transpose b) {
    gemm.trans_a = a;
    gemm.trans_b = b;
    gemm.lda = gemm.ldb = 0;
  };
  add([](Gemm& gemm) {
    gemm.m = 65;
    gemm.n = 33;
    gemm.k = 17;
    gemm.lda = gemm.ldb = gemm.ldc = 0;
    gemm.batch_count = 2;
    gemm.stride_a = gemm.stride_b = kPackedStride;
    gemm.bias = Bias::kPerRow;
  });
  add([&](Gemm& gemm) { transposed(gemm, Transpose::kYes, Transpose::kNo); });
  add([&](Gemm& gemm) { transposed(gemm, Transpose::kNo, Transpose::kYes); });
  add([](Gemm& gemm) { gemm.lda = gemm.ldb = gemm.ldc = 83; });
  add([](Gemm& gemm) { gemm.bias = Bias::kPerColumn; });
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kTanh, Activation::kSigmoid}) {
    add([&](Gemm& gemm) { gemm.activation = activation; });
  }
  for (const ScalarClass scalar : {ScalarClass::kZero, ScalarClass::kOne, ScalarClass::kOther}) {
    add([&](Gemm& gemm) { gemm.alpha = scalar; });
    add([&](Gemm& gemm) { gemm.beta = scalar; });
  }
  add([](Gemm& gemm) { gemm.type = gemm.c_type = DataType::kF64; });
  add([](Gemm& gemm) { gemm.c_type = DataType::kF64; });
  add([](Gemm& gemm) { gemm.type = DataType::kF64; });
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kI32, DataType::kI8,
                              DataType::kF8E4M3, DataType::kF8E5M2}) {
    add([&](Gemm& gemm) { gemm.type = gemm.c_type = type; });
  }
  for (const MathMode math : {MathMode::kTf32, MathMode::kBf16}) {
    add([&](Gemm& gemm) { gemm.math = math; });
  }
  add([](Gemm& gemm) { gemm.alignment_bytes = 4; });
  add([](Gemm& gemm) { gemm.deterministic = true; });
  // What kernels for few columns or few rows are made for.
  add([](Gemm& gemm) {
    gemm.n = 3;
    gemm.ldb = gemm.ldc = 0;
  });
  add([](Gemm& gemm) {
    gemm.m = 3;
    gemm.lda = gemm.ldc = 0;
  });
  return problems;
}

std::vector<Problem> ConvProblems() {
  Conv plain;
  plain.batch = 2;
  plain.in_channels = plain.out_channels = 6;
  plain.in = {1, 9, 8};
  plain.filter = {1, 3, 2};
  plain.pad = {0, 1, 1};
  plain.stride = {1, 2, 1};
  std::vector<Problem> problems = {plain};
  const auto add = [&](const auto& change) { AddVariant(plain, change, problems); };
  add([](Conv& conv) {
    conv.bias = true;
    conv.groups = 3;
    conv.dilation = {1, 1, 2};
  });
  add([](Conv& conv) { conv.in_layout = Layout::kNhwc; });
  add([](Conv& conv) { conv.out_layout = Layout::kNhwc; });
  add([](Conv& conv) { conv.weights_layout = Layout::kNhwc; });
  add([](Conv& conv) {
    conv.spatial_rank = 3;
    conv.in[0] = 5;
    conv.filter[0] = 2;
    conv.pad[0] = 1;
    conv.stride[0] = 2;
    conv.in_layout = conv.weights_layout = conv.out_layout = Layout::kNcdhw;
  });
  add([](Conv& conv) { conv.direction = ConvDirection::kBackwardData; });
  add([](Conv& conv) { conv.direction = ConvDirection::kBackwardWeights; });
  add([](Conv& conv) { conv.mode = ConvMode::kTransposed; });
  for (const DataType type : {DataType::kF64, DataType::kF16, DataType::kBf16, DataType::kI32,
                              DataType::kI8, DataType::kF8E4M3, DataType::kF8E5M2}) {
    add([&](Conv& conv) { conv.type = type; });
  }
  for (const MathMode math : {MathMode::kTf32, MathMode::kBf16}) {
    add([&](Conv& conv) { conv.math = math; });
  }
  add([](Conv& conv) { conv.alignment_bytes = 4; });
  add([](Conv& conv) { conv.deterministic = true; });
  return problems;
}

constexpr const char* kSoftmaxes[] = {"softmax@2{outer=6,length=37}",
                                      "softmax@2{outer=3,length=5,inner=7}",
                                      "softmax@2{outer=6,length=37,dir=bwd,type=f16}",
                                      "softmax@2{outer=6,length=37,log=1,type=bf16}",
                                      "softmax@2{outer=6,length=37,dir=bwd,log=1,scaled=1}",
                                      "softmax@2{outer=6,length=37,mask=causal,queries=3,scaled=1}",
                                      "softmax@2{outer=6,length=37,mask=additive,queries=3}",
                                      "softmax@2{outer=3,length=5,inner=7,dir=bwd}",
                                      "softmax@2{outer=6,length=37,align=4}",
                                      "softmax@2{outer=6,length=37,det=1}"};

constexpr const char* kBatchNorms[] = {
    "batch_norm@1{n=3,c=9,h=5,w=4,running=1,saved=1}",
    "batch_norm@1{n=3,c=9,h=5,w=4,layout=nhwc,running=1,saved=1}",
    "batch_norm@1{dir=bwd,n=3,c=9,h=5,w=4}",
    "batch_norm@1{dir=bwd,n=3,c=9,h=5,w=4,layout=nhwc,saved=1,fuse=add_relu,type=f16}",
    "batch_norm@1{dir=infer,n=3,c=9,h=5,w=4,fuse=add,type=bf16}",
    "batch_norm@1{dir=infer,n=3,c=9,h=5,w=4,layout=nhwc}",
    "batch_norm@1{n=3,c=9,h=5,w=4,fuse=relu,affine=0,type=f16}",
    "batch_norm@1{mode=act,n=6,c=3,h=2,w=2,running=1}",
    "batch_norm@1{dir=bwd,mode=act,n=6,c=3,h=2,w=2}",
    "batch_norm@1{dir=bwd,n=3,c=9,h=5,w=4,saved=1,fuse=add_relu,type=bf16}",
    "batch_norm@1{n=3,c=9,h=5,w=4,align=4}",
    "batch_norm@1{n=9,c=8,h=8,w=8,layout=nhwc,running=1,saved=1,type=f16}",
    "batch_norm@1{dir=bwd,n=9,c=9,h=8,w=8,layout=nhwc}",
    "batch_norm@1{n=3,c=9,h=5,w=4,det=1}"};

// 2^31 - 1 elements of a line, and lines, then 2^31 values of a group, and groups.
constexpr const char* kLargeSoftmaxes[] = {
    "softmax@2{outer=1,length=2147483647}", "softmax@2{outer=2147483647,length=1}",
    "softmax@2{outer=1,length=2147483647,inner=2}", "softmax@2{outer=65536,length=1,inner=65536}"};
constexpr const char* kLargeBatchNorms[] = {
    "batch_norm@1{n=2,c=1,h=32768,w=32768}", "batch_norm@1{n=2,c=1,h=32768,w=32768,layout=nhwc}",
    "batch_norm@1{n=2,c=2147483647,h=2}", "batch_norm@1{mode=act,n=2,c=2,h=32768,w=32768}"};

std::vector<Problem> ProblemsOf(std::span<const char* const> texts) {
  std::vector<Problem> problems;
  for (const char* text : texts) {
    auto problem = ParseProblem(text);
    assert(problem.ok());
    problems.push_back(*std::move(problem));
  }
  return problems;
}

constexpr int64_t kTwoTo15 = int64_t{1} << 15;
constexpr int64_t kTwoTo16 = int64_t{1} << 16;
constexpr int64_t kTwoTo30 = int64_t{1} << 30;

std::vector<Problem> LargeGemms() {
  // 2^31 elements in A, in B, in C, and stored the other way round.
  std::vector<Problem> problems = {PackedGemm(kTwoTo16, 1, kTwoTo15),
                                   PackedGemm(1, kTwoTo16, kTwoTo15),
                                   PackedGemm(kTwoTo16, kTwoTo15, 1)};
  AddVariant(
      PackedGemm(kTwoTo16, 2, kTwoTo15),
      [](Gemm& gemm) {
        gemm.trans_a = gemm.trans_b = Transpose::kYes;
        gemm.lda = gemm.ldb = 0;
      },
      problems);
  return problems;
}

Conv PointConv(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t groups = 1) {
  Conv conv;
  conv.batch = batch;
  conv.in_channels = in_channels;
  conv.out_channels = out_channels;
  conv.groups = groups;
  return conv;
}

// More matrices than a dimension of a grid has groups on some devices.
std::vector<Problem> LimitGemms() {
  std::vector<Problem> problems;
  AddVariant(
      PackedGemm(1, 1, 1),
      [](Gemm& gemm) {
        gemm.batch_count = kTwoTo16;
        gemm.stride_a = gemm.stride_b = kPackedStride;
      },
      problems);
  return problems;
}

// One image whose elements are needed by up to 4096 outputs each, so that it is more than a GiB of
// f32 unfolded; then more images, and more groups, than a dimension of a grid has on some devices.
std::vector<Problem> LimitConvs() {
  Conv unfolded;
  unfolded.in_channels = unfolded.out_channels = 1;
  unfolded.in = {1, 320, 320};
  unfolded.filter = {1, 64, 64};
  return {unfolded, PointConv(kTwoTo16, 1, 1), PointConv(2, kTwoTo15, kTwoTo15, kTwoTo15)};
}

std::vector<Problem> LargeConvs() {
  return {
      // 2^31 elements in x, in y, in w.
      PointConv(2, kTwoTo30, 1),
      PointConv(2, 1, kTwoTo30),
      PointConv(1, kTwoTo15, kTwoTo16),
  };
}

}  // namespace

std::vector<Problem> LimitProblems(std::string_view operator_name) {
  if (operator_name == "gemm") return LimitGemms();
  return operator_name == "conv" ? LimitConvs() : std::vector<Problem>();
}

std::vector<Problem> LargeProblems(std::string_view operator_name) {
  if (operator_name == "gemm") return LargeGemms();
  if (operator_name == "softmax") return ProblemsOf(kLargeSoftmaxes);
  if (operator_name == "batch_norm") return ProblemsOf(kLargeBatchNorms);
  return operator_name == "conv" ? LargeConvs() : std::vector<Problem>();
}

std::vector<Problem> CoveringProblems(std::string_view operator_name) {
  if (operator_name == "gemm") return GemmProblems();
  if (operator_name == "conv") return ConvProblems();
  if (operator_name == "softmax") return ProblemsOf(kSoftmaxes);
  if (operator_name == "batch_norm") return ProblemsOf(kBatchNorms);
  const Operator* const op = FindOperator(operator_name);
  return op == nullptr ? std::vector<Problem>() : op->EverydayProblems();
}

}  // namespace attune::kernel
