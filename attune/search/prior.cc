#include "attune/search/prior.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>

namespace attune {
namespace {

// Slower configs and failures count as this slow: how bad a bad config is predicts nothing about
// good ones.
const double kLeastLog = std::log(0.03);
// Standard deviations, all of logarithms: of the part that similar configs share, of the weight of
// each other device context in the mixture, and of the speed of this one.
constexpr double kCommon = 0.3;
constexpr double kMixture = 0.35;
constexpr double kSpeed = 1.0;
// Standard deviation of a time itself; above 0, so that identical configs can be told apart.
constexpr double kNoise = 0.01;

double Square(double x) { return x * x; }

// From one end of each value list to the other is a distance of kAcross: at it, configs have 0.6 of
// the shared part in common. With 1, guesses for one of eight devices that others recorded were
// worse (docs/performance.md, *Searchers on recorded spaces*).
constexpr double kAcross = 0.5;
double Distance(const Digits& a, const Digits& b, const std::vector<uint32_t>& radices) {
  double distance = 0;
  for (size_t i = 0; i < radices.size(); ++i) {
    distance += std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / (radices[i] - 1);
  }
  return kAcross * distance;
}

std::optional<double> BestOf(const TimesElsewhere& times) {
  std::optional<double> best_ns;
  for (const TrialElsewhere& trial : times) {
    if (trial.time_ns.has_value())
      best_ns = std::min(*trial.time_ns, best_ns.value_or(*trial.time_ns));
  }
  return best_ns;
}

// The share of the best speed of the device context, as a logarithm, by config.
std::map<uint64_t, double> LogShares(const TimesElsewhere& times, double best_ns) {
  std::map<uint64_t, double> shares;
  for (const TrialElsewhere& trial : times) {
    const double share = trial.time_ns.has_value() ? std::log(best_ns / *trial.time_ns) : kLeastLog;
    shares[trial.index] = std::max(share, kLeastLog);
  }
  return shares;
}

// Inverts a small symmetric positive matrix (Gauss and Jordan).
std::vector<std::vector<double>> Inverse(std::vector<std::vector<double>> matrix) {
  const size_t n = matrix.size();
  std::vector<std::vector<double>> inverse(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (size_t i = 0; i < n; ++i) {
    const double pivot = matrix[i][i];
    for (size_t j = 0; j < n; ++j) {
      matrix[i][j] /= pivot;
      inverse[i][j] /= pivot;
    }
    for (size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = matrix[k][i];
      for (size_t j = 0; j < n; ++j) {
        matrix[k][j] -= factor * matrix[i][j];
        inverse[k][j] -= factor * inverse[i][j];
      }
    }
  }
  return inverse;
}

// Expected improvement of a normal variable over `best`.
double ExpectedImprovement(double mean, double variance, double best) {
  const double deviation = std::sqrt(variance);
  const double z = (mean - best) / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return deviation * (z * below + density);
}

}  // namespace

std::unordered_map<uint64_t, uint8_t> RanksElsewhere(const std::vector<TimesElsewhere>& elsewhere) {
  struct Sum {
    double of_logs = 0;
    double count = 0;
  };
  std::map<uint64_t, Sum> sums;
  for (const TimesElsewhere& times : elsewhere) {
    const std::optional<double> best_ns = BestOf(times);
    if (!best_ns.has_value()) continue;
    for (const auto& [index, log_share] : LogShares(times, *best_ns)) {
      sums[index].of_logs += log_share;
      ++sums[index].count;
    }
  }
  std::vector<std::pair<double, uint64_t>> order;
  for (const auto& [index, sum] : sums) order.emplace_back(sum.of_logs / sum.count, index);
  std::sort(order.begin(), order.end());
  const size_t last = std::max<size_t>(1, order.size()) - 1;
  std::unordered_map<uint64_t, uint8_t> ranks;
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[order[i].second] = static_cast<uint8_t>(last == 0 ? 255 : 255 * i / last);
  }
  return ranks;
}

Prior::Prior(const ConfigDigits& digits, const std::vector<TimesElsewhere>& elsewhere) {
  for (size_t i = 0; i < digits.size(); ++i) radices_.push_back(digits.radix(i));
  AddPlaces(digits, elsewhere);
}

void Prior::AddPlaces(const ConfigDigits& digits, const std::vector<TimesElsewhere>& elsewhere) {
  std::vector<std::map<uint64_t, double>> places;
  std::set<uint64_t> worked;
  for (const TimesElsewhere& times : elsewhere) {
    const std::optional<double> best_ns = BestOf(times);
    if (!best_ns.has_value()) continue;
    for (const TrialElsewhere& trial : times) {
      if (trial.time_ns.has_value()) worked.insert(trial.index);
    }
    log_best_ns_ += std::log(*best_ns);
    places.push_back(LogShares(times, *best_ns));
  }
  if (places.empty()) return;
  const auto count = static_cast<double>(places.size());
  log_best_ns_ /= count;
  for (const uint64_t index : worked) {
    Known known{index, digits.At(index), {}, 0, 0};
    double tried = 0;
    for (const auto& shares : places) {
      const auto found = shares.find(index);
      if (found == shares.end()) continue;
      known.mean += found->second;
      ++tried;
    }
    known.mean /= tried;
    for (const auto& shares : places) {
      const auto found = shares.find(index);
      // Without a trial there, the share is assumed to equal the mean.
      known.deviations.push_back(found == shares.end() ? 0 : found->second - known.mean);
    }
    known.variance = Covariance(known, known);
    known_.push_back(std::move(known));
  }
}

double Prior::Covariance(const Known& a, const Known& b) const {
  double mixture = 0;
  for (size_t place = 0; place < a.deviations.size(); ++place) {
    mixture += a.deviations[place] * b.deviations[place];
  }
  return Square(kCommon) * std::exp(-Distance(a.digits, b.digits, radices_)) +
         Square(kMixture) * mixture + Square(kSpeed);
}

bool Prior::Waits() const {
  return !Done() && std::any_of(tried_.begin(), tried_.end(),
                                [](const Tried& tried) { return !tried.log_share.has_value(); });
}

uint64_t Prior::Next() {
  assert(!Done());
  ++guesses_;
  Try(tried_.empty() ? OfGreatestMean() : OfGreatestImprovement());
  return known_[tried_.back().known].index;
}

void Prior::WillTry(uint64_t index) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.index == index; });
  if (found != known_.end()) Try(static_cast<size_t>(found - known_.begin()));
}

