#include "attune/kernel/problem_fields.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "attune/problem/own_kernel.h"

namespace attune::kernel {
namespace {

constexpr std::array<std::string_view, 3> kAxes = {"d", "h", "w"};

std::vector<std::string> ConvSizes() {
  std::vector<std::string> names = {"batch", "in_channels", "out_channels", "groups"};
  for (std::string_view kind : {"in", "filter", "pad", "stride", "dilation"}) {
    for (std::string_view axis : kAxes) names.push_back(fmt::format("{}_{}", kind, axis));
  }
  return names;
}

std::vector<std::string> ConvDerived() {
  std::vector<std::string> names;
  for (std::string_view axis : kAxes) names.push_back(fmt::format("out_{}", axis));
  for (std::string_view tensor :
       {"x_stride_n", "x_stride_c", "w_stride_k", "w_stride_c", "y_stride_n", "y_stride_k"}) {
    names.emplace_back(tensor);
  }
  for (std::string_view tensor : {"x", "w", "y"}) {
    for (std::string_view axis : kAxes) names.push_back(fmt::format("{}_stride_{}", tensor, axis));
  }
  return names;
}

const FieldNames& GemmNames() {
  static const NeverDestroyed<FieldNames> names(
      {{"m", "n", "k", "lda", "ldb", "ldc", "batch_count", "stride_a", "stride_b", "stride_c"},
       {},
       {"trans_a", "trans_b", "type", "c_type", "math", "alpha_class", "beta_class", "bias",
        "activation", "alignment_bytes", "deterministic"},
       {"a", "b", "bias", "c"}});
  return *names;
}

const FieldNames& ConvNames() {
  static const NeverDestroyed<FieldNames> names(
      {ConvSizes(),
       ConvDerived(),
       {"direction", "mode", "spatial_rank", "in_layout", "weights_layout", "out_layout", "type",
        "math", "bias", "alignment_bytes", "deterministic"},
       {"x", "w", "bias", "y", "dx", "dw", "dy"}});
  return *names;
}

std::string ScalarClassName(ScalarClass scalar) {
  if (scalar == ScalarClass::kZero) return "zero";
  return scalar == ScalarClass::kOne ? "one" : "other";
}

std::string BiasName(Bias bias) {
  if (bias == Bias::kNone) return "none";
  return bias == Bias::kPerRow ? "per_row" : "per_column";
}

std::string ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kRelu:
      return "relu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSigmoid:
      return "sigmoid";
  }
  return "none";
}

std::string DirectionName(ConvDirection direction) {
  if (direction == ConvDirection::kForward) return "forward";
  return direction == ConvDirection::kBackwardData ? "backward_data" : "backward_weights";
}

std::string LayoutName(Layout layout) {
  return IsChannelsLast(layout) ? "channels_last" : "channels_first";
}

Config GemmFields(const Gemm& gemm) {
  Config fields = {{"m", gemm.m},
                   {"n", gemm.n},
                   {"k", gemm.k},
                   {"lda", gemm.lda},
                   {"ldb", gemm.ldb},
                   {"ldc", gemm.ldc},
                   {"batch_count", gemm.batch_count},
                   {"stride_a", gemm.stride_a},
                   {"stride_b", gemm.stride_b},
                   {"stride_c", gemm.stride_c},
                   {"trans_a", int64_t{gemm.trans_a == Transpose::kYes}},
                   {"trans_b", int64_t{gemm.trans_b == Transpose::kYes}},
                   {"type", std::string(Name(gemm.type))},
                   {"c_type", std::string(Name(gemm.c_type))},
                   {"math", std::string(Name(gemm.math))},
                   {"alpha_class", ScalarClassName(gemm.alpha)},
                   {"beta_class", ScalarClassName(gemm.beta)},
                   {"bias", BiasName(gemm.bias)},
                   {"activation", ActivationName(gemm.activation)},
                   {"alignment_bytes", int64_t{gemm.alignment_bytes}},
                   {"deterministic", int64_t{gemm.deterministic}}};
  return fields;
}

// Strides of the tensor of `conv` that is called one of `names`, under fields `prefix`_stride_*.
void AddStrides(const Problem& problem, const std::vector<std::string_view>& names,
                std::string_view prefix, std::string_view channel_names, Config& fields) {
  for (const Operand& operand : Operands(problem)) {
    if (std::find(names.begin(), names.end(), operand.name) == names.end()) continue;
    const std::vector<int64_t>& strides = operand.tensor.strides;
    const size_t rank = strides.size() - 2;
    fields[fmt::format("{}_stride_{}", prefix, channel_names[0])] = strides[0];
    fields[fmt::format("{}_stride_{}", prefix, channel_names[1])] = strides[1];
    for (size_t axis = 0; axis < kAxes.size(); ++axis) {
      // A 2-D tensor has no depth: the index is 0, and so is the stride.
      const size_t skipped = kAxes.size() - rank;
      fields[fmt::format("{}_stride_{}", prefix, kAxes[axis])] =
          axis < skipped ? int64_t{0} : strides[2 + axis - skipped];
    }
  }
}

