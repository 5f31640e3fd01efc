// The table of fields of a batch norm, and the operator.
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "attune/ops/batch_norm.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/batch_norm/batch_norm_operator.h"
#include "attune/problem/limits.h"
#include "attune/problem/typed_operator.h"

namespace attune {
namespace {

// In the order of the enumerations.
constexpr std::string_view kPassWords[] = {"train", "infer", "bwd"};
constexpr std::string_view kPassesInKernels[] = {"training", "inference", "backward"};
constexpr std::string_view kModeWords[] = {"spatial", "act"};
constexpr std::string_view kModesInKernels[] = {"spatial", "per_activation"};
constexpr std::string_view kLayoutWords[] = {"nchw", "nhwc", "ncdhw", "ndhwc"};
constexpr std::string_view kLayoutsInKernels[] = {"channels_first", "channels_last",
                                                  "channels_first", "channels_last"};
constexpr std::string_view kFusionWords[] = {"none", "relu", "add", "add_relu"};

#define ATTUNE_AT(member) offsetof(attune_batch_norm, member)

std::vector<ProblemField> SizeFields() {
  return {
      SizeField<&BatchNorm::batch>("n", kBatchField)
          .Required()
          .Coordinate()
          .Call(WideMember(ATTUNE_AT(batch))),
      SizeField<&BatchNorm::channels>("c", "channels")
          .Required()
          .Coordinate()
          .Call(WideMember(ATTUNE_AT(channels))),
      SizeField<&BatchNorm::depth>("d", "depth").Coordinate().Call(WideMember(ATTUNE_AT(depth), 1)),
      SizeField<&BatchNorm::height>("h", "height")
          .Coordinate()
          .Call(WideMember(ATTUNE_AT(height), 1)),
      SizeField<&BatchNorm::width>("w", "width")
          .Coordinate()
          .Call(WideMember(ATTUNE_AT(width), 1))};
}

std::vector<ProblemField> MakeTable() {
  std::vector<ProblemField> table = {
      ClassField<&BatchNorm::pass>("dir", "direction")
          .Words(kPassWords, "train, infer or bwd")
          .KernelWords(kPassesInKernels)
          .Call(NarrowMember(ATTUNE_AT(pass)).Named("pass")),
      ClassField<&BatchNorm::mode>("mode", "mode")
          .Words(kModeWords, "spatial or act")
          .KernelWords(kModesInKernels)
          .Call(NarrowMember(ATTUNE_AT(per_activation)).Named("per_activation"))};
  for (const ProblemField& field : SizeFields()) table.push_back(field);
  const ProblemField classes[] = {
      ClassField<&BatchNorm::layout>("layout", "layout")
          .Words(kLayoutWords, kLayoutText)
          .KernelWords(kLayoutsInKernels)
          .Else([](const void* value) {
            const bool has_depth = static_cast<const BatchNorm*>(value)->depth > 1;
            return static_cast<int64_t>(has_depth ? BatchNormLayout::kNcdhw
                                                  : BatchNormLayout::kNchw);
          })
          .Call(NarrowMember(ATTUNE_AT(layout))),
      ClassField<&BatchNorm::affine>("affine", "affine")
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(affine))),
      ClassField<&BatchNorm::running>("running", "running")
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(running))),
      ClassField<&BatchNorm::saved>("saved", "saved")
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(saved))),
      ClassField<&BatchNorm::fusion>("fuse", "fusion")
          .Words(kFusionWords, "none, relu, add or add_relu")
          .KernelWords(kFusionWords)
          .Call(NarrowMember(ATTUNE_AT(fusion))),
      ClassField<&BatchNorm::type>("type", kTypeField)
          .Words(DataTypeNames(), kTypeText)
          .KernelWords(DataTypeNames())
          .Call(TypeMember(ATTUNE_AT(type), kFloatCallTypes)),
      ClassField<&BatchNorm::alignment_bytes>("align", kAlignmentField)
          .Within(1, kMaxAlignmentBytes, kAlignmentText)
          .Call(NarrowMember(ATTUNE_AT(alignment_bytes))),
      ClassField<&BatchNorm::deterministic>("det", kDeterministicField)
          .Words(FlagWords(), kFlagText)
          .Call(NarrowMember(ATTUNE_AT(deterministic)))};
  table.insert(table.end(), std::begin(classes), std::end(classes));
  return table;
}

