#include "attune/search/annealing_searcher.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

// In units of the logarithm of the time: at first it accepts a 65 % longer time one time in three.
constexpr double kFirstTemperature = 0.5;
constexpr double kLastTemperature = 0.01;
constexpr double kCooling = 0.98;  // For each answer.

}  // namespace

std::optional<uint64_t> AnnealingSearcher::Propose() {
  if (!standing_.has_value()) return std::nullopt;
  return digits().IndexOf(OneStepFrom(standing_->digits));
}

void AnnealingSearcher::Learn(uint64_t index, const Answer& answer) {
  ++answers_;
  if (!answer.time_ns.has_value()) return;
  const double temperature =
      std::max(kLastTemperature, kFirstTemperature * std::pow(kCooling, answers_));
  if (standing_.has_value()) {
    const double worse = std::log(*answer.time_ns / standing_->time_ns);
    if (worse > 0 && random().Uniform() >= std::exp(-worse / temperature)) return;
  }
  standing_ = {digits().At(index), *answer.time_ns};
}

}  // namespace attune
