#include "backends/cuda/conv/cudnn_product.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/cuda/conv/cudnn_words.h"

// The legacy calls are deprecated in favour of graphs; they are candidates of their own.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

struct AlgorithmRow {
  std::string_view name;
  int code;
  bool deterministic;
};
constexpr AlgorithmRow kForward[] = {
    {"implicit_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, true},
    {"implicit_precomp_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, true},
    {"gemm", CUDNN_CONVOLUTION_FWD_ALGO_GEMM, true},
    {"fft", CUDNN_CONVOLUTION_FWD_ALGO_FFT, true},
    {"fft_tiling", CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, true},
    {"winograd", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, true},
    {"winograd_nonfused", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, true},
};
constexpr AlgorithmRow kBackwardData[] = {
    {"algo_0", CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, false},
    {"algo_1", CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, true},
    {"fft", CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, true},
    {"fft_tiling", CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, true},
    {"winograd", CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, true},
    {"winograd_nonfused", CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, true},
};
constexpr AlgorithmRow kBackwardWeights[] = {
    {"algo_0", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, false},
    {"algo_1", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, true},
    {"fft", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, true},
    {"algo_3", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, false},
    {"winograd_nonfused", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, true},
    {"fft_tiling", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, true},
};

std::span<const AlgorithmRow> RowsOf(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return kForward;
    case ConvDirection::kBackwardData:
      return kBackwardData;
    case ConvDirection::kBackwardWeights:
      return kBackwardWeights;
  }
  return {};
}

// cuDNN's default may round f32 to TF32, so a strict product requests multiply-adds.
cudnnMathType_t MathOf(std::string_view math, DataType type) {
  if (math == "fma") return CUDNN_FMA_MATH;
  return type == DataType::kF32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

// The last `rank` of depth, height, width.
std::array<int, 3> Last(const Spatial& extents, int rank) {
  std::array<int, 3> values = {1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    values[static_cast<size_t>(i)] = static_cast<int>(extents[static_cast<size_t>(3 - rank + i)]);
  }
  return values;
}

std::vector<int> Ints(const std::vector<int64_t>& values) {
  std::vector<int> ints;
  std::transform(values.begin(), values.end(), std::back_inserter(ints),
                 [](int64_t value) { return static_cast<int>(value); });
  return ints;
}

}  // namespace

Status CheckCudnnTakes(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckCudnnConvolves(conv));
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const Operand& operand : Operands(conv)) {
    if (SpanElements(operand.tensor) >= kMost) {
      return Unsupported(fmt::format("cuDNN counts in 31 bits, and '{}' has {} elements.",
                                     operand.name, SpanElements(operand.tensor)));
    }
  }
  return Status::Ok();
}

