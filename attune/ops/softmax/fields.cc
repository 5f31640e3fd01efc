// The table of fields of a softmax, and the operator.
#include <cstddef>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "attune/ops/softmax.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/ops/softmax/softmax_operator.h"
#include "attune/problem/limits.h"
#include "attune/problem/typed_operator.h"

namespace attune {
namespace {

// In the order of the enumerations.
constexpr std::string_view kDirectionWords[] = {"fwd", "bwd"};
constexpr std::string_view kDirectionsInKernels[] = {"forward", "backward"};
constexpr std::string_view kMaskWords[] = {"none", "causal", "additive"};

#define ATTUNE_AT(member) offsetof(attune_softmax, member)

std::vector<ProblemField> MakeTable() {
  return {SizeField<&Softmax::outer>("outer", "outer")
              .Required()
              .Coordinate()
              .Call(WideMember(ATTUNE_AT(outer))),
          SizeField<&Softmax::length>("length", "length")
              .Required()
              .Coordinate()
              .Call(WideMember(ATTUNE_AT(length))),
          SizeField<&Softmax::inner>("inner", "inner")
              .Coordinate()
              .Call(WideMember(ATTUNE_AT(inner), 1)),
          ClassField<&Softmax::backward>("dir", "direction")
              .Words(kDirectionWords, "fwd or bwd")
              .KernelWords(kDirectionsInKernels)
              .Call(NarrowMember(ATTUNE_AT(direction))),
          ClassField<&Softmax::logarithm>("log", "logarithm")
              .Words(FlagWords(), kFlagText)
              .Call(NarrowMember(ATTUNE_AT(logarithm))),
          ClassField<&Softmax::mask>("mask", "mask")
              .Words(kMaskWords, "none, causal or additive")
              .KernelWords(kMaskWords)
              .Call(NarrowMember(ATTUNE_AT(mask))),
          SizeField<&Softmax::queries>("queries", "queries")
              .Coordinate()
              .Call(WideMember(ATTUNE_AT(queries), 1)),
          ClassField<&Softmax::scaled>("scaled", "scaled")
              .Words(FlagWords(), kFlagText)
              .Call(NarrowMember(ATTUNE_AT(scaled))),
          ClassField<&Softmax::type>("type", kTypeField)
              .Words(DataTypeNames(), kTypeText)
              .KernelWords(DataTypeNames())
              .Call(TypeMember(ATTUNE_AT(type), kFloatCallTypes)),
          ClassField<&Softmax::alignment_bytes>("align", kAlignmentField)
              .Within(1, kMaxAlignmentBytes, kAlignmentText)
              .Call(WideMember(ATTUNE_AT(alignment_bytes))),
          ClassField<&Softmax::deterministic>("det", kDeterministicField)
              .Words(FlagWords(), kFlagText)
              .Call(NarrowMember(ATTUNE_AT(deterministic)))};
}

#undef ATTUNE_AT

double Elements(const Softmax& softmax) {
  return static_cast<double>(softmax.outer) * static_cast<double>(softmax.length) *
         static_cast<double>(softmax.inner);
}

class SoftmaxOp final : public TypedOperator<Softmax> {
 public:
  std::string_view name() const override { return "softmax"; }
  // Texts of version 1 are commands `MIOpenDriver softmax`.
  int version() const override { return 2; }
  std::span<const ProblemField> fields() const override {
    static const NeverDestroyed<std::vector<ProblemField>> table(MakeTable());
    return *table;
  }

  size_t call_bytes() const override { return sizeof(attune_softmax); }

  std::vector<Operand> Operands(const Problem& problem) const override;
  std::vector<std::string> OperandNames() const override { return {"x", "mask", "y", "dy", "dx"}; }
  // For each element a maximum, a difference, an exponential, a sum and a quotient; backward two
  // products and two sums.
  double Flops(const Problem& problem) const override {
    return (Of(problem).backward ? 4.0 : 5.0) * Elements(Of(problem));
  }
  int64_t ReductionLength(const Problem& problem) const override { return Of(problem).length; }
  Scalars ScalarsOf(const Problem& problem) const override {
    return {Of(problem).scaled ? kSoftmaxScale : 1, 0};
  }
  bool IsMemoryBound() const override { return true; }
  bool PromisesSpecialValues() const override { return true; }
  const Reference* reference() const override { return &SoftmaxReference(); }
  std::vector<Problem> EverydayProblems() const override;

