#include "backends/cuda/cudnn_quick_engines.h"

#include <algorithm>
#include <utility>

#include "attune/problem/problem.h"

namespace attune::cuda {
namespace {

// Engines whose plans are made in some 0.1 ms, the best first; those of tensor cores before others,
// but where numbers are to be exact, because there they would be made to be refused. Found by
// making every engine's plan for new pictures of nine layers on an H200 with cuDNN 9.14
// (docs/performance.md, "First calls of new pictures").
constexpr std::string_view kMeasuredVersion = "9.14.";

std::vector<CudnnEngineChoice> Measured(const Conv& conv) {
  if (conv.direction != ConvDirection::kForward) return {{43}, {40}, {57}};
  const bool is_exact = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  if (is_exact) return {{70}, {45}, {23}};
  return {{45}, {70}, {23}};
}

// Whether the engines above were measured for convolutions like it. Groups, depth and exact numbers
// with channels last they all refuse, and the implicit product, which is left then, takes 3 to 120
// times as long as what the library recommends (docs/performance.md, "Convolutions of other
// kinds").
bool IsMeasured(const Conv& conv) {
  const bool is_exact = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  return conv.spatial_rank == 2 && conv.groups == 1 &&
         !(is_exact && IsChannelsLast(conv.in_layout));
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

namespace {

// What `conv` shares with other sizes of its picture and other batches: a layer of a network.
Conv LayerOf(const Conv& conv) {
  Conv layer = conv;
  layer.batch = 1;
  layer.in = {1, 1, 1};
  return layer;
}

}  // namespace

std::vector<CudnnEngineChoice> CudnnQuickEngines::For(const Conv& conv, std::string_view version,
                                                      const Recommend& recommend) const {
  std::vector<CudnnEngineChoice> choices = Listed(conv, version, recommend);
  const Conv layer = LayerOf(conv);
  const std::lock_guard lock(mutex_);
  const auto taken = std::ranges::find(taken_, layer, &Taken::layer);
  if (taken == taken_.end()) return choices;
  const auto first = std::ranges::find(choices, taken->choice);
  if (first != choices.end()) std::rotate(choices.begin(), first, first + 1);
  return choices;
}

void CudnnQuickEngines::NoteTaken(const Conv& conv, const std::vector<CudnnEngineChoice>& choices,
                                  const CudnnEngineChoice& choice) const {
  if (choice == choices.front()) return;
  const Conv layer = LayerOf(conv);
  const std::lock_guard lock(mutex_);
  const auto taken = std::ranges::find(taken_, layer, &Taken::layer);
  if (taken != taken_.end()) {
    taken->choice = choice;
  } else if (taken_.size() < kMostLayers) {
    taken_.push_back({layer, choice});
  }
}

std::vector<CudnnEngineChoice> CudnnQuickEngines::Listed(const Conv& conv, std::string_view version,
                                                         const Recommend& recommend) const {
  if (conv.direction == ConvDirection::kBackwardWeights) return {};
  if (version.starts_with(kMeasuredVersion) && IsMeasured(conv)) return Measured(conv);
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
