#include "attune/problem/problem.h"

#include <algorithm>
#include <utility>

#include "attune/problem/own_kernel.h"

namespace attune {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// Where the matrices of a batch are: strides in elements.
struct StoredMatrices {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int64_t stride = 0;  // 0: one for all.
};

TensorDesc MatrixDesc(const Gemm& gemm, DataType type, const StoredMatrices& stored) {
  return {type,
          {stored.stride == 0 ? 1 : gemm.batch_count, stored.rows, stored.columns},
          {stored.stride, 1, stored.leading}};
}

std::vector<Operand> OperandsOf(const Gemm& gemm) {
  std::vector<Operand> operands;
  operands.push_back(
      {"a", OperandRole::kIn,
       MatrixDesc(gemm, gemm.type,
                  {StoredRowsA(gemm), StoredColumnsA(gemm), gemm.lda, gemm.stride_a})});
  operands.push_back(
      {"b", OperandRole::kIn,
       MatrixDesc(gemm, gemm.type,
                  {StoredRowsB(gemm), StoredColumnsB(gemm), gemm.ldb, gemm.stride_b})});
  if (gemm.bias != Bias::kNone) {
    const int64_t count = gemm.bias == Bias::kPerRow ? gemm.m : gemm.n;
    operands.push_back({"bias", OperandRole::kIn, {gemm.c_type, {count}, {1}}});
  }
  const OperandRole role =
      gemm.beta == ScalarClass::kZero ? OperandRole::kOut : OperandRole::kInOut;
  operands.push_back(
      {"c", role, MatrixDesc(gemm, gemm.c_type, {gemm.m, gemm.n, gemm.ldc, gemm.stride_c})});
  return operands;
}

// `outer` x `channels` x extents, packed in `layout`.
TensorDesc ImageDesc(const Conv& conv, int64_t outer, int64_t channels, const Spatial& extents,
                     Layout layout) {
  const auto rank = static_cast<size_t>(2 + conv.spatial_rank);
  TensorDesc tensor{conv.type, {}, {}};
  tensor.extents.reserve(rank);
  tensor.extents.push_back(outer);
  tensor.extents.push_back(channels);
  const auto first = extents.begin() + (3 - conv.spatial_rank);
  tensor.extents.insert(tensor.extents.end(), first, extents.end());
  tensor.strides.assign(rank, 1);
  int64_t stride = 1;
  if (IsChannelsLast(layout)) stride = channels;
  for (size_t i = rank; i-- > 2;) {
    tensor.strides[i] = stride;
    stride *= tensor.extents[i];
  }
  if (!IsChannelsLast(layout)) {
    tensor.strides[1] = stride;
    stride *= channels;
  }
  tensor.strides[0] = stride;
  return tensor;
}

TensorDesc WeightsDesc(const Conv& conv) {
  const bool transposed = conv.mode == ConvMode::kTransposed;
  const int64_t outer = transposed ? conv.in_channels : conv.out_channels;
  const int64_t inner = (transposed ? conv.out_channels : conv.in_channels) / conv.groups;
  return ImageDesc(conv, outer, inner, conv.filter, conv.weights_layout);
}

// Without a copy: lists of 100,000 convolutions ask for theirs several times.
std::vector<Operand> OperandsOf(const Conv& conv) {
  TensorDesc x = ImageDesc(conv, conv.batch, conv.in_channels, conv.in, conv.in_layout);
  TensorDesc y =
      ImageDesc(conv, conv.batch, conv.out_channels, OutputExtent(conv), conv.out_layout);
  TensorDesc w = WeightsDesc(conv);
  std::vector<Operand> operands;
  operands.reserve(4);
  const auto add = [&](const char* name, OperandRole role, TensorDesc tensor) {
    operands.push_back({name, role, std::move(tensor)});
  };
  switch (conv.direction) {
    case ConvDirection::kForward:
      add("x", OperandRole::kIn, std::move(x));
      add("w", OperandRole::kIn, std::move(w));
      if (conv.bias) add("bias", OperandRole::kIn, {conv.type, {conv.out_channels}, {1}});
      add("y", OperandRole::kOut, std::move(y));
      break;
    case ConvDirection::kBackwardData:
      add("dy", OperandRole::kIn, std::move(y));
      add("w", OperandRole::kIn, std::move(w));
      add("dx", OperandRole::kOut, std::move(x));
      break;
    case ConvDirection::kBackwardWeights:
      add("x", OperandRole::kIn, std::move(x));
      add("dy", OperandRole::kIn, std::move(y));
      add("dw", OperandRole::kOut, std::move(w));
      break;
  }
  return operands;
}

int64_t Volume(const Spatial& extents) { return extents[0] * extents[1] * extents[2]; }

// Positions of the filter for each image: the output of the plain mode, the input of the transposed
// one.
int64_t WindowsPerImage(const Conv& conv) {
  return Volume(conv.mode == ConvMode::kTransposed ? conv.in : OutputExtent(conv));
}

// With alpha 0, neither A nor B is read.
bool MultipliesNothing(const Gemm& gemm) { return gemm.alpha == ScalarClass::kZero; }

double FlopsOf(const Conv& conv) {
  const double taps = static_cast<double>(Volume(conv.filter)) *
                      (static_cast<double>(conv.in_channels) / static_cast<double>(conv.groups)) *
                      static_cast<double>(conv.out_channels);
  return 2.0 * static_cast<double>(conv.batch) * static_cast<double>(WindowsPerImage(conv)) * taps;
}

int64_t ReductionLengthOf(const Conv& conv) {
  switch (conv.direction) {
    case ConvDirection::kForward:
      return conv.in_channels / conv.groups * Volume(conv.filter);
    case ConvDirection::kBackwardData:
      return conv.out_channels / conv.groups * Volume(conv.filter);
    case ConvDirection::kBackwardWeights:
      return conv.batch * WindowsPerImage(conv);
  }
  return 0;
}

Status ValidateOther(const OtherOp& other) {
  constexpr const char* kWord = "a lower-case word ([a-z][a-z0-9_]*)";
  if (!IsOperatorWord(other.op) || other.op == "gemm" || other.op == "conv") {
    return InvalidArgument("Operator name " + Quoted(other.op) + " is not " + kWord +
                           " other than gemm and conv.");
  }
  if (other.attributes.size() > kMaxOtherAttributes) {
    return InvalidArgument("Operator " + other.op + " has " +
                           std::to_string(other.attributes.size()) + " attributes, more than " +
                           std::to_string(kMaxOtherAttributes) + ".");
  }
  for (const auto& [key, value] : other.attributes) {
    if (IsOperatorWord(key)) continue;
    return InvalidArgument("Attribute name " + Quoted(key) + " of operator " + other.op +
                           " is not " + kWord + ".");
  }
  return other.op == kOwnKernelOperator ? OwnKernelOf(Problem(other)).status() : Status::Ok();
}

}  // namespace

