// Prunes candidates of a session by a model, and records them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/tuner/candidate_times.h"
#include "attune/tuner/session_notes.h"
#include "attune/tuner/tuning_session.h"

namespace attune {

const CandidateModel* TuningSession::ModelToPruneBy() const {
  const bool prunes = !options_.prune.none() && parts_.models != nullptr;
  return prunes ? parts_.models->For(problem_) : nullptr;
}

void TuningSession::BeginWithModel() {
  const CandidateModel* const model = ModelToPruneBy();
  if (model == nullptr) return;
  const std::vector<Prediction> predictions = model->Of(problem_, model->known());
  CandidateTimes times;
  for (size_t i = 0; i < predictions.size(); ++i) {
    times[model->known()[i]] = predictions[i].median_ms * 1e6;
  }
  AddPlace(times, elsewhere_);
}

void TuningSession::AskModel(const CandidateSource& source) {
  if (options_.prune.none() || parts_.models == nullptr) return;
  const CandidateModel* const model = ModelToPruneBy();
  if (model == nullptr) {
    report_.notes.push_back(
        fmt::format("There is no model of {}, so nothing is left out.", OperatorName(problem_)));
    return;
  }
  candidates_ = static_cast<int64_t>(source.size());
  pruning_.emplace(*model, options_.prune, problem_, [&](const Candidate& candidate) {
    return source.Has(candidate) && !quarantined_.contains(candidate);
  });
}

// Starts only after one candidate has passed: a pruned candidate never gets its turn.
std::vector<Candidate> TuningSession::WithoutHopeless(CandidateSource& source,
                                                      std::vector<Candidate> batch) {
  if (!pruning_.has_value()) return batch;
  std::erase_if(batch, [&](const Candidate& candidate) {
    pruning_->NoteAsked(candidate);
    if (passed_.empty() || IsStanding(candidate) || IsServed(candidate)) return false;
    std::optional<std::string> why = pruning_->WhyNot(candidate);
    if (!why.has_value()) return false;
    ++report_.pruned;
    left_out_.insert(candidate);
    if (pruned_.size() < kMostRecordedAsPruned) pruned_.emplace(candidate, *std::move(why));
    Tell(source, candidate, {pruning_->ExpectedNs(candidate)});
    return true;
  });
  return batch;
}

Status TuningSession::RecordPruned() {
  // The search ends with the first few, and the others never had a turn to be left out.
  if (pruning_.has_value() && options_.prune.top > 0) {
    report_.pruned = std::max(report_.pruned, candidates_ - progress_.considered);
  }
  if (pruned_.empty()) return Status::Ok();
  std::vector<Trial> trials;
  for (const auto& [candidate, why] : pruned_) trials.push_back(LeftOutTrial(candidate, why));
  return parts_.store->Append(report_.set_id, trials);
}

}  // namespace attune
