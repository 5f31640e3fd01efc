// The table of fields of a convolution, and the operator.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "attune/attune.h"
#include "attune/base/never_destroyed.h"
#include "attune/ops/conv/conv_operator.h"
#include "attune/problem/limits.h"
#include "attune/problem/typed_operator.h"

namespace attune {
namespace {

constexpr std::string_view kPadText = "an integer in [0, 2147483647]";
constexpr std::string_view kOutputPadText =
    "an integer from 0 to one less than the stride, and only 0 without mode=trans";
constexpr std::string_view kGroupsText = "an integer in [1, 2147483647] that divides c and k";

// In the order of the enumerations.
constexpr std::string_view kDirectionsInKernels[] = {"forward", "backward_data",
                                                     "backward_weights"};
constexpr std::string_view kModeWords[] = {"conv", "trans"};
constexpr std::string_view kModesInKernels[] = {"convolution", "transposed"};
constexpr std::string_view kLayoutsInKernels[] = {"channels_first", "channels_last",
                                                  "channels_first", "channels_last"};
constexpr std::array<std::string_view, 3> kAxes = {"d", "h", "w"};

const Conv& Of(const void* value) { return *static_cast<const Conv*>(value); }

int64_t RequiredIn3d(const void* value) { return Of(value).spatial_rank == 3 ? kRequired : 1; }

#define ATTUNE_AT(member) offsetof(attune_conv, member)

constexpr size_t At(size_t member, size_t axis) { return member + axis * sizeof(int64_t); }

template <size_t kAxis>
constexpr ProblemField InField(std::string_view key, std::string_view name) {
  return SizeField<&Conv::in, kAxis>(key, name).Required().Call(
      WideMember(At(ATTUNE_AT(in), kAxis), 1));
}
template <size_t kAxis>
constexpr ProblemField FilterField(std::string_view key, std::string_view name) {
  return SizeField<&Conv::filter, kAxis>(key, name).Required().Call(
      WideMember(At(ATTUNE_AT(filter), kAxis), 1));
}
template <size_t kAxis>
constexpr ProblemField PadField(std::string_view key, std::string_view name) {
  return SizeField<&Conv::pad, kAxis>(key, name)
      .Within(0, kMaxExtent, kPadText)
      .Smallest(0)
      .Call(WideMember(At(ATTUNE_AT(pad), kAxis)));
}
template <size_t kAxis>
constexpr ProblemField StrideField(std::string_view key, std::string_view name) {
  return SizeField<&Conv::stride, kAxis>(key, name).Call(
      WideMember(At(ATTUNE_AT(stride), kAxis), 1));
}
template <size_t kAxis>
constexpr ProblemField DilationField(std::string_view key, std::string_view name) {
  return SizeField<&Conv::dilation, kAxis>(key, name).Call(
      WideMember(At(ATTUNE_AT(dilation), kAxis), 1));
}
// Kernel files and C structs have no such field.
template <size_t kAxis>
constexpr ProblemField OutputPadField(std::string_view key) {
  return SizeField<&Conv::output_pad, kAxis>(key, "").Within(0, kMaxExtent, kOutputPadText);
}

ProblemField LayoutField(ProblemField field, ProblemField::Get otherwise, size_t offset) {
  return field.Words(LayoutNames(), kLayoutText)
      .KernelWords(kLayoutsInKernels)
      .Else(otherwise)
      .Call(NarrowMember(offset));
}

std::vector<ProblemField> MakeTable() {
  return {
      ClassField<&Conv::direction>("dir", "direction")
          .Words(ConvDirectionNames(), "fwd, bwd_data or bwd_weights")
          .KernelWords(kDirectionsInKernels)
          .Required()
          .Call(NarrowMember(ATTUNE_AT(direction))),
      ClassField<&Conv::mode>("mode", "mode")
          .Words(kModeWords, "conv or trans")
          .KernelWords(kModesInKernels),
      // Texts of 3-D convolutions have the key d.
      ClassField<&Conv::spatial_rank>("", "spatial_rank")
          .Call(NarrowMember(ATTUNE_AT(spatial_rank), 2)),
      SizeField<&Conv::batch>("n", kBatchField).Required().Call(WideMember(ATTUNE_AT(batch), 1)),
      SizeField<&Conv::in_channels>("c", "in_channels")
          .Required()
          .Call(WideMember(ATTUNE_AT(in_channels), 1)),
      InField<0>("d", "in_d").Else(RequiredIn3d), InField<1>("h", "in_h"), InField<2>("w", "in_w"),
      SizeField<&Conv::out_channels>("k", "out_channels")
          .Required()
          .Call(WideMember(ATTUNE_AT(out_channels), 1)),
      FilterField<0>("fd", "filter_d").Else(RequiredIn3d), FilterField<1>("fh", "filter_h"),
      FilterField<2>("fw", "filter_w"),
      SizeField<&Conv::groups>("g", "groups")
          .Within(1, kMaxExtent, kGroupsText)
          .Call(WideMember(ATTUNE_AT(groups), 1)),
      PadField<0>("pd", "pad_d"), PadField<1>("ph", "pad_h"), PadField<2>("pw", "pad_w"),
      StrideField<0>("sd", "stride_d"), StrideField<1>("sh", "stride_h"),
      StrideField<2>("sw", "stride_w"), DilationField<0>("dd", "dilation_d"),
      DilationField<1>("dh", "dilation_h"), DilationField<2>("dw", "dilation_w"),
      OutputPadField<0>("opd"), OutputPadField<1>("oph"), OutputPadField<2>("opw"),
      LayoutField(
          ClassField<&Conv::in_layout>("layout", "in_layout"),
          [](const void* v) {
            return static_cast<int64_t>(Of(v).spatial_rank == 3 ? Layout::kNcdhw : Layout::kNchw);
          },
          ATTUNE_AT(in_layout)),
      LayoutField(
          ClassField<&Conv::weights_layout>("wlayout", "weights_layout"),
          [](const void* v) { return static_cast<int64_t>(Of(v).in_layout); },
          ATTUNE_AT(weights_layout)),
      LayoutField(
          ClassField<&Conv::out_layout>("ylayout", "out_layout"),
          [](const void* v) { return static_cast<int64_t>(Of(v).in_layout); },
          ATTUNE_AT(out_layout)),
      ClassField<&Conv::type>("type", kTypeField)
          .Words(DataTypeNames(), kTypeText)
          .KernelWords(DataTypeNames())
          .Call(TypeMember(ATTUNE_AT(type), kFloatCallTypes)),
      ClassField<&Conv::math>("math", kMathField)
          .Words(MathModeNames(), kMathText)
          .KernelWords(MathModeNames())
          .Call(NarrowMember(ATTUNE_AT(math))),
      ClassField<&Conv::bias>("bias", "bias")
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(bias))),
      ClassField<&Conv::alignment_bytes>("align", kAlignmentField)
          .Within(1, kMaxAlignmentBytes, kAlignmentText)
          .Call(NarrowMember(ATTUNE_AT(alignment_bytes))),
      ClassField<&Conv::deterministic>("det", kDeterministicField)
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(deterministic)))};
}

