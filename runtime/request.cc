#include "runtime/request.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/formats/problem_line.h"

namespace attune {
namespace {

// The value of `number` as an enumerator of T, which has `count` of them from 0 on.
template <class T>
Result<T> Enumerator(int32_t number, int32_t count, const char* field) {
  if (number >= 0 && number < count) return static_cast<T>(number);
  return InvalidArgument(
      fmt::format("Field '{}' is {}; it has to be from 0 to {}.", field, number, count - 1));
}

// Of a product; a convolution has the first kConvTypes of them.
constexpr std::array kTypes = {DataType::kF32, DataType::kF64, DataType::kF16, DataType::kBf16,
                               DataType::kI8};
constexpr int32_t kGemmTypes = std::ssize(kTypes);
constexpr int32_t kConvTypes = kGemmTypes - 1;

Result<DataType> TypeOf(int32_t type, int32_t count) {
  ATTUNE_ASSIGN_OR_RETURN(const auto index, Enumerator<size_t>(type, count, "type"));
  return kTypes[index];
}

int64_t OneIfZero(int64_t value) { return value == 0 ? 1 : value; }

Spatial Spatials(const int64_t (&values)[3], int64_t zero_means) {
  Spatial result{};
  std::transform(values, values + 3, result.begin(),
                 [&](int64_t value) { return value == 0 ? zero_means : value; });
  return result;
}

int AlignmentOf(int32_t alignment_bytes, DataType type, CallClasses classes) {
  if (alignment_bytes != 0) return alignment_bytes;
  return classes.wide == 1 ? kWideAlignmentBytes : static_cast<int>(SizeBytes(type));
}

}  // namespace

PlanKey KeyOfProblem(const Problem& problem, uint64_t workspace_limit_bytes) {
  const Fingerprint fingerprint = KeyOf(problem);
  PlanKey key;
  key.Append(fingerprint.high);
  key.Append(fingerprint.low);
  key.Append(workspace_limit_bytes);
  key.Append(uint64_t{0});
  return key;
}

Result<Problem> ProblemOf(const attune_gemm& call, CallClasses classes) {
  Gemm gemm;
  gemm.m = call.m;
  gemm.n = call.n;
  gemm.k = call.k;
  gemm.lda = call.lda;
  gemm.ldb = call.ldb;
  gemm.ldc = call.ldc;
  gemm.batch_count = OneIfZero(call.batch_count);
  gemm.stride_a = call.stride_a;
  gemm.stride_b = call.stride_b;
  gemm.stride_c = call.stride_c;
  ATTUNE_ASSIGN_OR_RETURN(gemm.trans_a, Enumerator<Transpose>(call.trans_a, 2, "trans_a"));
  ATTUNE_ASSIGN_OR_RETURN(gemm.trans_b, Enumerator<Transpose>(call.trans_b, 2, "trans_b"));
  ATTUNE_ASSIGN_OR_RETURN(gemm.type, TypeOf(call.type, kGemmTypes));
  gemm.c_type = gemm.type == DataType::kI8 ? DataType::kI32 : gemm.type;
  ATTUNE_ASSIGN_OR_RETURN(gemm.bias, Enumerator<Bias>(call.bias, 3, "bias"));
  ATTUNE_ASSIGN_OR_RETURN(gemm.activation,
                          Enumerator<Activation>(call.activation, 5, "activation"));
  ATTUNE_ASSIGN_OR_RETURN(gemm.math, Enumerator<MathMode>(call.math, 3, "math"));
  ATTUNE_ASSIGN_OR_RETURN(const int deterministic,
                          Enumerator<int>(call.deterministic, 2, "deterministic"));
  gemm.deterministic = deterministic == 1;
  gemm.alignment_bytes = AlignmentOf(call.alignment_bytes, gemm.c_type, classes);
  ATTUNE_ASSIGN_OR_RETURN(gemm.alpha, Enumerator<ScalarClass>(classes.alpha, 3, "alpha_class"));
  ATTUNE_ASSIGN_OR_RETURN(gemm.beta, Enumerator<ScalarClass>(classes.beta, 3, "beta_class"));
  gemm = Normalized(gemm);
  ATTUNE_RETURN_IF_ERROR(Validate(gemm));
  return Problem(gemm);
}

Result<Problem> ProblemOf(const attune_conv& call, CallClasses classes) {
  Conv conv;
  conv.batch = OneIfZero(call.batch);
  conv.in_channels = OneIfZero(call.in_channels);
  conv.out_channels = OneIfZero(call.out_channels);
  conv.groups = OneIfZero(call.groups);
  conv.in = Spatials(call.in, 1);
  conv.filter = Spatials(call.filter, 1);
  conv.pad = Spatials(call.pad, 0);
  conv.stride = Spatials(call.stride, 1);
  conv.dilation = Spatials(call.dilation, 1);
  conv.spatial_rank = call.spatial_rank == 0 ? 2 : call.spatial_rank;
  ATTUNE_ASSIGN_OR_RETURN(conv.direction,
                          Enumerator<ConvDirection>(call.direction, 3, "direction"));
  ATTUNE_ASSIGN_OR_RETURN(conv.in_layout, Enumerator<Layout>(call.in_layout, 4, "in_layout"));
  ATTUNE_ASSIGN_OR_RETURN(conv.weights_layout,
                          Enumerator<Layout>(call.weights_layout, 4, "weights_layout"));
  ATTUNE_ASSIGN_OR_RETURN(conv.out_layout, Enumerator<Layout>(call.out_layout, 4, "out_layout"));
  ATTUNE_ASSIGN_OR_RETURN(conv.type, TypeOf(call.type, kConvTypes));
  ATTUNE_ASSIGN_OR_RETURN(conv.math, Enumerator<MathMode>(call.math, 3, "math"));
  ATTUNE_ASSIGN_OR_RETURN(const int bias, Enumerator<int>(call.bias, 2, "bias"));
  conv.bias = bias == 1;
  ATTUNE_ASSIGN_OR_RETURN(const int deterministic,
                          Enumerator<int>(call.deterministic, 2, "deterministic"));
  conv.deterministic = deterministic == 1;
  conv.alignment_bytes = AlignmentOf(call.alignment_bytes, conv.type, classes);
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  return Problem(conv);
}

Result<Problem> ProblemOf(const char* text) {
  ATTUNE_ASSIGN_OR_RETURN(auto problems, ParseProblems(text));
  return OnlyProblem(std::move(problems));
}

}  // namespace attune
