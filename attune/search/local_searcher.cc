#include "attune/search/local_searcher.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

namespace attune {
namespace {

// Scattered configs tried before a descent starts from the best of them.
constexpr size_t kStarts = 4;
// Tries to find an unasked config near the best one.
constexpr int kNearTries = 16;
// Neighbours by any step that are tried in a dead end.
constexpr size_t kMostByAnyStep = 512;

}  // namespace

LocalSearcher::LocalSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : space_(space),
      random_(options.seed),
      start_(space, options),
      order_(space.size(), options.seed) {}

std::vector<uint64_t> LocalSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && !start_.Done() && !start_.Waits()) {
    indices.push_back(start_.Next());
    asked_.insert(indices.back());
  }
  if (queue_.empty() && pending_ == 0 && indices.empty()) Advance();
  while (indices.size() < max_count && !queue_.empty()) {
    indices.push_back(queue_.back());
    asked_.insert(queue_.back());
    queue_.pop_back();
  }
  pending_ += indices.size();
  return indices;
}

void LocalSearcher::Tell(uint64_t index, const Answer& answer) {
  assert(pending_ > 0 && asked_.contains(index));
  --pending_;
  start_.Tell(index, answer);
  if (!answer.time_ns.has_value()) return;
  const Point point{index, *answer.time_ns};
  if (!candidate_.has_value() || point.time_ns < candidate_->time_ns) candidate_ = point;
  if (!best_.has_value() || point.time_ns < best_->time_ns) best_ = point;
}

void LocalSearcher::Advance() {
  const bool moved = candidate_.has_value() &&
                     (!standing_.has_value() || candidate_->time_ns < standing_->time_ns);
  if (moved) {
    standing_ = candidate_;
    stage_ = Stage::kAdjacent;
    QueueUnasked(space_.Neighbours(standing_->index, true));
  }
  candidate_.reset();
  if (queue_.empty() && standing_.has_value() && stage_ == Stage::kAdjacent) {
    stage_ = Stage::kAny;
    QueueUnasked(space_.SampleNeighbours(standing_->index, kMostByAnyStep, random_));
  }
  if (queue_.empty()) QueueRestart();
}

void LocalSearcher::QueueUnasked(std::vector<uint64_t> indices) {
  std::erase_if(indices, [&](uint64_t index) { return asked_.contains(index); });
  random_.Shuffle(std::span<uint64_t>(indices));
  queue_ = std::move(indices);
}

void LocalSearcher::QueueRestart() {
  stage_ = Stage::kRestart;
  standing_.reset();
  const bool near = ++restarts_ % 2 == 0 && best_.has_value();
  while (queue_.size() < kStarts) {
    std::optional<uint64_t> index = near ? NearTheBest() : std::nullopt;
    if (!index.has_value()) index = NextUnasked();
    if (!index.has_value()) return;
    queue_.push_back(*index);
  }
}

// Walks two or three random steps away from the best config.
std::optional<uint64_t> LocalSearcher::NearTheBest() {
  for (int attempt = 0; attempt < kNearTries; ++attempt) {
    uint64_t index = best_->index;
    const uint64_t steps = 2 + random_.Below(2);
    for (uint64_t step = 0; step < steps; ++step) {
      const std::optional<uint64_t> neighbour = space_.SampleNeighbour(index, random_);
      if (!neighbour.has_value() && index == best_->index) return std::nullopt;
      index = neighbour.value_or(index);
    }
    const bool queued = std::find(queue_.begin(), queue_.end(), index) != queue_.end();
    if (!queued && !asked_.contains(index)) return index;
  }
  return std::nullopt;
}

std::optional<uint64_t> LocalSearcher::NextUnasked() {
  while (next_in_order_ < order_.size()) {
    const uint64_t index = order_.At(next_in_order_++);
    const bool queued = std::find(queue_.begin(), queue_.end(), index) != queue_.end();
    if (!queued && !asked_.contains(index)) return index;
  }
  return std::nullopt;
}

}  // namespace attune
