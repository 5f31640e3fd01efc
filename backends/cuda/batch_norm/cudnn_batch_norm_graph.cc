#include "backends/cuda/batch_norm/cudnn_batch_norm_graph.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/data_type.h"
#include "attune/base/fingerprint.h"
#include "attune/problem/problem.h"
#include "backends/cuda/batch_norm/cudnn_batch_norm.h"
#include "backends/cuda/cudnn/cudnn_graph_parts.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/scratch.h"

// The attribute for NaN in pointwise operations is deprecated; older versions drop NaN without it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

// The norm operation reads this many bytes at once.
constexpr int64_t kNormBytes = 16;

// One value for each group, as a tensor that is broadcast over the norm's own.
TensorDesc ValuesBesides(const TensorDesc& tensor, BatchNormMode mode) {
  TensorDesc values = tensor;
  values.type = DataType::kF32;
  values.extents.front() = 1;
  if (mode == BatchNormMode::kPerActivation) return values;
  const int64_t channels = tensor.extents[1];
  std::fill(values.extents.begin() + 2, values.extents.end(), 1);
  std::fill(values.strides.begin(), values.strides.end(), channels);
  values.strides[1] = 1;
  return values;
}

TensorDesc NumberBesides(const TensorDesc& tensor) {
  TensorDesc number;
  number.type = DataType::kF32;
  number.extents.assign(tensor.extents.size(), 1);
  number.strides.assign(tensor.extents.size(), 1);
  return number;
}

// An operand of an operation, by its attribute.
struct NamedPart {
  cudnnBackendAttributeName_t name;
  CudnnGraphParts::Part part;
};

}  // namespace

// Writes the graph of one batch norm.
class NormGraphWriter {
 public:
  using Part = CudnnGraphParts::Part;
  using Source = CudnnBatchNormGraph::Source;

  NormGraphWriter(const Cudnn& cudnn, cudnnHandle_t handle, const BatchNorm& norm)
      : norm_(norm),
        at_(OperandsOf(norm)),
        operands_(Operands(Problem(norm))),
        tensor_(operands_.front().tensor),
        values_(ValuesBesides(tensor_, norm.mode)),
        parts_(cudnn, handle) {}

  Status Write() {
    switch (norm_.pass) {
      case BatchNormPass::kTraining:
        return WriteTraining();
      case BatchNormPass::kBackward:
        return WriteBackward();
      case BatchNormPass::kInference:
        break;
    }
    return WriteInference();
  }