#undef ATTUNE_AT

const TextField* FindKey(const TextFields& text, std::string_view key) {
  const auto found = std::find_if(text.fields.begin(), text.fields.end(),
                                  [key](const TextField& field) { return field.key == key; });
  return found == text.fields.end() ? nullptr : &*found;
}

// 3 if the text has the key d, which needs fd. The other keys of the depth axis need both.
Parsed<int> SpatialRankOf(const TextFields& text) {
  if (FindKey(text, "d") != nullptr) {
    if (FindKey(text, "fd") != nullptr) return 3;
    return ErrorAtOffset(0, "conv@1 has the key d, which makes it 3-D, but no fd.");
  }
  for (const std::string_view key : {"fd", "pd", "sd", "dd", "opd"}) {
    const TextField* const field = FindKey(text, key);
    if (field == nullptr) continue;
    return ErrorAtOffset(field->key_offset,
                         fmt::format("Key {} needs the key d, which makes a conv 3-D.", key));
  }
  return 2;
}

// Appends the strides of the operand with one of `names`, as `prefix`_stride_*.
void AddStrides(const Conv& conv, const std::vector<std::string_view>& names,
                std::string_view prefix, std::string_view channel_names,
                Operator::Derived& derived) {
  for (const Operand& operand : OperandsOf(conv)) {
    if (std::find(names.begin(), names.end(), operand.name) == names.end()) continue;
    const std::vector<int64_t>& strides = operand.tensor.strides;
    const size_t rank = strides.size() - 2;
    derived.emplace_back(fmt::format("{}_stride_{}", prefix, channel_names[0]), strides[0]);
    derived.emplace_back(fmt::format("{}_stride_{}", prefix, channel_names[1]), strides[1]);
    for (size_t axis = 0; axis < kAxes.size(); ++axis) {
      // A 2-D tensor has no depth: the index is 0, and so is the stride.
      const size_t skipped = kAxes.size() - rank;
      derived.emplace_back(fmt::format("{}_stride_{}", prefix, kAxes[axis]),
                           axis < skipped ? int64_t{0} : strides[2 + axis - skipped]);
    }
  }
}