void Prior::Try(size_t known) {
  Tried tried{known, std::nullopt, {}};
  tried.covariances.reserve(known_.size());
  for (const Known& other : known_) tried.covariances.push_back(Covariance(known_[known], other));
  tried_.push_back(std::move(tried));
}

bool Prior::WasTried(size_t known) const {
  return std::any_of(tried_.begin(), tried_.end(),
                     [&](const Tried& tried) { return tried.known == known; });
}

void Prior::Tell(uint64_t index, std::optional<double> time_ns) {
  for (Tried& tried : tried_) {
    if (known_[tried.known].index != index) continue;
    const double told = time_ns.has_value() ? log_best_ns_ - std::log(*time_ns) : kLeastLog;
    tried.log_share = std::max(told, kLeastLog);
  }
}

size_t Prior::OfGreatestMean() const {
  const auto best = std::max_element(
      known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.mean < b.mean; });
  return static_cast<size_t>(best - known_.begin());
}

// The posterior of a Gaussian process with the prior mean and covariance of `known_`.
size_t Prior::OfGreatestImprovement() const {
  const size_t n = tried_.size();
  std::vector<std::vector<double>> among(n, std::vector<double>(n));
  std::vector<double> surprises(n);
  double best_share = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) among[i][j] = tried_[i].covariances[tried_[j].known];
    among[i][i] += Square(kNoise);
    const double expected = known_[tried_[i].known].mean;
    const double share = tried_[i].log_share.value_or(expected);
    surprises[i] = share - expected;
    best_share = std::max(best_share, share);
  }
  const auto inverse = Inverse(std::move(among));
  size_t best = 0;
  double most = -1;
  for (size_t k = 0; k < known_.size(); ++k) {
    if (WasTried(k)) continue;
    double mean = known_[k].mean;
    double variance = known_[k].variance;
    for (size_t i = 0; i < n; ++i) {
      double weight = 0;
      for (size_t j = 0; j < n; ++j) weight += inverse[i][j] * tried_[j].covariances[k];
      mean += weight * surprises[i];
      variance -= weight * tried_[i].covariances[k];
    }
    const double improvement =
        ExpectedImprovement(mean, std::max(variance, Square(kNoise)), best_share);
    if (improvement <= most) continue;
    most = improvement;
    best = k;
  }
  return best;
}

}  // namespace attune
