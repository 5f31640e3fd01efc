// Compares, on held-out problems, choices by neighbours with choices by predicted times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/model/neighbour_chooser.h"

namespace attune {

class ChooserTrial {
 public:
  // The two members whose geometric mean predicts an algorithm.
  using MembersOf = std::function<std::pair<size_t, size_t>(std::string_view algorithm)>;

  // A model predicts times of the algorithms `known`. Borrows both.
  ChooserTrial(std::span<const Sample> samples, const std::vector<std::string>& known)
      : samples_(samples), known_(known.begin(), known.end()) {}

  // Asks `members` and `chooser`, which were fitted to the other samples, about the problems of
  // those at `held_out`.
  void Ask(std::span<const std::unique_ptr<Regressor>> members, const NeighbourChooser& chooser,
           std::span<const size_t> held_out);

  // Mean logarithms of the chosen algorithm's time over the best one's. One that was not tried for
  // the problem counts as NeighbourChooser::kUntried times the best. For choices by neighbours:
  double LogRegretOfNeighbours() const { return neighbours_sum_ / static_cast<double>(asked_); }
  // For choices by minimum time, predicted by the members that are chosen for each algorithm:
  double LogRegretOfTimes(const MembersOf& members_of) const;

 private:
  using Times = std::map<std::string_view, double>;  // By algorithm.
  struct Question {
    Times times;                               // As measured.
    std::vector<std::vector<double>> medians;  // By member, then by known algorithm.
  };
  static double LogRegret(const Times& times, std::string_view chosen);

  const std::span<const Sample> samples_;
  const std::vector<std::string_view> known_;
  std::vector<Question> questions_;
  double neighbours_sum_ = 0;
  size_t asked_ = 0;
};

}  // namespace attune