std::vector<std::string> CudnnAlgorithmNames(ConvDirection direction, bool deterministic) {
  std::vector<std::string> names;
  for (const AlgorithmRow& row : RowsOf(direction)) {
    if (row.deterministic || !deterministic) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> CudnnMathNames(const Conv& conv) {
  if (conv.type == DataType::kF64) return {"fma"};
  if (conv.type == DataType::kF32 && conv.math == MathMode::kStrict) return {"fma"};
  return {"tensor", "fma"};
}

bool IsDepthwise(const Conv& conv) { return conv.groups > 1 && conv.groups == conv.in_channels; }

bool LosesSums(const Conv& conv) {
  return conv.direction == ConvDirection::kBackwardWeights && conv.type == DataType::kF16 &&
         IsDepthwise(conv);
}

Status CheckKeepsSums(const Conv& conv) {
  if (!LosesSums(conv)) return Status::Ok();
  return Unsupported(
      "cuDNN's deterministic algorithm for gradients of depthwise filters in f16 rounds parts of "
      "their sums to 16 bits.");
}

// Everything that one convolution needs, destroyed together.
struct CudnnProduct::Descriptors {
  Descriptors(const Cudnn& library, cudnnHandle_t its_handle, const Conv& problem)
      : cudnn(library), handle(its_handle), conv(problem) {}
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (x != nullptr) cudnn.cudnnDestroyTensorDescriptor(x);
    if (y != nullptr) cudnn.cudnnDestroyTensorDescriptor(y);
    if (w != nullptr) cudnn.cudnnDestroyFilterDescriptor(w);
    if (operation != nullptr) cudnn.cudnnDestroyConvolutionDescriptor(operation);
  }

  Status Create(std::string_view math) {
    // The forward convolution names the tensors in every direction.
    Conv forward = conv;
    forward.direction = ConvDirection::kForward;
    const std::vector<Operand> operands = Operands(forward);
    ATTUNE_RETURN_IF_ERROR(CreateTensor(x, operands.front().tensor));
    ATTUNE_RETURN_IF_ERROR(CreateTensor(y, operands.back().tensor));
    ATTUNE_RETURN_IF_ERROR(CreateFilter(operands[1].tensor));
    return CreateOperation(math);
  }

  const Cudnn& cudnn;
  const cudnnHandle_t handle;
  const Conv conv;
  cudnnTensorDescriptor_t x = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t operation = nullptr;

 private:
  Status CreateTensor(cudnnTensorDescriptor_t& descriptor, const TensorDesc& tensor) {
    const std::vector<int> extents = Ints(tensor.extents);
    const std::vector<int> strides = Ints(tensor.strides);
    ATTUNE_RETURN_IF_ERROR(
        cudnn.Check(cudnn.cudnnCreateTensorDescriptor(&descriptor), "cannot describe a tensor"));
    return cudnn.Check(cudnn.cudnnSetTensorNdDescriptor(descriptor, CudnnTypeOf(tensor.type),
                                                        static_cast<int>(extents.size()),
                                                        extents.data(), strides.data()),
                       "does not take a tensor");
  }

  Status CreateFilter(const TensorDesc& tensor) {
    const std::vector<int> extents = Ints(tensor.extents);
    ATTUNE_RETURN_IF_ERROR(
        cudnn.Check(cudnn.cudnnCreateFilterDescriptor(&w), "cannot describe weights"));
    return cudnn.Check(
        cudnn.cudnnSetFilterNdDescriptor(
            w, CudnnTypeOf(tensor.type),
            IsChannelsLast(conv.weights_layout) ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
            static_cast<int>(extents.size()), extents.data()),
        "does not take the weights");
  }

  Status CreateOperation(std::string_view math) {
    const int rank = conv.spatial_rank;
    const auto pad = Last(conv.pad, rank);
    const auto stride = Last(conv.stride, rank);
    const auto dilation = Last(conv.dilation, rank);
    const cudnnDataType_t compute = CudnnSumType(conv.type);
    ATTUNE_RETURN_IF_ERROR(cudnn.Check(cudnn.cudnnCreateConvolutionDescriptor(&operation),
                                       "cannot describe a convolution"));
    ATTUNE_RETURN_IF_ERROR(cudnn.Check(
        cudnn.cudnnSetConvolutionNdDescriptor(operation, rank, pad.data(), stride.data(),
                                              dilation.data(), CUDNN_CROSS_CORRELATION, compute),
        "does not take the convolution"));
    ATTUNE_RETURN_IF_ERROR(
        cudnn.Check(cudnn.cudnnSetConvolutionGroupCount(operation, static_cast<int>(conv.groups)),
                    fmt::format("does not take {} groups", conv.groups)));
    return cudnn.Check(cudnn.cudnnSetConvolutionMathType(operation, MathOf(math, conv.type)),
                       fmt::format("does not take math '{}'", math));
  }
};

Result<CudnnProduct> CudnnProduct::Create(const Cudnn& cudnn, cudnnHandle_t handle,
                                          const Conv& conv, std::string_view math) {
  auto descriptors = std::make_shared<Descriptors>(cudnn, handle, conv);
  ATTUNE_RETURN_IF_ERROR(descriptors->Create(math));
  return CudnnProduct(std::move(descriptors));
}

namespace {

// The first of cuDNN's answers with a good status, and a deterministic one if requested.
template <class Answer>
Result<CudnnProduct::Algorithm> FirstThatWorks(std::span<const Answer> answers,
                                               bool deterministic) {
  for (const Answer& answer : answers) {
    if (answer.status != CUDNN_STATUS_SUCCESS) continue;
    if (deterministic && answer.determinism != CUDNN_DETERMINISTIC) continue;
    return CudnnProduct::Algorithm{static_cast<int>(answer.algo), answer.memory};
  }
  return Unsupported(
      "cuDNN has no legacy algorithm for this convolution. Tune the problem: its engines "
      "(cuda.cudnn-graph-conv) and other solvers compute what the algorithms do not.");
}

}  // namespace

Result<CudnnProduct::Algorithm> CudnnProduct::FirstAnswer() const {
  constexpr int kMost = 16;
  constexpr std::string_view kWhat = "has no answer for this convolution";
  const Descriptors& d = *descriptors_;
  const auto first = [&](const auto& answers, int count) {
    using Answer = typename std::decay_t<decltype(answers)>::value_type;
    return FirstThatWorks(std::span<const Answer>(answers.data(), static_cast<size_t>(count)),
                          d.conv.deterministic);
  };
  int count = 0;
  switch (d.conv.direction) {
    case ConvDirection::kForward: {
      std::array<cudnnConvolutionFwdAlgoPerf_t, kMost> answers = {};
      ATTUNE_RETURN_IF_ERROR(
          d.cudnn.Check(d.cudnn.cudnnGetConvolutionForwardAlgorithm_v7(
                            d.handle, d.x, d.w, d.operation, d.y, kMost, &count, answers.data()),
                        kWhat));
      return first(answers, count);
    }
    case ConvDirection::kBackwardData: {
      std::array<cudnnConvolutionBwdDataAlgoPerf_t, kMost> answers = {};
      ATTUNE_RETURN_IF_ERROR(
          d.cudnn.Check(d.cudnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(
                            d.handle, d.w, d.y, d.operation, d.x, kMost, &count, answers.data()),
                        kWhat));
      return first(answers, count);
    }
    case ConvDirection::kBackwardWeights: {
      std::array<cudnnConvolutionBwdFilterAlgoPerf_t, kMost> answers = {};
      ATTUNE_RETURN_IF_ERROR(
          d.cudnn.Check(d.cudnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                            d.handle, d.x, d.y, d.operation, d.w, kMost, &count, answers.data()),
                        kWhat));
      return first(answers, count);
    }
  }
  return Internal("A convolution has three directions.");
}

