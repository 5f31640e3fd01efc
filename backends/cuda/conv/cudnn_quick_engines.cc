#include "backends/cuda/conv/cudnn_quick_engines.h"

#include <algorithm>
#include <utility>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"

namespace attune::cuda {
namespace {

// Engines with plans that are made in some 0.1 ms, the best first. Engines of tensor cores come
// before others, except for exact numbers: there their plans would be made only to be refused.
// Found by making every engine's plan for new images of nine layers on an H200 with cuDNN 9.14
// (docs/performance.md, "First calls of new pictures").
constexpr std::string_view kMeasuredVersion = "9.14.";

std::vector<CudnnEngineChoice> Measured(const Conv& conv) {
  if (conv.direction != ConvDirection::kForward) return {{43}, {40}, {57}};
  const bool is_exact = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  if (is_exact) return {{70}, {45}, {23}};
  return {{45}, {70}, {23}};
}

constexpr int64_t kTypicalChannels = 64;
constexpr int64_t kTypicalSide = 56;
constexpr int64_t kTypicalDepth = 16;
constexpr int64_t kTypicalBatch = 16;

// Along one dimension, with room for the filter.
int64_t TypicalExtent(const Conv& conv, size_t dimension, int64_t side) {
  const int64_t reach = conv.dilation[dimension] * (conv.filter[dimension] - 1) + 1;
  return std::max(side, reach);
}

Conv TypicalPictureOf(const Conv& conv) {
  Conv typical = conv;
  typical.batch = kTypicalBatch;
  const size_t first = typical.in.size() - static_cast<size_t>(conv.spatial_rank);
  for (size_t i = first; i < typical.in.size(); ++i) {
    const bool is_depth = i == first && conv.spatial_rank == 3;
    typical.in[i] = TypicalExtent(conv, i, is_depth ? kTypicalDepth : kTypicalSide);
  }
  return typical;
}

}  // namespace

bool IsMeasuredKind(const Conv& conv) {
  const bool is_exact = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  return conv.spatial_rank == 2 && conv.groups == 1 &&
         !(is_exact && IsChannelsLast(conv.in_layout));
}

Conv TypicalOf(const Conv& conv) {
  if (!IsMeasuredKind(conv)) return TypicalPictureOf(conv);
  Conv typical;
  typical.direction = conv.direction;
  typical.in_channels = typical.out_channels = kTypicalChannels;
  typical.in = {1, kTypicalSide, kTypicalSide};
  typical.filter = {1, 3, 3};
  typical.pad = {0, 1, 1};
  typical.in_layout = conv.in_layout;
  typical.weights_layout = conv.weights_layout;
  typical.out_layout = conv.out_layout;
  typical.type = conv.type;
  typical.math = conv.math;
  typical.alignment_bytes = conv.alignment_bytes;
  typical.deterministic = conv.deterministic;
  return typical;
}

std::vector<CudnnEngineChoice> CudnnQuickEngines::For(const Conv& conv, std::string_view version,
                                                      const Recommend& recommend) const {
  std::vector<CudnnEngineChoice> choices = Listed(conv, version, recommend);
  if (const auto taken = taken_.Find(conv)) {
    const auto first = std::ranges::find(choices, *taken);
    if (first != choices.end()) std::rotate(choices.begin(), first, first + 1);
  }
  return choices;
}

void CudnnQuickEngines::NoteTaken(const Conv& conv, const std::vector<CudnnEngineChoice>& choices,
                                  const CudnnEngineChoice& choice) const {
  if (choice != choices.front()) taken_.Put(conv, choice);
}

std::vector<CudnnEngineChoice> CudnnQuickEngines::Listed(const Conv& conv, std::string_view version,
                                                         const Recommend& recommend) const {
  if (conv.direction == ConvDirection::kBackwardWeights) return {};
  if (version.starts_with(kMeasuredVersion) && IsMeasuredKind(conv)) return Measured(conv);
  const Conv typical = TypicalOf(conv);
  const std::string typical_text = Text(Problem(typical));
  {
    const std::lock_guard lock(mutex_);
    const auto place = learned_.find(typical_text);
    if (place != learned_.end()) return place->second;
  }
  // Not under the lock: it takes milliseconds. Two threads that ask at the same time learn the
  // same.
  std::vector<CudnnEngineChoice> choices = recommend(typical);
  if (choices.size() > kMostLearned) choices.resize(kMostLearned);
  const std::lock_guard lock(mutex_);
  if (learned_.size() < kMostAnswers) learned_.try_emplace(typical_text, choices);
  return choices;
}

}  // namespace attune::cuda