  Result<CudnnBatchNormGraph> Finish() {
    CudnnEngineTerms terms;
    // Engines for pointwise operations report tensor cores, but these operations do not use them.
    const bool has_sums = norm_.pass != BatchNormPass::kInference;
    terms.is_exact = has_sums && norm_.type == DataType::kF32;
    terms.is_deterministic = norm_.deterministic;
    const uint64_t seed = FingerprintOf(Text(Problem(norm_))).low;
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, CudnnGraph::Create(std::move(parts_), terms, seed));
    return CudnnBatchNormGraph(std::move(graph), std::move(sources_),
                               ScratchBytes(SpanBytes(values_)));
  }

 private:
  Result<Part> AddAddressed(const TensorDesc& tensor, CudnnTensorKind kind, Source source) {
    const bool is_operand = source.kind == Source::Kind::kOperand;
    sources_.push_back(source);
    return parts_.AddTensor(
        {.tensor = tensor,
         .kind = kind,
         .alignment_bytes = is_operand ? norm_.alignment_bytes : CudnnTensor::kMostAlignmentBytes});
  }

  // REQUIRES: the problem has the operand.
  Result<Part> AddOperand(int position) {
    const auto index = static_cast<size_t>(position);
    const bool is_vector = operands_[index].tensor.extents.size() == 1;
    return AddAddressed(is_vector ? values_ : tensor_, CudnnTensorKind::kOperand,
                        {Source::Kind::kOperand, index});
  }
  // An output that an operation has to write, in scratch memory where the problem lacks it.
  Result<Part> AddStatistic(int position, size_t scratch_index) {
    if (position >= 0) return AddOperand(position);
    return AddAddressed(values_, CudnnTensorKind::kOperand,
                        {Source::Kind::kScratch, scratch_index});
  }
  Result<Part> AddNumber(Source::Kind kind) {
    return AddAddressed(NumberBesides(tensor_), CudnnTensorKind::kValue, {kind, 0});
  }
  Result<Part> AddBetween(TensorDesc tensor, DataType type) {
    tensor.type = type;
    return parts_.AddTensor({.tensor = std::move(tensor), .kind = CudnnTensorKind::kVirtual});
  }

  // y for the last operation, else a virtual tensor that passes the value to the next operation.
  Result<Part> AddResult(bool is_last) {
    return is_last ? AddOperand(at_.y) : AddBetween(tensor_, DataType::kF32);
  }
  bool is_fused() const { return norm_.fusion != BatchNormFusion::kNone; }

  Status Refer(CudnnDescriptor& operation, std::initializer_list<NamedPart> named) {
    for (const NamedPart& each : named) {
      ATTUNE_RETURN_IF_ERROR(operation.SetDescriptor(each.name, parts_[each.part]));
    }
    return Status::Ok();
  }

  // Computes in f32.
  Status AddPointwise(cudnnPointwiseMode_t mode, std::initializer_list<NamedPart> named) {
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor words,
                            parts_.Begin(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(
        words.SetOne(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode));
    ATTUNE_RETURN_IF_ERROR(
        words.SetOne(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      ATTUNE_RETURN_IF_ERROR(words.SetOne(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
                                          CUDNN_TYPE_NAN_PROPOGATION, CUDNN_PROPAGATE_NAN));
    }
    ATTUNE_ASSIGN_OR_RETURN(const Part described, parts_.Add(std::move(words)));
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor operation,
                            parts_.Begin(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(
        Refer(operation, {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, described}}));
    ATTUNE_RETURN_IF_ERROR(Refer(operation, named));
    return parts_.AddOperation(std::move(operation));
  }
  Status AddUnary(cudnnPointwiseMode_t mode, Part from, Part to) {
    return AddPointwise(mode, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from},
                               {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to}});
  }
  Status AddBinary(cudnnPointwiseMode_t mode, Part left, Part right, Part to) {
    return AddPointwise(mode, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, left},
                               {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, right},
                               {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to}});
  }

  // The residual and the ReLU behind `normalized`, which is y without a fusion.
  Status AddFusion(Part normalized) {
    Part current = normalized;
    if (HasAdd(norm_.fusion)) {
      ATTUNE_ASSIGN_OR_RETURN(const Part residual, AddOperand(at_.residual));
      ATTUNE_ASSIGN_OR_RETURN(const Part sum, AddResult(!HasRelu(norm_.fusion)));
      ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_ADD, current, residual, sum));
      current = sum;
    }
    if (!HasRelu(norm_.fusion)) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const Part y, AddResult(true));
    return AddUnary(CUDNN_POINTWISE_RELU_FWD, current, y);
  }

  Status WriteTraining() {
    ATTUNE_ASSIGN_OR_RETURN(const Part x, AddOperand(at_.x));
    ATTUNE_ASSIGN_OR_RETURN(const Part mean, AddStatistic(at_.mean, 0));
    ATTUNE_ASSIGN_OR_RETURN(const Part inverse, AddStatistic(at_.inverse_deviation, 1));
    ATTUNE_ASSIGN_OR_RETURN(const Part gamma, AddOperand(at_.gamma));
    ATTUNE_ASSIGN_OR_RETURN(const Part beta, AddOperand(at_.beta));
    ATTUNE_ASSIGN_OR_RETURN(const Part epsilon, AddNumber(Source::Kind::kEpsilon));
    ATTUNE_ASSIGN_OR_RETURN(const Part normalized, AddResult(!is_fused()));
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor operation,
                            parts_.Begin(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(operation.SetOne(CUDNN_ATTR_OPERATION_NORM_FWD_MODE,
                                            CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM));
    ATTUNE_RETURN_IF_ERROR(operation.SetOne(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE,
                                            CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING));
    ATTUNE_RETURN_IF_ERROR(
        Refer(operation, {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x},
                          {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean},
                          {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse},
                          {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, gamma},
                          {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, beta},
                          {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon}}));
    if (norm_.running) ATTUNE_RETURN_IF_ERROR(AddRunning(operation));
    ATTUNE_RETURN_IF_ERROR(Refer(operation, {{CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, normalized}}));
    ATTUNE_RETURN_IF_ERROR(parts_.AddOperation(std::move(operation)));
    return AddFusion(normalized);
  }

  // Two tensors for each running statistic, before and after, with one address.
  Status AddRunning(CudnnDescriptor& operation) {
    ATTUNE_ASSIGN_OR_RETURN(const Part momentum, AddNumber(Source::Kind::kMomentum));
    ATTUNE_ASSIGN_OR_RETURN(const Part old_mean, AddOperand(at_.running_mean));
    ATTUNE_ASSIGN_OR_RETURN(const Part old_variance, AddOperand(at_.running_variance));
    ATTUNE_ASSIGN_OR_RETURN(const Part new_mean, AddOperand(at_.running_mean));
    ATTUNE_ASSIGN_OR_RETURN(const Part new_variance, AddOperand(at_.running_variance));
    return Refer(operation,
                 {{CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, momentum},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, old_mean},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, old_variance},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, new_mean},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, new_variance}});
  }

  Status WriteInference() {
    ATTUNE_ASSIGN_OR_RETURN(const Part x, AddOperand(at_.x));
    ATTUNE_ASSIGN_OR_RETURN(const Part mean, AddOperand(at_.mean));
    ATTUNE_ASSIGN_OR_RETURN(const Part variance, AddOperand(at_.variance));
    ATTUNE_ASSIGN_OR_RETURN(const Part epsilon, AddNumber(Source::Kind::kEpsilon));
    ATTUNE_ASSIGN_OR_RETURN(const Part sum, AddBetween(values_, DataType::kF32));
    ATTUNE_ASSIGN_OR_RETURN(const Part inverse, AddBetween(values_, DataType::kF32));
    ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_ADD, variance, epsilon, sum));
    ATTUNE_RETURN_IF_ERROR(AddUnary(CUDNN_POINTWISE_RSQRT, sum, inverse));
    ATTUNE_ASSIGN_OR_RETURN(const Part normalized, AddProducts(x, mean, inverse));
    return AddFusion(normalized);
  }

  // (x - mean) inverse gamma + beta
  Result<Part> AddProducts(Part x, Part mean, Part inverse) {
    ATTUNE_ASSIGN_OR_RETURN(const Part centred, AddBetween(tensor_, DataType::kF32));
    ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_SUB, x, mean, centred));
    ATTUNE_ASSIGN_OR_RETURN(const Part scaled, AddResult(!is_fused() && !norm_.affine));
    ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_MUL, centred, inverse, scaled));
    if (!norm_.affine) return scaled;
    ATTUNE_ASSIGN_OR_RETURN(const Part gamma, AddOperand(at_.gamma));
    ATTUNE_ASSIGN_OR_RETURN(const Part beta, AddOperand(at_.beta));
    ATTUNE_ASSIGN_OR_RETURN(const Part product, AddBetween(tensor_, DataType::kF32));
    ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_MUL, scaled, gamma, product));
    ATTUNE_ASSIGN_OR_RETURN(const Part normalized, AddResult(!is_fused()));
    ATTUNE_RETURN_IF_ERROR(AddBinary(CUDNN_POINTWISE_ADD, product, beta, normalized));
    return normalized;
  }

  Status WriteBackward() {
    ATTUNE_ASSIGN_OR_RETURN(const Part x, AddOperand(at_.x));
    ATTUNE_ASSIGN_OR_RETURN(const Part dy, AddOperand(at_.dy));
    ATTUNE_ASSIGN_OR_RETURN(const Part gamma, AddOperand(at_.gamma));
    ATTUNE_ASSIGN_OR_RETURN(const Part mean, AddOperand(at_.mean));
    ATTUNE_ASSIGN_OR_RETURN(const Part inverse, AddOperand(at_.inverse_deviation));
    ATTUNE_ASSIGN_OR_RETURN(const Part dgamma, AddOperand(at_.dgamma));
    ATTUNE_ASSIGN_OR_RETURN(const Part dbeta, AddOperand(at_.dbeta));
    ATTUNE_ASSIGN_OR_RETURN(const Part dx, AddOperand(at_.dx));
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor operation,
                            parts_.Begin(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(operation.SetOne(CUDNN_ATTR_OPERATION_NORM_BWD_MODE,
                                            CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM));
    ATTUNE_RETURN_IF_ERROR(
        Refer(operation, {{CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, x},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, dy},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, gamma},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, mean},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, inverse},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, dgamma},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, dbeta},
                          {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, dx}}));
    return parts_.AddOperation(std::move(operation));
  }

  const BatchNorm norm_;
  const BatchNormOperands at_;
  const std::vector<Operand> operands_;
  const TensorDesc tensor_;
  const TensorDesc values_;
  CudnnGraphParts parts_;
  std::vector<Source> sources_;
};