class ConvOp final : public TypedOperator<Conv> {
 public:
  std::string_view name() const override { return "conv"; }
  std::span<const ProblemField> fields() const override {
    static const NeverDestroyed<std::vector<ProblemField>> table(MakeTable());
    return *table;
  }

  std::vector<Operand> Operands(const Problem& problem) const override {
    return OperandsOf(Of(problem));
  }
  std::vector<std::string> OperandNames() const override {
    return {"x", "w", "bias", "y", "dx", "dw", "dy"};
  }
  double Flops(const Problem& problem) const override { return FlopsOf(Of(problem)); }
  int64_t ReductionLength(const Problem& problem) const override {
    return ReductionLengthOf(Of(problem));
  }
  const Reference* reference() const override { return &ConvReference(); }

  std::vector<std::string> SizeNames() const override;
  Derived DerivedSizes(const Problem& problem) const override;
  std::vector<std::string> DerivedNames() const override;
  std::vector<Problem> EverydayProblems() const override { return EverydayConvs(); }

  std::string FamilyOf(const Problem& problem) const override {
    return attune::FamilyOf(Of(problem));
  }
  Position PositionOf(const Problem& problem) const override {
    return attune::PositionOf(Of(problem));
  }
  std::string FeaturesName() const override { return "conv_shape_3"; }
  std::vector<std::string> FeatureNames() const override { return ConvFeatureNames(); }
  std::vector<double> FeatureValues(const Problem& problem) const override {
    return FeatureValuesOf(Of(problem));
  }
  std::string LabelOf(const Problem& problem) const override {
    return attune::LabelOf(Of(problem));
  }

  std::string_view driver_verb() const override { return "conv"; }
  Parsed<std::vector<Problem>> ReadDriver(const DriverLine& line,
                                          std::string_view type) const override {
    return ReadConvCommand(line, type);
  }

 private:
  std::optional<TextError> Prepare(const TextFields& text, Conv& conv) const override {
    const auto rank = SpatialRankOf(text);
    if (!rank) return rank.error();
    conv.spatial_rank = *rank;
    return std::nullopt;
  }

  Status FinishCall(CallClasses classes, Conv& conv) const override {
    conv.alignment_bytes = AlignmentOfCall(conv.alignment_bytes, conv.type, classes);
    return Status::Ok();
  }

  void Grow(const Keeps& keeps, Conv& conv) const override {
    if (!keeps("in_channels")) conv.in_channels = conv.groups;
    if (!keeps("out_channels")) conv.out_channels = conv.groups;
    for (size_t axis = 0; axis < kAxes.size(); ++axis) {
      if (keeps(fmt::format("in_{}", kAxes[axis]))) continue;
      conv.in[axis] = conv.dilation[axis] * (conv.filter[axis] - 1) + 1;
    }
  }
};

Operator::Derived ConvOp::DerivedSizes(const Problem& problem) const {
  const Conv& conv = Of(problem);
  Derived derived;
  const Spatial out = OutputExtent(conv);
  for (size_t axis = 0; axis < kAxes.size(); ++axis) {
    derived.emplace_back(fmt::format("out_{}", kAxes[axis]), out[axis]);
  }
  AddStrides(conv, {"x", "dx"}, "x", "nc", derived);
  AddStrides(conv, {"w", "dw"}, "w", "kc", derived);
  AddStrides(conv, {"y", "dy"}, "y", "nk", derived);
  return derived;
}

// Names of axes are last, as in the keys of cached programs.
std::vector<std::string> ConvOp::SizeNames() const {
  std::vector<std::string> names = TypedOperator::SizeNames();
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
    return std::none_of(kAxes.begin(), kAxes.end(), [&](std::string_view axis) {
      return name.ends_with(fmt::format("_{}", axis));
    });
  });
  return names;
}

std::vector<std::string> ConvOp::DerivedNames() const {
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

}  // namespace

const Operator& ConvOperator() {
  static const NeverDestroyed<ConvOp> op{ConvOp()};
  return *op;
}

}  // namespace attune
