// The table of fields of a matrix product, and the operator.
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "attune/attune.h"
#include "attune/base/never_destroyed.h"
#include "attune/ops/gemm/gemm_operator.h"
#include "attune/problem/limits.h"
#include "attune/problem/typed_operator.h"

namespace attune {
namespace {

constexpr std::string_view kTransposeText = "n or t";
constexpr std::string_view kScalarText = "zero, one or other";
constexpr std::string_view kLeadingText =
    "an integer from its stored rows to 2147483647, or 0 for the stored rows";
constexpr std::string_view kStrideText = "an integer in [0, 1099511627775]";
constexpr std::string_view kStrideOfCText =
    "an integer in [1, 1099511627775], or 0 for matrices one after the other";

// In the order of the enumerations.
constexpr std::string_view kTransposeWords[] = {"n", "t"};
constexpr std::string_view kScalarWords[] = {"zero", "one", "other"};
constexpr std::string_view kBiasWords[] = {"none", "row", "column"};
constexpr std::string_view kBiasInKernels[] = {"none", "per_row", "per_column"};
constexpr std::string_view kActivationWords[] = {"none", "relu", "gelu", "tanh", "sigmoid"};

const Gemm& Of(const void* value) { return *static_cast<const Gemm*>(value); }

// The same product with packed leading dimensions, or with packed batch strides.
Gemm Packed(const void* value) {
  Gemm gemm = Of(value);
  gemm.lda = gemm.ldb = gemm.ldc = 0;
  return Normalized(gemm);
}
Gemm Stacked(const void* value) {
  Gemm gemm = Of(value);
  gemm.stride_a = gemm.stride_b = gemm.stride_c = kPackedStride;
  return Normalized(gemm);
}

constexpr ProblemField LeadingField(ProblemField field, ProblemField::Get packed, size_t offset) {
  return field.Within(0, kMaxExtent, kLeadingText)
      .Else(packed)
      .Smallest(0)
      .Call(WideMember(offset));
}
constexpr ProblemField StrideField(ProblemField field, ProblemField::Get packed, size_t offset) {
  return field.Within(0, kMaxOperandElements, kStrideText)
      .Else(packed)
      .Smallest(0)
      .Call(WideMember(offset));
}

#define ATTUNE_AT(member) offsetof(attune_gemm, member)

const std::vector<ProblemField>& Table() {
  static const NeverDestroyed<std::vector<ProblemField>> table(std::vector<ProblemField>{
      SizeField<&Gemm::m>("m", "m").Required().Coordinate().Call(WideMember(ATTUNE_AT(m))),
      SizeField<&Gemm::n>("n", "n").Required().Coordinate().Call(WideMember(ATTUNE_AT(n))),
      SizeField<&Gemm::k>("k", "k").Required().Coordinate().Call(WideMember(ATTUNE_AT(k))),
      ClassField<&Gemm::trans_a>("ta", "trans_a")
          .Words(kTransposeWords, kTransposeText)
          .Call(NarrowMember(ATTUNE_AT(trans_a))),
      ClassField<&Gemm::trans_b>("tb", "trans_b")
          .Words(kTransposeWords, kTransposeText)
          .Call(NarrowMember(ATTUNE_AT(trans_b))),
      LeadingField(
          SizeField<&Gemm::lda>("lda", "lda"), [](const void* v) { return Packed(v).lda; },
          ATTUNE_AT(lda)),
      LeadingField(
          SizeField<&Gemm::ldb>("ldb", "ldb"), [](const void* v) { return Packed(v).ldb; },
          ATTUNE_AT(ldb)),
      LeadingField(
          SizeField<&Gemm::ldc>("ldc", "ldc"), [](const void* v) { return Packed(v).ldc; },
          ATTUNE_AT(ldc)),
      SizeField<&Gemm::batch_count>("batch", "batch_count")
          .Coordinate()
          .Call(WideMember(ATTUNE_AT(batch_count), 1)),
      StrideField(
          SizeField<&Gemm::stride_a>("sa", "stride_a"),
          [](const void* v) { return Stacked(v).stride_a; }, ATTUNE_AT(stride_a)),
      StrideField(
          SizeField<&Gemm::stride_b>("sb", "stride_b"),
          [](const void* v) { return Stacked(v).stride_b; }, ATTUNE_AT(stride_b)),
      StrideField(
          SizeField<&Gemm::stride_c>("sc", "stride_c"),
          [](const void* v) { return Stacked(v).stride_c; }, ATTUNE_AT(stride_c))
          .Within(0, kMaxOperandElements, kStrideOfCText),
      ClassField<&Gemm::type>("type", "type")
          .Words(DataTypeNames(), kTypeText)
          .KernelWords(DataTypeNames())
          .Call(TypeMember(ATTUNE_AT(type), kCallTypes)),
      ClassField<&Gemm::c_type>("ctype", "c_type")
          .Words(DataTypeNames(), kTypeText)
          .KernelWords(DataTypeNames())
          .Else([](const void* v) { return TypeNumber(Of(v).type); }),
      ClassField<&Gemm::math>("math", "math")
          .Words(MathModeNames(), kMathText)
          .KernelWords(MathModeNames())
          .Call(NarrowMember(ATTUNE_AT(math))),
      ClassField<&Gemm::alpha>("alpha", "alpha_class")
          .Words(kScalarWords, kScalarText)
          .KernelWords(kScalarWords),
      ClassField<&Gemm::beta>("beta", "beta_class")
          .Words(kScalarWords, kScalarText)
          .KernelWords(kScalarWords),
      ClassField<&Gemm::bias>("bias", "bias")
          .Words(kBiasWords, "none, row or column")
          .KernelWords(kBiasInKernels)
          .Call(NarrowMember(ATTUNE_AT(bias))),
      ClassField<&Gemm::activation>("act", "activation")
          .Words(kActivationWords, "none, relu, gelu, tanh or sigmoid")
          .KernelWords(kActivationWords)
          .Call(NarrowMember(ATTUNE_AT(activation))),
      ClassField<&Gemm::alignment_bytes>("align", kAlignmentField)
          .Within(1, kMaxAlignmentBytes, kAlignmentText)
          .Call(NarrowMember(ATTUNE_AT(alignment_bytes))),
      ClassField<&Gemm::deterministic>("det", kDeterministicField)
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(deterministic)))});
  return *table;
}

