#include "attune/model/chooser_trial.h"

#include <algorithm>
#include <cmath>

namespace attune {

double ChooserTrial::LogRegret(const Times& times, std::string_view chosen) {
  const auto found = times.find(chosen);
  if (found == times.end()) return std::log(NeighbourChooser::kUntried);
  const auto best = std::ranges::min_element(times, {}, [](const auto& t) { return t.second; });
  return std::log(found->second / best->second);
}

void ChooserTrial::Ask(std::span<const std::unique_ptr<Regressor>> members,
                       const NeighbourChooser& chooser, std::span<const size_t> held_out) {
  std::map<uint64_t, std::vector<size_t>> problems;
  for (const size_t i : held_out) problems[samples_[i].configuration].push_back(i);
  for (const auto& [configuration, positions] : problems) {
    Question& question = questions_.emplace_back();
    for (const size_t i : positions) {
      question.times.try_emplace(samples_[i].row.algorithm, samples_[i].time_ms);
    }
    const FeatureRow row = {"", samples_[positions.front()].row.values, {}};
    for (const std::unique_ptr<Regressor>& member : members) {
      std::vector<double>& medians = question.medians.emplace_back(known_.size());
      member->PredictEach(row, known_, medians);
    }
    const std::vector<NeighbourChooser::Proposal> proposals = chooser.Propose(row);
    neighbours_sum_ += LogRegret(
        question.times, proposals.empty() ? "" : chooser.algorithms()[proposals.front().algorithm]);
    ++asked_;
  }
}

double ChooserTrial::LogRegretOfTimes(const MembersOf& members_of) const {
  double sum = 0;
  for (const Question& question : questions_) {
    std::vector<double> squared_ms;
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto [first, second] = members_of(known_[i]);
      squared_ms.push_back(question.medians[first][i] * question.medians[second][i]);
    }
    const auto least = std::ranges::min_element(squared_ms);
    const auto at = static_cast<size_t>(least - squared_ms.begin());
    sum += LogRegret(question.times, least == squared_ms.end() ? "" : known_[at]);
  }
  return sum / static_cast<double>(asked_);
}

}  // namespace attune