#undef ATTUNE_AT

// Floating point operations for each element: training a sum, a difference, a square, a sum and a
// product with an addition; backward two sums of one and of two products, and dx.
constexpr double kFlopsOfPass[] = {6, 2, 10};

class BatchNormOp final : public TypedOperator<BatchNorm> {
 public:
  std::string_view name() const override { return "batch_norm"; }
  std::span<const ProblemField> fields() const override {
    static const NeverDestroyed<std::vector<ProblemField>> table(MakeTable());
    return *table;
  }
  size_t call_bytes() const override { return sizeof(attune_batch_norm); }

  std::vector<Operand> Operands(const Problem& problem) const override {
    return ListOperands(Of(problem), nullptr);
  }
  std::vector<std::string> OperandNames() const override {
    return {"x",
            "dy",
            "residual",
            "gamma",
            "beta",
            "running_mean",
            "running_variance",
            "saved_mean",
            "mean",
            "variance",
            "dgamma",
            "saved_inverse_deviation",
            "dbeta",
            "dresidual",
            "y",
            "dx"};
  }
  double Flops(const Problem& problem) const override {
    const BatchNorm& norm = Of(problem);
    const double added = HasAdd(norm.fusion) + HasRelu(norm.fusion);
    return (kFlopsOfPass[static_cast<size_t>(norm.pass)] + added) *
           static_cast<double>(ShapeOf(norm).elements());
  }
  int64_t ReductionLength(const Problem& problem) const override {
    const bool is_inference = Of(problem).pass == BatchNormPass::kInference;
    return is_inference ? 1 : ShapeOf(Of(problem)).count();
  }
  Scalars ScalarsOf(const Problem&) const override {
    return {kBatchNormEpsilon, kBatchNormMomentum};
  }
  bool IsMemoryBound() const override { return true; }
  bool PromisesSpecialValues() const override { return true; }
  const Reference* reference() const override { return &BatchNormReference(); }

  std::vector<std::string> DerivedNames() const override {
    return {"outer", "groups", "inner", "count"};
  }
  Derived DerivedSizes(const Problem& problem) const override {
    const BatchNormShape shape = ShapeOf(Of(problem));
    return {{"outer", shape.outer},
            {"groups", shape.groups},
            {"inner", shape.inner},
            {"count", shape.count()}};
  }
  std::vector<Problem> EverydayProblems() const override;

  std::string_view driver_verb() const override { return "bnorm"; }
  Parsed<std::vector<Problem>> ReadDriver(const DriverLine& line,
                                          std::string_view type) const override {
    return ReadBatchNormCommand(line, type);
  }

 private:
  void Normalize(BatchNorm& norm) const override {
    const bool is_backward = norm.pass == BatchNormPass::kBackward;
    if (norm.pass != BatchNormPass::kTraining) norm.running = false;
    if (norm.pass == BatchNormPass::kInference) norm.saved = false;
    if (is_backward && norm.fusion == BatchNormFusion::kAdd) norm.fusion = BatchNormFusion::kNone;
    if (norm.depth > 1) return;
    if (norm.layout == BatchNormLayout::kNcdhw) norm.layout = BatchNormLayout::kNchw;
    if (norm.layout == BatchNormLayout::kNdhwc) norm.layout = BatchNormLayout::kNhwc;
  }

  Status FinishCall(CallClasses classes, BatchNorm& norm) const override {
    norm.alignment_bytes = AlignmentOfCall(norm.alignment_bytes, DataType::kF32, classes);
    return Status::Ok();
  }

  // A group has two values.
  void Grow(const Keeps& keeps, BatchNorm& norm) const override {
    if (ShapeOf(norm).count() > 1) return;
    if (!keeps(kBatchField)) {
      norm.batch = 2;
    } else {
      norm.width = 2;
    }
  }
};

