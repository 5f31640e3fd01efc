#include "attune/search/prior.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace attune {
namespace {

// A config that failed elsewhere may work here, but counts as a thousand times slower.
const double kLeastLog = std::log(1e-3);

// For each config the logarithm of its share of the best speed.
std::vector<double> LogShares(const TimesElsewhere& times) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& time : times) best = std::min(best, time.value_or(best));
  std::vector<double> shares;
  for (const auto& time : times) {
    shares.push_back(time.has_value() ? std::max(kLeastLog, std::log(best / *time)) : kLeastLog);
  }
  return shares;
}

}  // namespace

std::vector<uint64_t> FirstGuesses(const std::vector<TimesElsewhere>& elsewhere, size_t count) {
  std::vector<std::vector<double>> shares;
  for (const TimesElsewhere& times : elsewhere) shares.push_back(LogShares(times));
  const size_t configs = elsewhere.empty() ? 0 : elsewhere[0].size();
  std::vector<double> reached(elsewhere.size(), kLeastLog);
  std::vector<uint64_t> chosen;
  while (chosen.size() < std::min(count, configs)) {
    uint64_t best_index = 0;
    // By what the set reaches, then by what the config reaches alone.
    std::pair<double, double> best(-std::numeric_limits<double>::infinity(), 0);
    for (uint64_t index = 0; index < configs; ++index) {
      if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) continue;
      std::pair<double, double> sum(0, 0);
      for (size_t place = 0; place < shares.size(); ++place) {
        assert(shares[place].size() == configs);
        sum.first += std::max(reached[place], shares[place][index]);
        sum.second += shares[place][index];
      }
      if (sum <= best) continue;
      best = sum;
      best_index = index;
    }
    chosen.push_back(best_index);
    for (size_t place = 0; place < shares.size(); ++place) {
      reached[place] = std::max(reached[place], shares[place][best_index]);
    }
  }
  return chosen;
}

}  // namespace attune