Status CheckCudnnNormGraph(const BatchNorm& norm) {
  ATTUNE_RETURN_IF_ERROR(CheckCudnnCountsElements(norm));
  if (norm.pass == BatchNormPass::kInference) return Status::Ok();
  if (norm.mode == BatchNormMode::kPerActivation) {
    return Unsupported("cuDNN's graphs have no batch norm per activation in training.");
  }
  if (!norm.affine) {
    return Unsupported("cuDNN's graphs have no batch norm without gamma and beta in training.");
  }
  if (norm.pass == BatchNormPass::kBackward && !norm.saved) {
    return Unsupported("cuDNN's graphs read saved statistics for the gradients of a batch norm.");
  }
  if (norm.pass == BatchNormPass::kBackward && norm.fusion != BatchNormFusion::kNone) {
    return Unsupported("cuDNN's graphs have no gradient of a fused batch norm that is safe.");
  }
  if (norm.fusion == BatchNormFusion::kAdd) {
    return Unsupported("cuDNN's graphs have no training with a residual and no ReLU.");
  }
  if (norm.alignment_bytes < kNormBytes) {
    return Unsupported(
        fmt::format("cuDNN's graphs normalise operands that are aligned to {} bytes; the batch "
                    "norm has {}.",
                    kNormBytes, norm.alignment_bytes));
  }
  const int64_t divisor = kNormBytes / static_cast<int64_t>(SizeBytes(norm.type));
  if (norm.channels % divisor == 0) return Status::Ok();
  return Unsupported(
      fmt::format("cuDNN's graphs normalise {} with a multiple of {} channels; the batch norm has "
                  "{}.",
                  Name(norm.type), divisor, norm.channels));
}