Result<CudnnProduct::Algorithm> CudnnProduct::SameAs(const Algorithm& other) const {
  ATTUNE_ASSIGN_OR_RETURN(const size_t bytes, WorkspaceBytes(other.code));
  return Algorithm{other.code, bytes};
}

Result<CudnnProduct::Algorithm> CudnnProduct::Named(std::string_view name) const {
  for (const AlgorithmRow& row : RowsOf(descriptors_->conv.direction)) {
    if (row.name != name) continue;
    ATTUNE_ASSIGN_OR_RETURN(const size_t bytes, WorkspaceBytes(row.code));
    return Algorithm{row.code, bytes};
  }
  return Unsupported(fmt::format(
      "cuDNN has no legacy algorithm '{}' of direction '{}'. Tune the problem again if a "
      "record names it.",
      name, Name(descriptors_->conv.direction)));
}

Result<size_t> CudnnProduct::WorkspaceBytes(int code) const {
  constexpr std::string_view kWhat = "does not compute this convolution with this algorithm";
  const Descriptors& d = *descriptors_;
  size_t bytes = 0;
  cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
  switch (d.conv.direction) {
    case ConvDirection::kForward:
      status = d.cudnn.cudnnGetConvolutionForwardWorkspaceSize(
          d.handle, d.x, d.w, d.operation, d.y, static_cast<cudnnConvolutionFwdAlgo_t>(code),
          &bytes);
      break;
    case ConvDirection::kBackwardData:
      status = d.cudnn.cudnnGetConvolutionBackwardDataWorkspaceSize(
          d.handle, d.w, d.y, d.operation, d.x, static_cast<cudnnConvolutionBwdDataAlgo_t>(code),
          &bytes);
      break;
    case ConvDirection::kBackwardWeights:
      status = d.cudnn.cudnnGetConvolutionBackwardFilterWorkspaceSize(
          d.handle, d.x, d.y, d.operation, d.w, static_cast<cudnnConvolutionBwdFilterAlgo_t>(code),
          &bytes);
      break;
  }
  ATTUNE_RETURN_IF_ERROR(d.cudnn.Check(status, kWhat));
  return bytes;
}

const Cudnn& CudnnProduct::library() const { return descriptors_->cudnn; }

Status CudnnProduct::Run(const Algorithm& algorithm, const CudnnCall& call) const {
  const Descriptors& d = *descriptors_;
  return d.cudnn.EnqueueOn(call.stream, d.handle, [&] { return Enqueue(algorithm, call); });
}

Status CudnnProduct::Enqueue(const Algorithm& algorithm, const CudnnCall& call) const {
  const Descriptors& d = *descriptors_;
  const double one_f64 = 1;
  const double zero_f64 = 0;
  const float one_f32 = 1;
  const float zero_f32 = 0;
  const bool is_f64 = d.conv.type == DataType::kF64;
  const void* one = is_f64 ? static_cast<const void*>(&one_f64) : &one_f32;
  const void* zero = is_f64 ? static_cast<const void*>(&zero_f64) : &zero_f32;
  cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
  switch (d.conv.direction) {
    case ConvDirection::kForward:
      status = d.cudnn.cudnnConvolutionForward(
          d.handle, one, d.x, call.first, d.w, call.second, d.operation,
          static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.code), call.workspace,
          algorithm.workspace_bytes, zero, d.y, call.output);
      break;
    case ConvDirection::kBackwardData:
      status = d.cudnn.cudnnConvolutionBackwardData(
          d.handle, one, d.w, call.second, d.y, call.first, d.operation,
          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.code), call.workspace,
          algorithm.workspace_bytes, zero, d.x, call.output);
      break;
    case ConvDirection::kBackwardWeights:
      status = d.cudnn.cudnnConvolutionBackwardFilter(
          d.handle, one, d.x, call.first, d.y, call.second, d.operation,
          static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm.code), call.workspace,
          algorithm.workspace_bytes, zero, d.w, call.output);
      break;
  }
  return d.cudnn.Check(status, "cannot convolve");
}

}  // namespace attune::cuda
