// Chooses the first configs to try, by transfer priors: times measured in other device contexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attune/search/config_digits.h"

namespace attune {

// A config tried in one other device context: on another device, or for another size.
struct TrialElsewhere {
  uint64_t index = 0;             // In the space.
  std::optional<double> time_ns;  // Nothing if it failed there.
};
// All configs tried in that device context, each once, in any order.
using TimesElsewhere = std::vector<TrialElsewhere>;

// The rank of each config that was tried anywhere, by the mean of the logarithms of its shares of
// the best, from 0 (the worst) to 255.
std::unordered_map<uint64_t, uint8_t> RanksElsewhere(const std::vector<TimesElsewhere>& elsewhere);

// Chooses the first configs to try in a device context without trials, best guess first, among
// those that worked in another one. Times are logarithms of the share of the best of their context.
// The share of a config here is taken as
//
//   the mean over the others + the deviation of this context + the part that similar configs share
//
// where the second part is the same mixture of the others' deviations from the mean for all
// configs, the third is a Gaussian process over the distance between configs, and the overall speed
// of this device context is unknown within a factor of a few. The first guess has the greatest
// mean, if nothing was tried before. Every other one has the greatest expected improvement over the
// best answer so far, given all answers; configs without an answer count as expected. So a
// disappointing guess leads away from all similar configs. Not thread-safe.
class Prior {
 public:
  // Maximum number of guesses: after them a searcher knows more of this device context than the
  // others do.
  static constexpr size_t kGuesses = 3;

  // REQUIRES: all indices are in the space of `digits`.
  Prior(const ConfigDigits& digits, const std::vector<TimesElsewhere>& elsewhere);

  // Nothing is left to guess.
  bool Done() const { return guesses_ >= kGuesses || tried_.size() >= known_.size(); }
  // True if an outstanding answer would improve the next guess.
  bool Waits() const;
  // Returns an index that was neither tried nor guessed. REQUIRES: !Done().
  uint64_t Next();
  // The config is tried anyway, so it is no guess. Each index once.
  void WillTry(uint64_t index);
  // Records the result of a config that was guessed or tried.
  void Tell(uint64_t index, std::optional<double> time_ns);

 private:
  // A config that worked in another device context.
  struct Known {
    uint64_t index = 0;
    Digits digits;
    std::vector<double> deviations;  // Log share minus the mean, by context.
    double mean = 0;
    double variance = 0;  // Variance before any answer.
  };
  struct Tried {
    size_t known = 0;
    std::optional<double> log_share;  // Answer: log(geometric mean of best times / time).
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
  double log_best_ns_ = 0;  // The mean over the device contexts.
  std::vector<Tried> tried_;
  size_t guesses_ = 0;
};

}  // namespace attune
