#include "backends/cuda/batch_norm/cudnn_batch_norm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/problem/problem.h"
#include "backends/cuda/batch_norm/cudnn_batch_norm_executable.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/driver/scratch.h"

// cuDNN deprecates these calls in favour of graphs.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

constexpr std::string_view kFused = "fused_";
constexpr float kOne = 1;
constexpr float kZero = 0;
constexpr size_t kAlignment = 256;

struct Call {
  cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL;
  bool is_fused = false;
};

Call CallNamed(std::string_view name) {
  Call call;
  call.is_fused = name.starts_with(kFused);
  if (call.is_fused) name.remove_prefix(kFused.size());
  call.mode = name == "per_activation"       ? CUDNN_BATCHNORM_PER_ACTIVATION
              : name == "spatial_persistent" ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT
                                             : CUDNN_BATCHNORM_SPATIAL;
  return call;
}

// Names of calls that have a form for the problem. The first one takes any size.
std::vector<std::string> CallNames(const BatchNorm& norm) {
  if (norm.mode == BatchNormMode::kPerActivation) return {"per_activation"};
  if (norm.pass == BatchNormPass::kInference) return {"spatial"};
  if (norm.fusion != BatchNormFusion::kNone) return {"fused_spatial_persistent"};
  return {"spatial", "spatial_persistent", "fused_spatial", "fused_spatial_persistent"};
}

cudnnBatchNormOps_t OpsOf(BatchNormFusion fusion) {
  return fusion == BatchNormFusion::kNone   ? CUDNN_BATCHNORM_OPS_BN
         : fusion == BatchNormFusion::kRelu ? CUDNN_BATCHNORM_OPS_BN_ACTIVATION
                                            : CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
}

Status CheckCudnnNormalizes(const BatchNorm& norm) {
  if (!norm.affine) return Unsupported("cuDNN has no batch norm without gamma and beta.");
  const bool is_training = norm.pass == BatchNormPass::kTraining;
  if (norm.fusion == BatchNormFusion::kAdd) {
    return Unsupported("cuDNN has no batch norm with a residual and no ReLU.");
  }
  if (norm.fusion != BatchNormFusion::kNone && !is_training) {
    return Unsupported(
        "cuDNN fuses a ReLU into batch norm in training only: its backward pass needs the mask "
        "that "
        "its forward pass writes, which the problem does not have.");
  }
  const bool is_channels_last = IsChannelsLast(norm.layout);
  if (norm.fusion != BatchNormFusion::kNone &&
      (!is_channels_last || norm.type != DataType::kF16 || norm.channels % 4 != 0)) {
    return Unsupported(
        "cuDNN fuses a ReLU into batch norm only for f16 with channels last and a multiple of 4 "
        "channels.");
  }
  if (norm.mode == BatchNormMode::kPerActivation &&
      (is_channels_last || norm.fusion != BatchNormFusion::kNone)) {
    return Unsupported(
        "cuDNN has batch norm per activation only with channels first and no fusion.");
  }
  return CheckCudnnCountsElements(norm);
}

// One batch norm with one call. Immutable; used by one thread at a time.
class CudnnBatchNorm {
 public:
  CudnnBatchNorm(const Cudnn& cudnn, cudnnHandle_t handle, const BatchNorm& norm, Call call)
      : cudnn_(cudnn), handle_(handle), norm_(norm), at_(OperandsOf(norm)), call_(call) {}
  ~CudnnBatchNorm() {
    if (tensor_ != nullptr) cudnn_.cudnnDestroyTensorDescriptor(tensor_);
    if (values_ != nullptr) cudnn_.cudnnDestroyTensorDescriptor(values_);
    if (relu_ != nullptr) cudnn_.cudnnDestroyActivationDescriptor(relu_);
  }
  CudnnBatchNorm(const CudnnBatchNorm&) = delete;
  CudnnBatchNorm& operator=(const CudnnBatchNorm&) = delete;