bool IsOperatorWord(std::string_view word) {
  if (word.empty() || word.front() < 'a' || word.front() > 'z') return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Fingerprint KeyOf(const Problem& problem) { return FingerprintOf(Text(problem)); }

Status Validate(const Problem& problem) {
  return std::visit(Overloaded{[](const OtherOp& other) { return ValidateOther(other); },
                               [](const auto& known) { return Validate(known); }},
                    problem);
}

std::string_view OperatorName(const Problem& problem) {
  return std::visit(Overloaded{[](const Gemm&) -> std::string_view { return "gemm"; },
                               [](const Conv&) -> std::string_view { return "conv"; },
                               [](const OtherOp& other) -> std::string_view { return other.op; }},
                    problem);
}

std::vector<Operand> Operands(const Problem& problem) {
  if (IsOwnKernel(problem)) {
    const auto own = OwnKernelOf(problem);
    return own.ok() ? OperandsOf(*own) : std::vector<Operand>();
  }
  return std::visit(Overloaded{[](const OtherOp&) { return std::vector<Operand>(); },
                               [](const auto& known) { return OperandsOf(known); }},
                    problem);
}

double Flops(const Problem& problem) {
  return std::visit(Overloaded{[](const Gemm& gemm) {
                                 if (MultipliesNothing(gemm)) return 0.0;
                                 return 2.0 * static_cast<double>(gemm.m) *
                                        static_cast<double>(gemm.n) * static_cast<double>(gemm.k) *
                                        static_cast<double>(gemm.batch_count);
                               },
                               [](const Conv& conv) { return FlopsOf(conv); },
                               [](const OtherOp&) { return 0.0; }},
                    problem);
}

double CompulsoryBytes(const Problem& problem) {
  double bytes = 0;
  const auto* gemm = std::get_if<Gemm>(&problem);
  const bool leaves_factors = gemm != nullptr && MultipliesNothing(*gemm);
  size_t index = 0;
  for (const Operand& operand : Operands(problem)) {
    if (leaves_factors && index++ < 2) continue;
    // Matrices of a batch may overlap; what they share moves once.
    const int64_t elements = std::min(ElementCount(operand.tensor), SpanElements(operand.tensor));
    const double once =
        static_cast<double>(elements) * static_cast<double>(SizeBytes(operand.tensor.type));
    bytes += operand.role == OperandRole::kInOut ? 2 * once : once;
  }
  return bytes;
}

int64_t ReductionLength(const Problem& problem) {
  return std::visit(Overloaded{[](const Gemm& gemm) { return gemm.k; },
                               [](const Conv& conv) { return ReductionLengthOf(conv); },
                               [](const OtherOp&) { return int64_t{0}; }},
                    problem);
}

DataType OutputType(const Problem& problem) {
  if (IsOwnKernel(problem)) {
    const std::vector<Operand> operands = Operands(problem);
    return operands.empty() ? DataType::kF32 : operands.back().tensor.type;
  }
  return std::visit(Overloaded{[](const Gemm& gemm) { return gemm.c_type; },
                               [](const Conv& conv) { return conv.type; },
                               [](const OtherOp&) { return DataType::kF32; }},
                    problem);
}

}  // namespace attune
