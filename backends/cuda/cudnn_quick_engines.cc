#include "backends/cuda/cudnn_quick_engines.h"

#include <utility>

#include "attune/problem/problem.h"

namespace attune::cuda {
namespace {

// Engines whose plans are made in some 0.1 ms, the best first; those of tensor cores before others,
// which an exact convolution is left with. Found by making every engine's plan for new pictures of
// nine layers on an H200 with cuDNN 9.14 (docs/performance.md, "First calls of new pictures").
constexpr std::string_view kMeasuredVersion = "9.14.";

std::vector<CudnnEngineChoice> Measured(ConvDirection direction) {
  if (direction == ConvDirection::kForward) return {{45}, {70}, {23}};
  return {{43}, {40}, {57}};
}

constexpr int64_t kTypicalChannels = 64;
constexpr int64_t kTypicalSide = 56;
constexpr int64_t kTypicalGroups = 4;

}  // namespace

Conv TypicalOf(const Conv& conv) {
  Conv typical;
  typical.direction = conv.direction;
  typical.spatial_rank = conv.spatial_rank;
  typical.in_channels = typical.out_channels = kTypicalChannels;
  const bool is_depthwise = conv.groups > 1 && conv.groups == conv.in_channels;
  typical.groups = is_depthwise ? kTypicalChannels : conv.groups > 1 ? kTypicalGroups : 1;
  for (size_t i = typical.in.size() - static_cast<size_t>(conv.spatial_rank); i < typical.in.size();
       ++i) {
    typical.in[i] = kTypicalSide;
    typical.filter[i] = 3;
    typical.pad[i] = 1;
  }
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
  if (conv.direction == ConvDirection::kBackwardWeights) return {};
  if (version.starts_with(kMeasuredVersion)) return Measured(conv.direction);
  const Conv typical = TypicalOf(conv);
  const std::string kind = Text(Problem(typical));
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = learned_.find(kind); place != learned_.end()) return place->second;
  }
  // Not under the lock: it takes milliseconds. Two that ask at the same time learn the same.
  std::vector<CudnnEngineChoice> choices = recommend(typical);
  if (choices.size() > kMostLearned) choices.resize(kMostLearned);
  const std::lock_guard lock(mutex_);
  return learned_.try_emplace(kind, std::move(choices)).first->second;
}

}  // namespace attune::cuda
