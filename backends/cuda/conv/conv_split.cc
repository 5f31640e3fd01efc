#include "backends/cuda/conv/conv_split.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/cuda/conv/conv_matrices.h"
#include "backends/cuda/conv/conv_relayout.h"
#include "backends/cuda/conv/pointwise_product.h"
#include "backends/cuda/layout/copy_limit.h"

namespace attune::cuda {
namespace {

constexpr int64_t kParts = 3;
// Each costs two or three launches.
constexpr int64_t kMostRounds = 64;

// An element of an input is read, its parts are written, and three are read instead of one.
constexpr double kTransfersOfElement = 6;
// Minimum products per transfer. Below it the copies cost more than tensor cores save. By the rates
// of data sheets the minimum is 31 on an A100 (19.5 and 156 TFLOP/s, 2.0 TB/s), 67 on an H100 and
// 47 on an H200 (67 and 494; 3.35 and 4.8 TB/s), 23 on a B200 (75 and 1100; 8.0 TB/s).
constexpr double kLeastProducts = 24;

// On these GPUs tensor cores multiply tf32 at least six times as fast as other units multiply f32.
// On GPUs of workstations the ratio is one or two.
constexpr std::string_view kPayingArchs[] = {"sm_80", "sm_90", "sm_100", "sm_103"};

// The layouts of a tensor before and behind.
struct Order {
  bool is_from_last = false;
  bool is_to_last = false;
};

// The parts are stored along the channels of each group. `copy` is of whole images.
Split AlongChannels(const Relayout& copy, Order order, int64_t groups) {
  Split task = {};
  task.copy = copy;
  long long& channels = order.is_from_last ? task.copy.columns : task.copy.rows;
  long long& to_channels = order.is_from_last ? task.copy.to_columns : task.copy.to_rows;
  channels /= groups;
  to_channels /= groups;
  task.run = groups;
  task.from_run = copy.from_matrix;
  task.to_run = kParts * copy.to_matrix;
  task.to_part = to_channels * (order.is_to_last ? 1 : copy.to_line);
  task.copy.from_matrix = channels * (order.is_from_last ? 1 : copy.from_row);
  task.copy.to_matrix = kParts * task.to_part;
  if (order.is_to_last) task.copy.to_line *= kParts;
  task.copy.matrices *= groups;
  task.copy.to_matrices *= groups;
  return task;
}

// The parts are stored along the matrices (images, or filters) of each group.
Split AlongMatrices(const Relayout& copy, int64_t groups) {
  Split task = {};
  task.copy = copy;
  task.run = copy.to_matrices / groups;
  task.from_run = copy.matrices / groups * copy.from_matrix;
  task.to_part = task.run * copy.to_matrix;
  task.to_run = kParts * task.to_part;
  return task;
}

// Both inputs of `conv`. `relayout` copies their elements.
std::array<Split, 2> SplitsOf(const Conv& conv, const ConvRelayout& relayout) {
  const bool is_to_last = IsChannelsLast(relayout.inner.in_layout);
  const auto order = [is_to_last](Layout from) { return Order{IsChannelsLast(from), is_to_last}; };
  std::array<Split, 2> splits = {};
  switch (conv.direction) {
    case ConvDirection::kForward:
      splits = {AlongChannels(relayout.into[0], order(conv.in_layout), conv.groups),
                AlongChannels(relayout.into[1], order(conv.weights_layout), 1)};
      break;
    case ConvDirection::kBackwardData:
      splits = {AlongChannels(relayout.into[0], order(conv.out_layout), conv.groups),
                AlongMatrices(relayout.into[1], conv.groups)};
      break;
    case ConvDirection::kBackwardWeights:
      splits = {AlongMatrices(relayout.into[0], 1), AlongMatrices(relayout.into[1], 1)};
      break;
  }
  splits[0].low_part = 0;
  splits[1].low_part = 1;
  return splits;
}

void LengthenSum(Conv& inner) {
  switch (inner.direction) {
    case ConvDirection::kForward:
      inner.in_channels *= kParts;
      break;
    case ConvDirection::kBackwardData:
      inner.out_channels *= kParts;
      break;
    case ConvDirection::kBackwardWeights:
      inner.batch *= kParts;
      break;
  }
}

// All of `images` images in one round.
Result<ConvSplit> SplitOfImages(const Conv& conv, std::string_view name, int64_t images) {
  Conv part = conv;
  part.batch = images;
  part.math = MathMode::kTf32;
  ATTUNE_ASSIGN_OR_RETURN(const ConvRelayout relayout, LayOutAnew(part, name));
  ConvSplit split{relayout.inner};
  LengthenSum(split.inner);
  split.rounds = conv.batch / images;
  split.into = SplitsOf(part, relayout);
  for (size_t i = 0; i < split.parts_bytes.size(); ++i) {
    split.parts_bytes[i] = static_cast<size_t>(kParts) * relayout.bytes[i];
  }
  split.is_output_copied = relayout.is_copied[2];
  split.output_back = relayout.back[2];
  split.output_bytes = relayout.bytes[2];
  const std::vector<Operand> operands = Operands(Problem(part));
  const auto step_bytes = [&](size_t i) {
    return SpanElements(operands[i].tensor) * static_cast<int64_t>(SizeBytes(conv.type));
  };
  if (split.rounds > 1) split.steps_bytes = {step_bytes(0), 0, step_bytes(2)};
  split.inner.alignment_bytes = split.is_output_copied
                                    ? static_cast<int>(kScratchUnit)
                                    : AlignmentBehind(conv.alignment_bytes, split.steps_bytes[2]);
  ATTUNE_RETURN_IF_ERROR(Validate(split.inner));
  return split;
}

}  // namespace

size_t ConvSplit::CopiesBytes() const {
  return ScratchBytes(parts_bytes[0]) + ScratchBytes(parts_bytes[1]) +
         (is_output_copied ? ScratchBytes(output_bytes) : 0);
}

std::vector<std::string> SplitNames(const Conv& conv) {
  Conv part = conv;
  part.math = MathMode::kTf32;
  const std::vector<std::string> names = RelayoutNames(part);
  const bool is_padded = std::find(names.begin(), names.end(), "padded") != names.end();
  return {is_padded ? "padded" : "last", "first"};
}

Result<ConvSplit> SplitInLayout(const Conv& conv, std::string_view name, int64_t limit_bytes) {
  // Sums of weights run through all images.
  if (conv.direction == ConvDirection::kBackwardWeights) {
    return SplitOfImages(conv, name, conv.batch);
  }
  ATTUNE_ASSIGN_OR_RETURN(const ConvSplit one, SplitOfImages(conv, name, 1));
  const size_t lasting_bytes = ScratchBytes(one.parts_bytes[1]);
  // Inputs and outputs each end within a unit.
  const int64_t left_bytes =
      limit_bytes - static_cast<int64_t>(lasting_bytes) - 2 * int64_t{kScratchUnit};
  const size_t image_bytes = one.parts_bytes[0] + (one.is_output_copied ? one.output_bytes : 0);
  return SplitOfImages(conv, name,
                       ImagesAtOnce(conv.batch, static_cast<int64_t>(image_bytes), left_bytes));
}

Result<std::vector<std::string>> PossibleSplits(const Conv& conv, int64_t limit_bytes) {
  ATTUNE_RETURN_IF_ERROR(CheckSplits(conv));
  const auto copies_bytes_of = [&](const std::string& name) -> Result<size_t> {
    ATTUNE_ASSIGN_OR_RETURN(const ConvSplit split, SplitInLayout(conv, name, limit_bytes));
    if (split.rounds > kMostRounds) {
      return Unsupported(
          fmt::format("{} rounds of {} images, of which the parts fit into {} bytes, are more than "
                      "{}.",
                      split.rounds, split.inner.batch, limit_bytes, kMostRounds));
    }
    return split.CopiesBytes();
  };
  return WaysWithinLimit(SplitNames(conv), copies_bytes_of, limit_bytes,
                         {.what = "parts in layout",
                          .instead = "cuDNN's other solvers take the tensors as they are."});
}

Status CheckSplits(const Conv& conv) {
  if (conv.type != DataType::kF32 || conv.math != MathMode::kStrict) {
    return Unsupported(fmt::format(
        "Convolutions of f32 with math 'strict' are split; {} with math '{}' is multiplied by "
        "tensor cores as it is, or not at all.",
        Name(conv.type), Name(conv.math)));
  }
  const std::vector<Operand> operands = Operands(Problem(conv));
  const auto elements = [&](size_t i) {
    return static_cast<double>(SpanElements(operands[i].tensor));
  };
  const Spatial out = OutputExtent(conv);
  const double products = static_cast<double>(conv.batch * conv.out_channels) *
                          static_cast<double>(out[0] * out[1] * out[2]) *
                          static_cast<double>(WindowValues(conv));
  const double transfers = kTransfersOfElement * (elements(0) + elements(1));
  if (products >= kLeastProducts * transfers) return Status::Ok();
  return Unsupported(
      fmt::format("With {:.1f} products for each element that is read or written, making and "
                  "reading the parts takes longer than tensor cores save; {} are the least.",
                  products / transfers, kLeastProducts));
}

Status CheckSplitsPay(const Target& target) {
  const auto* const end = std::end(kPayingArchs);
  if (std::find(std::begin(kPayingArchs), end, target.arch) != end) return Status::Ok();
  return Unsupported(fmt::format(
      "Tensor cores of {} are not known to multiply tf32 more than three times as fast as other "
      "units f32, as those of {} do.",
      target.arch, fmt::join(kPayingArchs, ", ")));
}

}  // namespace attune::cuda
