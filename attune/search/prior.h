// What to try first, by what was measured elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attune/search/config_digits.h"

namespace attune {

// A config that somebody tried at one other place: on another device, or for another size.
struct TrialElsewhere {
  uint64_t index = 0;             // In the space.
  std::optional<double> time_ns;  // Nothing if it failed there.
};
// All that were tried at that place, each once, in any order.
using TimesElsewhere = std::vector<TrialElsewhere>;

// Of each config that was tried anywhere, what it reached there: its rank by the mean of the
// logarithms of its shares of the best, from 0 (the worst) to 255.
std::unordered_map<uint64_t, uint8_t> RanksElsewhere(const std::vector<TimesElsewhere>& elsewhere);

// Chooses the first configs to try at a place that nobody knows, best guess first, among those that
// worked at another one. Times are logarithms of the share of what is best at their place. The
// share of a config here is taken as
//
//   the mean over the others + what the places differ by + what like configs have in common
//
// where the second part is the same mixture of the others' deviations from the mean for all
// configs, the third is a Gaussian process over the distance between configs, and how fast this
// place is altogether is unknown within a factor of a few. The first guess has the greatest mean,
// if nothing was tried before. Every other one has the greatest expected improvement over the best
// of those that were told, by what is known from them; those that are not told yet count as
// expected. So a guess that disappoints leads away from all that is like it. Not thread-safe.
class Prior {
 public:
  // So many guesses at most: behind them a searcher knows more of this place than the others do.
  static constexpr size_t kGuesses = 3;

  // REQUIRES: all indices are in the space of `digits`.
  Prior(const ConfigDigits& digits, const std::vector<TimesElsewhere>& elsewhere);

  // Nothing is left to guess.
  bool Done() const { return guesses_ >= kGuesses || tried_.size() >= known_.size(); }
  // The next guess would be a better one with an answer that is not told yet.
  bool Waits() const;
  // Nothing that was tried or guessed. REQUIRES: !Done().
  uint64_t Next();
  // Somebody tries it anyway, so it is no guess. Each index once.
  void WillTry(uint64_t index);
  // What came of a config that was guessed or tried.
  void Tell(uint64_t index, std::optional<double> time_ns);

 private:
  // A config that worked at another place.
  struct Known {
    uint64_t index = 0;
    Digits digits;
    std::vector<double> deviations;  // Of its logarithm at each place from their mean.
    double mean = 0;
    double variance = 0;  // Before anything is told.
  };
  struct Tried {
    size_t known = 0;
    std::optional<double> log_share;  // Told: of the best time elsewhere, on the geometric mean.
    std::vector<double> covariances;  // With all of `known_`.
  };

  void AddPlaces(const ConfigDigits& digits, const std::vector<TimesElsewhere>& elsewhere);
  double Covariance(const Known& a, const Known& b) const;
  void Try(size_t known);
  bool WasTried(size_t known) const;
  size_t OfGreatestMean() const;
  size_t OfGreatestImprovement() const;

  std::vector<uint32_t> radices_;
  std::vector<Known> known_;
  double log_best_ns_ = 0;  // The mean over the places.
  std::vector<Tried> tried_;
  size_t guesses_ = 0;
};

}  // namespace attune
