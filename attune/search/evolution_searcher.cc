#include "attune/search/evolution_searcher.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

constexpr size_t kPopulation = 16;
// Factor of the difference of two members.
constexpr double kScale = 0.7;
constexpr double kCrossover = 0.6;

}  // namespace

EvolutionSearcher::EvolutionSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : ProposingSearcher(space, options) {}

// The position of the fastest, moved by a part of the way from one member to another. Positions
// beyond the list wrap around: values of variants have no ends.
uint32_t EvolutionSearcher::Moved(size_t parameter, const Individual& from, const Individual& to) {
  const double difference =
      static_cast<double>(to.digits[parameter]) - static_cast<double>(from.digits[parameter]);
  const auto radix = static_cast<int64_t>(digits().radix(parameter));
  const int64_t moved = static_cast<int64_t>(members_[fastest_].digits[parameter]) +
                        std::llround(kScale * difference);
  return static_cast<uint32_t>((moved % radix + radix) % radix);
}

std::optional<uint64_t> EvolutionSearcher::Propose() {
  target_.reset();
  if (members_.size() < kPopulation) return std::nullopt;
  const size_t target = next_target_++ % members_.size();
  const Individual& from = members_[random().Below(members_.size())];
  const Individual& to = members_[random().Below(members_.size())];
  Digits trial = members_[target].digits;
  for (size_t i = 0; i < trial.size(); ++i) {
    if (random().Uniform() < kCrossover) trial[i] = Moved(i, from, to);
  }
  if (trial == members_[target].digits) trial = OneStepFrom(trial);
  target_ = target;
  return digits().IndexOf(trial);
}

void EvolutionSearcher::WillAsk(uint64_t index) {
  if (target_.has_value()) target_of_.emplace(index, *target_);
  target_.reset();
}

void EvolutionSearcher::Learn(uint64_t index, const Answer& answer) {
  const auto found = target_of_.find(index);
  const bool has_target = found != target_of_.end();
  const size_t target = has_target ? found->second : members_.size();
  if (has_target) target_of_.erase(found);
  if (!answer.time_ns.has_value()) return;
  if (!has_target && members_.size() < kPopulation) {
    members_.push_back({digits().At(index), *answer.time_ns});
  } else if (has_target && *answer.time_ns < members_[target].time_ns) {
    members_[target] = {digits().At(index), *answer.time_ns};
  }
  const auto fastest =
      std::min_element(members_.begin(), members_.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  fastest_ = static_cast<size_t>(fastest - members_.begin());
}

}  // namespace attune
