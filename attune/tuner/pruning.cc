#include "attune/tuner/pruning.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr double kNsInMs = 1e6;
constexpr std::string_view kLeftOut = "Not run: ";

std::string Microseconds(double time_ns) { return fmt::format("{:.3g} us", time_ns / 1e3); }

}  // namespace

Pruning::Pruning(const CandidateModel& model, const PruneTerms& terms, const Problem& problem,
                 const std::function<bool(const Candidate&)>& may_be_tried)
    : model_(model), terms_(terms) {
  std::vector<size_t> positions(model.known().size());
  std::iota(positions.begin(), positions.end(), 0);
  const std::vector<Prediction> predictions = model.OfKnown(problem, positions);
  std::vector<std::pair<double, size_t>> medians_ns;
  for (const size_t i : positions) {
    const Candidate& candidate = model.known()[i];
    predictions_.emplace(candidate, predictions[i]);
    if (!may_be_tried(candidate)) continue;
    best_high_ns_ = std::min(best_high_ns_, predictions[i].high_ms * kNsInMs);
    medians_ns.emplace_back(predictions[i].median_ms * kNsInMs, i);
  }
  if (terms.top == 0 || medians_ns.empty()) return;
  std::ranges::sort(medians_ns);
  medians_ns.resize(std::min(terms.top, medians_ns.size()));
  last_median_ns_ = medians_ns.back().first;
  for (const auto& [median_ns, i] : medians_ns) first_few_.insert(model.known()[i]);
}

void Pruning::NoteMeasured(double time_ns) {
  if (time_ns > 0) best_high_ns_ = std::min(best_high_ns_, time_ns);
}

const Prediction* Pruning::Find(const Candidate& candidate) const {
  const auto found = predictions_.find(candidate);
  return found == predictions_.end() ? nullptr : &found->second;
}

std::optional<double> Pruning::ExpectedNs(const Candidate& candidate) const {
  const Prediction* const predicted = Find(candidate);
  if (predicted == nullptr) return std::nullopt;
  return predicted->median_ms * kNsInMs;
}

std::optional<std::string> Pruning::WhyNot(const Candidate& candidate) const {
  const Prediction* const predicted = Find(candidate);
  if (terms_.top > 0 &&
      (predicted == nullptr || predicted->median_ms * kNsInMs > last_median_ns_)) {
    return fmt::format("a model fitted to {} times does not have it among the {} quickest.",
                       model_.samples(), terms_.top);
  }
  if (terms_.factor == 0 || predicted == nullptr) return std::nullopt;
  const double low_ns = predicted->low_ms * kNsInMs;
  if (low_ns <= terms_.factor * best_high_ns_) return std::nullopt;
  return fmt::format(
      "a model fitted to {} times expects {} of it at least, where the best takes {} "
      "at most.",
      model_.samples(), Microseconds(low_ns), Microseconds(best_high_ns_));
}

Trial LeftOutTrial(const Candidate& candidate, const std::string& why) {
  Trial trial;
  trial.candidate = candidate;
  trial.role = TrialRole::kQualify;
  trial.outcome = Failure{FailureKind::kNotApplicable, Phase::kBuild, std::string(kLeftOut) + why};
  return trial;
}

bool WasLeftOut(const Trial& trial) {
  const Failure* const failure = trial.failure();
  return failure != nullptr && failure->kind == FailureKind::kNotApplicable &&
         failure->message.starts_with(kLeftOut);
}

}  // namespace attune