Config ConvFields(const Problem& problem, const Conv& conv) {
  Config fields = {
      {"batch", conv.batch},
      {"in_channels", conv.in_channels},
      {"out_channels", conv.out_channels},
      {"groups", conv.groups},
      {"direction", DirectionName(conv.direction)},
      {"mode", std::string(conv.mode == ConvMode::kConvolution ? "convolution" : "transposed")},
      {"spatial_rank", int64_t{conv.spatial_rank}},
      {"in_layout", LayoutName(conv.in_layout)},
      {"weights_layout", LayoutName(conv.weights_layout)},
      {"out_layout", LayoutName(conv.out_layout)},
      {"type", std::string(Name(conv.type))},
      {"math", std::string(Name(conv.math))},
      {"bias", int64_t{conv.bias}},
      {"alignment_bytes", int64_t{conv.alignment_bytes}},
      {"deterministic", int64_t{conv.deterministic}}};
  const Spatial out = OutputExtent(conv);
  for (size_t axis = 0; axis < kAxes.size(); ++axis) {
    const auto add = [&](std::string_view kind, int64_t value) {
      fields[fmt::format("{}_{}", kind, kAxes[axis])] = value;
    };
    add("in", conv.in[axis]);
    add("filter", conv.filter[axis]);
    add("pad", conv.pad[axis]);
    add("stride", conv.stride[axis]);
    add("dilation", conv.dilation[axis]);
    add("out", out[axis]);
  }
  AddStrides(problem, {"x", "dx"}, "x", "nc", fields);
  AddStrides(problem, {"w", "dw"}, "w", "kc", fields);
  AddStrides(problem, {"y", "dy"}, "y", "nk", fields);
  return fields;
}

using Keeps = std::function<bool(std::string_view name)>;

Gemm SmallestGemm(const Gemm& original, const Keeps& keeps) {
  Gemm gemm = original;
  const auto shrink = [&](std::string_view name, int64_t& size, int64_t smallest) {
    if (!keeps(name)) size = smallest;
  };
  shrink("m", gemm.m, 1);
  shrink("n", gemm.n, 1);
  shrink("k", gemm.k, 1);
  shrink("batch_count", gemm.batch_count, 1);
  // 0 means packed.
  shrink("lda", gemm.lda, 0);
  shrink("ldb", gemm.ldb, 0);
  shrink("ldc", gemm.ldc, 0);
  shrink("stride_a", gemm.stride_a, 0);
  shrink("stride_b", gemm.stride_b, 0);
  shrink("stride_c", gemm.stride_c, 0);
  return Normalized(gemm);
}

Conv SmallestConv(const Conv& original, const Keeps& keeps) {
  Conv conv = original;
  if (!keeps("batch")) conv.batch = 1;
  if (!keeps("groups")) conv.groups = 1;
  if (!keeps("in_channels")) conv.in_channels = conv.groups;
  if (!keeps("out_channels")) conv.out_channels = conv.groups;
  for (size_t axis = 0; axis < kAxes.size(); ++axis) {
    const auto shrink = [&](std::string_view kind, int64_t& size, int64_t smallest) {
      if (!keeps(fmt::format("{}_{}", kind, kAxes[axis]))) size = smallest;
    };
    shrink("filter", conv.filter[axis], 1);
    shrink("pad", conv.pad[axis], 0);
    shrink("stride", conv.stride[axis], 1);
    shrink("dilation", conv.dilation[axis], 1);
    shrink("in", conv.in[axis], conv.dilation[axis] * (conv.filter[axis] - 1) + 1);
  }
  return conv;
}

}  // namespace

const FieldNames* FieldNamesOf(std::string_view operator_name) {
  if (operator_name == "gemm") return &GemmNames();
  if (operator_name == "conv") return &ConvNames();
  return nullptr;
}

Config FieldsOf(const Problem& problem) {
  if (const Gemm* gemm = std::get_if<Gemm>(&problem)) return GemmFields(Normalized(*gemm));
  if (const Conv* conv = std::get_if<Conv>(&problem)) return ConvFields(problem, *conv);
  Config fields;
  if (const auto own = OwnKernelOf(problem); own.ok()) {
    for (const auto& [name, value] : own->sizes) fields[name] = value;
  }
  return fields;
}

Result<Problem> SmallestLike(const Problem& problem, const std::vector<std::string>& kept) {
  const Keeps keeps = [&](std::string_view name) {
    return std::find(kept.begin(), kept.end(), name) != kept.end();
  };
  if (IsOwnKernel(problem)) {
    return Unsupported("Which sizes a user's kernel is right for, nobody here knows.");
  }
  Problem smallest = problem;
  if (const Gemm* gemm = std::get_if<Gemm>(&problem)) smallest = SmallestGemm(*gemm, keeps);
  if (const Conv* conv = std::get_if<Conv>(&problem)) smallest = SmallestConv(*conv, keeps);
  const Status valid = Validate(smallest);
  if (!valid.ok())
    return Unsupported("There is no small problem like this one: " + valid.message());
  return smallest;
}

}  // namespace attune::kernel