  // kUnsupported if cuDNN does not take the problem with this call.
  Status Describe() {
    const TensorDesc tensor = Operands(Problem(norm_)).front().tensor;
    const std::vector<int> extents(tensor.extents.begin(), tensor.extents.end());
    const std::vector<int> strides(tensor.strides.begin(), tensor.strides.end());
    ATTUNE_RETURN_IF_ERROR(
        Check(cudnn_.cudnnCreateTensorDescriptor(&tensor_), "cannot describe a tensor"));
    ATTUNE_RETURN_IF_ERROR(Check(cudnn_.cudnnSetTensorNdDescriptor(tensor_, CudnnTypeOf(norm_.type),
                                                                   static_cast<int>(extents.size()),
                                                                   extents.data(), strides.data()),
                                 "does not take the tensor"));
    ATTUNE_RETURN_IF_ERROR(
        Check(cudnn_.cudnnCreateTensorDescriptor(&values_), "cannot describe statistics"));
    ATTUNE_RETURN_IF_ERROR(Check(cudnn_.cudnnDeriveBNTensorDescriptor(values_, tensor_, call_.mode),
                                 "does not normalise the tensor"));
    if (norm_.fusion != BatchNormFusion::kNone) ATTUNE_RETURN_IF_ERROR(DescribeRelu());
    return call_.is_fused ? AskForMemory() : Status::Ok();
  }

  const Cudnn& library() const { return cudnn_; }
  size_t workspace_bytes() const { return ScratchBytes(reserve_offset() + reserve_bytes_); }

  Status Run(const Arguments& arguments, CUstream stream) const {
    return cudnn_.EnqueueOn(stream, handle_, [&] { return Check(Enqueue(arguments), kFailed); });
  }

 private:
  static constexpr std::string_view kFailed = "cannot normalise";

  Status Check(cudnnStatus_t code, std::string_view what) const { return cudnn_.Check(code, what); }

  Status DescribeRelu() {
    ATTUNE_RETURN_IF_ERROR(
        Check(cudnn_.cudnnCreateActivationDescriptor(&relu_), "cannot describe a ReLU"));
    return Check(
        cudnn_.cudnnSetActivationDescriptor(relu_, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0),
        "does not take a ReLU");
  }

  cudnnTensorDescriptor_t residual() const { return HasAdd(norm_.fusion) ? tensor_ : nullptr; }