Result<CudnnBatchNormGraph> CudnnBatchNormGraph::Create(const Cudnn& cudnn, cudnnHandle_t handle,
                                                        const BatchNorm& norm) {
  NormGraphWriter writer(cudnn, handle, norm);
  ATTUNE_RETURN_IF_ERROR(writer.Write());
  return writer.Finish();
}

size_t CudnnBatchNormGraph::WorkspaceBytes(const CudnnPlan& plan) const {
  const auto vectors = std::count_if(sources_.begin(), sources_.end(), [](const Source& source) {
    return source.kind == Source::Kind::kScratch;
  });
  return ScratchBytes(plan.workspace_bytes) + static_cast<size_t>(vectors) * scratch_bytes_;
}

Status CudnnBatchNormGraph::Run(const CudnnPlan& plan, const Arguments& arguments,
                                CUstream stream) const {
  const auto epsilon = static_cast<float>(arguments.alpha);
  const auto momentum = static_cast<float>(arguments.beta);
  std::byte* const workspace = BytesAt(arguments.workspace);
  std::byte* const scratch = workspace + ScratchBytes(plan.workspace_bytes);
  const auto address_of = [&](const Source& source) -> const void* {
    switch (source.kind) {
      case Source::Kind::kScratch:
        return scratch + source.index * scratch_bytes_;
      case Source::Kind::kEpsilon:
        return &epsilon;
      case Source::Kind::kMomentum:
        return &momentum;
      case Source::Kind::kOperand:
        break;
    }
    return AddressOf(arguments.operands[source.index]);
  };
  std::vector<const void*> addresses;
  addresses.reserve(sources_.size());
  for (const Source& source : sources_) addresses.push_back(address_of(source));
  return graph_.Run(plan, addresses, workspace, stream);
}

}  // namespace attune::cuda