// Each pass with each fusion, and backward with saved statistics and without.
std::vector<BatchNorm> EverydayClasses() {
  std::vector<BatchNorm> classes;
  for (const BatchNormPass pass :
       {BatchNormPass::kTraining, BatchNormPass::kInference, BatchNormPass::kBackward}) {
    for (const BatchNormFusion fusion : {BatchNormFusion::kNone, BatchNormFusion::kRelu,
                                         BatchNormFusion::kAdd, BatchNormFusion::kAddRelu}) {
      const bool is_backward = pass == BatchNormPass::kBackward;
      if (is_backward && fusion == BatchNormFusion::kAdd) continue;
      BatchNorm norm;
      norm.pass = pass;
      norm.fusion = fusion;
      norm.running = pass == BatchNormPass::kTraining;
      norm.saved = pass != BatchNormPass::kInference;
      classes.push_back(norm);
      norm.saved = false;
      if (is_backward) classes.push_back(norm);
    }
  }
  return classes;
}

// Large and small images and channel counts of every alignment, which different kernels take.
std::vector<Problem> BatchNormOp::EverydayProblems() const {
  constexpr std::array<std::array<int64_t, 2>, 4> kImages = {{{56, 56}, {6, 6}, {5, 2}, {7, 7}}};
  constexpr int64_t kChannels[] = {64, 36, 34, 33};
  std::vector<Problem> problems;
  for (BatchNorm norm : EverydayClasses()) {
    norm.batch = 32;
    for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBf16}) {
      norm.type = type;
      norm.layout = BatchNormLayout::kNchw;
      norm.channels = 64;
      for (const auto& [height, width] : kImages) {
        norm.height = height;
        norm.width = width;
        problems.emplace_back(norm);
      }
      norm.layout = BatchNormLayout::kNhwc;
      norm.height = norm.width = 56;
      for (const int64_t channels : kChannels) {
        norm.channels = channels;
        problems.emplace_back(norm);
      }
    }
  }
  return problems;
}

Status CheckSizes(const BatchNorm& norm) {
  for (const ProblemField& field : SizeFields()) {
    ATTUNE_RETURN_IF_ERROR(CheckRange("batch norm", field.name, field.get(&norm), 1, kMaxExtent));
  }
  const double elements = static_cast<double>(norm.batch) * static_cast<double>(norm.channels) *
                          static_cast<double>(norm.depth) * static_cast<double>(norm.height) *
                          static_cast<double>(norm.width);
  if (elements > static_cast<double>(kMaxOperandElements)) {
    return InvalidArgument(fmt::format(
        "The tensor of the batch norm has more than {} elements ({} x {} x {} x {} x {}).",
        kMaxOperandElements, norm.batch, norm.channels, norm.depth, norm.height, norm.width));
  }
  return Status::Ok();
}

}  // namespace

Status Validate(const BatchNorm& norm) {
  ATTUNE_RETURN_IF_ERROR(CheckSizes(norm));
  const auto layout = static_cast<size_t>(norm.layout);
  if (norm.depth > 1 && !HasDepth(norm.layout)) {
    return InvalidArgument(fmt::format("The batch norm has depth {} and layout {}, which has none.",
                                       norm.depth, kLayoutWords[layout]));
  }
  if (norm.type != DataType::kF32 && norm.type != DataType::kF16 && norm.type != DataType::kBf16) {
    return InvalidArgument(
        fmt::format("The batch norm is of type {}; f32, f16 and bf16 are known.", Name(norm.type)));
  }
  if (norm.pass != BatchNormPass::kInference && ShapeOf(norm).count() == 1) {
    return InvalidArgument(
        fmt::format("The batch norm has one value for each mean in direction {}, which needs two.",
                    kPassWords[static_cast<size_t>(norm.pass)]));
  }
  return CheckAlignment("batch norm", norm.alignment_bytes, DataType::kF32);
}

const Operator& BatchNormOperator() {
  static const NeverDestroyed<BatchNormOp> op{BatchNormOp()};
  return *op;
}

}  // namespace attune