  Status AskForMemory() {
    const cudnnBatchNormOps_t ops = OpsOf(norm_.fusion);
    const bool is_backward = norm_.pass == BatchNormPass::kBackward;
    ATTUNE_RETURN_IF_ERROR(
        Check(is_backward ? cudnn_.cudnnGetBatchNormalizationBackwardExWorkspaceSize(
                                handle_, call_.mode, ops, tensor_, nullptr, tensor_, nullptr,
                                tensor_, values_, relu_, &workspace_bytes_)
                          : cudnn_.cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                                handle_, call_.mode, ops, tensor_, residual(), tensor_, values_,
                                relu_, &workspace_bytes_),
              "does not normalise this tensor with this call"));
    return Check(cudnn_.cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                     handle_, call_.mode, ops, relu_, tensor_, &reserve_bytes_),
                 "does not say what it keeps");
  }

  // Null for an operand that the problem does not have.
  static void* At(const Arguments& arguments, int position) {
    return position < 0 ? nullptr : AddressOf(arguments.operands[static_cast<size_t>(position)]);
  }

  cudnnStatus_t Enqueue(const Arguments& arguments) const {
    if (norm_.pass == BatchNormPass::kInference) return EnqueueInference(arguments);
    const bool is_backward = norm_.pass == BatchNormPass::kBackward;
    if (call_.is_fused) return is_backward ? FusedBackward(arguments) : FusedTraining(arguments);
    return is_backward ? Backward(arguments) : Training(arguments);
  }

  cudnnStatus_t EnqueueInference(const Arguments& of) const {
    return cudnn_.cudnnBatchNormalizationForwardInference(
        handle_, call_.mode, &kOne, &kZero, tensor_, At(of, at_.x), tensor_, At(of, at_.y), values_,
        At(of, at_.gamma), At(of, at_.beta), At(of, at_.mean), At(of, at_.variance), of.alpha);
  }

  cudnnStatus_t Training(const Arguments& of) const {
    return cudnn_.cudnnBatchNormalizationForwardTraining(
        handle_, call_.mode, &kOne, &kZero, tensor_, At(of, at_.x), tensor_, At(of, at_.y), values_,
        At(of, at_.gamma), At(of, at_.beta), of.beta, At(of, at_.running_mean),
        At(of, at_.running_variance), of.alpha, At(of, at_.mean), At(of, at_.inverse_deviation));
  }

  cudnnStatus_t Backward(const Arguments& of) const {
    return cudnn_.cudnnBatchNormalizationBackward(
        handle_, call_.mode, &kOne, &kZero, &kOne, &kZero, tensor_, At(of, at_.x), tensor_,
        At(of, at_.dy), tensor_, At(of, at_.dx), values_, At(of, at_.gamma), At(of, at_.dgamma),
        At(of, at_.dbeta), of.alpha, At(of, at_.mean), At(of, at_.inverse_deviation));
  }

  // The reserve follows the workspace.
  size_t reserve_offset() const {
    return (workspace_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::pair<void*, void*> Memory(const Arguments& of) const {
    auto* const workspace = static_cast<std::byte*>(AddressOf(of.workspace));
    return {workspace, reserve_bytes_ == 0 ? nullptr : workspace + reserve_offset()};
  }

  cudnnStatus_t FusedTraining(const Arguments& of) const {
    const auto [workspace, reserve] = Memory(of);
    return cudnn_.cudnnBatchNormalizationForwardTrainingEx(
        handle_, call_.mode, OpsOf(norm_.fusion), &kOne, &kZero, tensor_, At(of, at_.x), residual(),
        At(of, at_.residual), tensor_, At(of, at_.y), values_, At(of, at_.gamma), At(of, at_.beta),
        of.beta, At(of, at_.running_mean), At(of, at_.running_variance), of.alpha, At(of, at_.mean),
        At(of, at_.inverse_deviation), relu_, workspace, workspace_bytes_, reserve, reserve_bytes_);
  }

  cudnnStatus_t FusedBackward(const Arguments& of) const {
    const auto [workspace, reserve] = Memory(of);
    return cudnn_.cudnnBatchNormalizationBackwardEx(
        handle_, call_.mode, OpsOf(norm_.fusion), &kOne, &kZero, &kOne, &kZero, tensor_,
        At(of, at_.x), nullptr, nullptr, tensor_, At(of, at_.dy), nullptr, nullptr, tensor_,
        At(of, at_.dx), values_, At(of, at_.gamma), nullptr, At(of, at_.dgamma), At(of, at_.dbeta),
        of.alpha, At(of, at_.mean), At(of, at_.inverse_deviation), relu_, workspace,
        workspace_bytes_, reserve, reserve_bytes_);
  }

  const Cudnn& cudnn_;
  const cudnnHandle_t handle_;
  const BatchNorm norm_;
  const BatchNormOperands at_;
  const Call call_;
  cudnnTensorDescriptor_t tensor_ = nullptr;
  cudnnTensorDescriptor_t values_ = nullptr;
  cudnnActivationDescriptor_t relu_ = nullptr;
  size_t workspace_bytes_ = 0;
  size_t reserve_bytes_ = 0;
};

class CudnnBatchNormSolver final : public LibrarySolver {
 public:
  explicit CudnnBatchNormSolver(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-batch-norm", 1}, {.description = "cuDNN's legacy batch norms",
                                                     .operator_name = "batch_norm",
                                                     .deterministic = false}),
        cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    Parameter call{"call", {}};
    for (std::string& name : CallNames(problem.Get<BatchNorm>())) {
      call.values.emplace_back(std::move(name));
    }
    return ConfigSpace::Create({std::move(call)}, {});
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCudnnNormalizes(problem.Get<BatchNorm>());
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    std::vector<Config> configs;
    for (const std::string& name : CallNames(problem.Get<BatchNorm>())) {
      if (!Make(device, problem, name).ok()) continue;
      configs.push_back({{"call", name}});
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(auto norm, Make(device, problem, StringAt(config, "call")));
    return MakeCudnnBatchNormExecutable(device, std::move(norm));
  }

  Result<std::unique_ptr<const CudnnBatchNorm>> Make(CudaDevice& device, const Problem& problem,
                                                     std::string_view name) const {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    auto norm = std::make_unique<CudnnBatchNorm>(cudnn_.Get(), handle, problem.Get<BatchNorm>(),
                                                 CallNamed(name));
    ATTUNE_RETURN_IF_ERROR(norm->Describe());
    return std::unique_ptr<const CudnnBatchNorm>(std::move(norm));
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

Status CheckCudnnCountsElements(const BatchNorm& norm) {
  const int64_t elements = ShapeOf(norm).elements();
  if (elements < int64_t{1} << 31) return Status::Ok();
  return Unsupported(
      fmt::format("cuDNN counts elements in 31 bits; the batch norm has {}.", elements));
}

std::unique_ptr<const Solver> MakeCudnnBatchNorm(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnBatchNormSolver>(cudnn);
}

}  // namespace attune::cuda
