#include "attune/search/local_search.h"

#include <limits>

namespace attune {
namespace {

constexpr double kFailedNs = std::numeric_limits<double>::infinity();

}  // namespace

LocalSearch::LocalSearch(const ConfigSpace& space, uint64_t seed)
    : space_(space), order_(space.size(), seed), random_(seed + 1) {
  QueueUnasked(0);
  BeginDescent();
}

std::vector<uint64_t> LocalSearch::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  // A ring is judged when all of it is known; until then only what is queued may be asked.
  while (queue_.empty() && pending_ == 0 && asked_.size() < space_.size()) Advance();
  while (!queue_.empty() && indices.size() < max_count) {
    indices.push_back(queue_.front());
    queue_.pop_front();
    ++pending_;
  }
  return indices;
}

void LocalSearch::Tell(uint64_t index, std::optional<double> time_ns) {
  if (pending_ > 0) --pending_;
  times_ns_[index] = time_ns.value_or(kFailedNs);
}

bool LocalSearch::Done() const { return queue_.empty() && asked_.size() >= space_.size(); }

void LocalSearch::QueueUnasked(uint64_t index) {
  round_.push_back(index);
  if (asked_.insert(index).second) queue_.push_back(index);
}

std::optional<uint64_t> LocalSearch::NextRandom() {
  while (position_ < space_.size()) {
    const uint64_t index = order_.At(position_++);
    if (!asked_.contains(index)) return index;
  }
  return std::nullopt;
}

void LocalSearch::BeginDescent() {
  ring_ = Ring::kSeeds;
  centre_.reset();
  for (size_t i = 0; i < kSeeds; ++i) {
    const std::optional<uint64_t> index = NextRandom();
    if (index.has_value()) QueueUnasked(*index);
  }
}

void LocalSearch::QueueNeighbours(bool adjacent_only) {
  std::vector<uint64_t> neighbours = space_.Neighbours(*centre_, adjacent_only);
  random_.Shuffle(std::span<uint64_t>(neighbours));
  for (const uint64_t index : neighbours) QueueUnasked(index);
}

void LocalSearch::Advance() {
  const std::optional<uint64_t> before = centre_;
  for (const uint64_t index : round_) {
    const double time_ns = times_ns_[index];
    if (time_ns < kFailedNs && (!centre_.has_value() || time_ns < times_ns_[*centre_])) {
      centre_ = index;
    }
  }
  round_.clear();
  const bool moved = centre_ != before;
  if (!centre_.has_value() || (!moved && ring_ == Ring::kAll)) {
    BeginDescent();
  } else if (moved || ring_ == Ring::kSeeds) {
    ring_ = Ring::kAdjacent;
    QueueNeighbours(true);
  } else {
    ring_ = Ring::kAll;
    QueueNeighbours(false);
  }
}

}  // namespace attune
