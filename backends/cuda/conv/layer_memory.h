// Findings about layers of a network, kept for the next image that passes the layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"

namespace attune::cuda {

// The part of `conv` that does not depend on the size of its image or the batch.
inline Conv LayerOf(const Conv& conv) {
  Conv layer = conv;
  layer.batch = 1;
  layer.in = {1, 1, 1};
  return layer;
}

// A Finding for each of the first kMostLayers layers; nothing of further ones. Thread-safe.
template <class Finding>
class LayerMemory {
 public:
  static constexpr size_t kMostLayers = 256;

  std::optional<Finding> Find(const Conv& conv) const {
    const Conv layer = LayerOf(conv);
    const std::lock_guard lock(mutex_);
    const auto place = std::ranges::find(rows_, layer, &Row::layer);
    return place == rows_.end() ? std::nullopt : std::optional<Finding>(place->finding);
  }

  // Replaces the finding for the layer.
  void Put(const Conv& conv, Finding finding) {
    const Conv layer = LayerOf(conv);
    const std::lock_guard lock(mutex_);
    const auto place = std::ranges::find(rows_, layer, &Row::layer);
    if (place != rows_.end()) {
      place->finding = std::move(finding);
    } else if (rows_.size() < kMostLayers) {
      rows_.push_back({layer, std::move(finding)});
    }
  }

 private:
  struct Row {
    Conv layer;
    Finding finding;
  };

  mutable std::mutex mutex_;  // Guards the members below.
  std::vector<Row> rows_;
};

}  // namespace attune::cuda