#undef ATTUNE_AT

class GemmOp final : public TypedOperator<Gemm> {
 public:
  std::string_view name() const override { return "gemm"; }
  std::span<const ProblemField> fields() const override { return Table(); }

  std::vector<Operand> Operands(const Problem& problem) const override {
    return OperandsOf(Of(problem));
  }
  std::vector<std::string> OperandNames() const override { return {"a", "b", "bias", "c"}; }
  double Flops(const Problem& problem) const override;
  double CompulsoryBytes(const Problem& problem) const override;
  int64_t ReductionLength(const Problem& problem) const override { return Of(problem).k; }
  Scalars ScalarsOf(const Problem& problem) const override {
    return {AlphaValue(Of(problem)), BetaValue(Of(problem))};
  }
  bool PromisesSpecialValues() const override { return true; }
  const Reference* reference() const override { return &GemmReference(); }
  std::vector<Problem> EverydayProblems() const override { return EverydayGemms(); }

  std::string FamilyOf(const Problem& problem) const override {
    return attune::FamilyOf(Of(problem));
  }
  std::string FeaturesName() const override { return "gemm_shape_1"; }
  std::vector<std::string> FeatureNames() const override { return GemmFeatureNames(); }
  std::vector<double> FeatureValues(const Problem& problem) const override {
    return FeatureValuesOf(Of(problem));
  }
  std::string LabelOf(const Problem& problem) const override {
    return attune::LabelOf(Of(problem));
  }

  std::string_view driver_verb() const override { return "gemm"; }
  Parsed<std::vector<Problem>> ReadDriver(const DriverLine& line,
                                          std::string_view type) const override {
    return ReadGemmCommand(line, type);
  }

 private:
  void Normalize(Gemm& gemm) const override { gemm = Normalized(gemm); }

  Status FinishCall(CallClasses classes, Gemm& gemm) const override {
    gemm.c_type = gemm.type == DataType::kI8 ? DataType::kI32 : gemm.type;
    gemm.alignment_bytes = AlignmentOfCall(gemm.alignment_bytes, gemm.c_type, classes);
    ATTUNE_ASSIGN_OR_RETURN(gemm.alpha, ScalarClassOf(classes.alpha, "alpha_class"));
    ATTUNE_ASSIGN_OR_RETURN(gemm.beta, ScalarClassOf(classes.beta, "beta_class"));
    return Status::Ok();
  }

  static Result<ScalarClass> ScalarClassOf(int number, const char* field) {
    if (number >= 0 && number < std::ssize(kScalarWords)) return static_cast<ScalarClass>(number);
    return InvalidArgument(
        fmt::format("Field '{}' is {}; it has to be from 0 to 2.", field, number));
  }
};

double GemmOp::Flops(const Problem& problem) const {
  const Gemm& gemm = Of(problem);
  if (MultipliesNothing(gemm)) return 0;
  return 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
         static_cast<double>(gemm.k) * static_cast<double>(gemm.batch_count);
}

double GemmOp::CompulsoryBytes(const Problem& problem) const {
  double bytes = TypedOperator::CompulsoryBytes(problem);
  if (!MultipliesNothing(Of(problem))) return bytes;
  const std::vector<Operand> operands = OperandsOf(Of(problem));
  for (size_t i = 0; i < 2; ++i) bytes -= OnceBytes(operands[i].tensor);
  return bytes;
}

}  // namespace

const Operator& GemmOperator() {
  static const NeverDestroyed<GemmOp> op{GemmOp()};
  return *op;
}

}  // namespace attune