 private:
  Status FinishCall(CallClasses classes, Softmax& softmax) const override {
    softmax.alignment_bytes = AlignmentOfCall(softmax.alignment_bytes, softmax.type, classes);
    if (!softmax.scaled && classes.alpha != 1) {
      return InvalidArgument("The call has an alpha other than 1, and its field 'scaled' is 0.");
    }
    if (classes.beta == 0) return Status::Ok();
    return InvalidArgument("The call has a beta other than 0, and a softmax adds to nothing.");
  }

  // The mask has a row for each query.
  void Grow(const Keeps& keeps, Softmax& softmax) const override {
    if (!keeps("outer")) softmax.outer = softmax.queries;
  }
};

std::vector<Operand> SoftmaxOp::Operands(const Problem& problem) const {
  const Softmax& softmax = Of(problem);
  const TensorDesc tensor{softmax.type,
                          {softmax.outer, softmax.length, softmax.inner},
                          {softmax.length * softmax.inner, softmax.inner, 1}};
  if (softmax.backward) {
    return {{"y", OperandRole::kIn, tensor},
            {"dy", OperandRole::kIn, tensor},
            {"dx", OperandRole::kOut, tensor}};
  }
  std::vector<Operand> operands = {{"x", OperandRole::kIn, tensor}};
  if (softmax.mask == SoftmaxMask::kAdditive) {
    operands.push_back({"mask",
                        OperandRole::kIn,
                        {softmax.type, {softmax.queries, softmax.length}, {softmax.length, 1}}});
  }
  operands.push_back({"y", OperandRole::kOut, tensor});
  return operands;
}

std::vector<Problem> SoftmaxOp::EverydayProblems() const {
  std::vector<Problem> problems;
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBf16}) {
    for (const bool backward : {false, true}) {
      for (const bool logarithm : {false, true}) {
        Softmax softmax;
        softmax.outer = 64;
        softmax.length = 997;
        softmax.type = type;
        softmax.backward = backward;
        softmax.logarithm = logarithm;
        problems.emplace_back(softmax);
        softmax.inner = 64;
        problems.emplace_back(softmax);
        if (backward || logarithm) continue;
        softmax.inner = 1;
        softmax.scaled = true;
        softmax.queries = 64;
        for (const SoftmaxMask mask : {SoftmaxMask::kCausal, SoftmaxMask::kAdditive}) {
          softmax.mask = mask;
          problems.emplace_back(softmax);
        }
      }
    }
  }
  return problems;
}

Status CheckMask(const Softmax& softmax) {
  if (softmax.mask == SoftmaxMask::kNone) {
    if (softmax.queries == 1) return Status::Ok();
    return InvalidArgument(fmt::format(
        "The softmax has {} queries and no mask, which alone has queries.", softmax.queries));
  }
  if (softmax.mask == SoftmaxMask::kCausal && softmax.logarithm) {
    return InvalidArgument(
        "The softmax has a causal mask and a logarithm, which is infinite there.");
  }
  if (softmax.backward) {
    return InvalidArgument("The softmax has a mask in direction bwd, where y has it already.");
  }
  if (softmax.inner != 1) {
    return InvalidArgument(fmt::format(
        "The softmax has a mask and an inner extent of {}; a mask needs 1.", softmax.inner));
  }
  if (softmax.outer % softmax.queries == 0) return Status::Ok();
  return InvalidArgument(fmt::format("{} queries of the softmax do not divide its {} rows.",
                                     softmax.queries, softmax.outer));
}

}  // namespace

Status Validate(const Softmax& softmax) {
  ATTUNE_RETURN_IF_ERROR(CheckRange("softmax", "outer", softmax.outer, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("softmax", "length", softmax.length, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("softmax", "inner", softmax.inner, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("softmax", "queries", softmax.queries, 1, kMaxExtent));
  if (Elements(softmax) > static_cast<double>(kMaxOperandElements)) {
    return InvalidArgument(
        fmt::format("The tensor of the softmax has more than {} elements ({} x {} x {}).",
                    kMaxOperandElements, softmax.outer, softmax.length, softmax.inner));
  }
  if (softmax.type != DataType::kF32 && softmax.type != DataType::kF16 &&
      softmax.type != DataType::kBf16) {
    return InvalidArgument(
        fmt::format("The softmax is of type {}; f32, f16 and bf16 are known.", Name(softmax.type)));
  }
  ATTUNE_RETURN_IF_ERROR(CheckMask(softmax));
  return CheckAlignment("softmax", softmax.alignment_bytes, softmax.type);
}

const Operator& SoftmaxOperator() {
  static const NeverDestroyed<SoftmaxOp> op{SoftmaxOp()};
  return *op;
}

}  // namespace attune
