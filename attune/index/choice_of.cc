#include "attune/index/choice_of.h"

#include <algorithm>
#include <map>
#include <vector>

namespace attune {
namespace {

// The last good trial of a candidate in each role.
struct LastTrials {
  const Trial* final = nullptr;
  const Trial* screen = nullptr;
  bool failed = false;

  const Trial* best() const { return failed ? nullptr : final != nullptr ? final : screen; }
};

// By the rules of select.h: a failure in any role rules a candidate out, and only a later final,
// which ran it again, reverses that.
std::map<Candidate, LastTrials> LastTrialsOf(const RecordedSet& set) {
  std::map<Candidate, LastTrials> last;
  for (const Record& record : set.records) {
    const Trial& trial = record.trial;
    if (trial.failure() != nullptr) {
      last[trial.candidate] = {nullptr, nullptr, true};
    } else if (trial.role == TrialRole::kFinal) {
      LastTrials& trials = last[trial.candidate];
      trials.final = &trial;
      trials.failed = false;
    } else if (trial.role == TrialRole::kScreen) {
      last[trial.candidate].screen = &trial;
    }
  }
  return last;
}

RankedCandidate Ranked(const Trial& trial) {
  return {trial.candidate, trial.measurement()->median_ns, trial.workspace_bytes, trial.build_ns,
          trial.load_ns,   !trial.capture_failure.empty()};
}

// Times of different roles are never compared, so every final stands before every screening.
bool RanksBefore(const Trial* a, const Trial* b) {
  if (a->role != b->role) return a->role == TrialRole::kFinal;
  const double a_ns = a->measurement()->median_ns;
  const double b_ns = b->measurement()->median_ns;
  return a_ns != b_ns ? a_ns < b_ns : a->candidate < b->candidate;
}

// The best of the others, the default among them; with the choice at most kMaxRanked.
std::vector<const Trial*> RunnersUp(const std::map<Candidate, LastTrials>& last_trials,
                                    const Choice& choice, CacheState cache) {
  std::vector<const Trial*> trials;
  for (const auto& [candidate, last] : last_trials) {
    const Trial* trial = last.best();
    if (trial == nullptr || candidate == choice.candidate) continue;
    const Measurement* measurement = trial->measurement();
    if (measurement == nullptr || !IsCredible(*measurement, cache)) continue;
    trials.push_back(trial);
  }
  std::sort(trials.begin(), trials.end(), RanksBefore);
  if (trials.size() < kMaxRanked) return trials;
  const auto last = trials.begin() + kMaxRanked - 2;
  const auto found = std::find_if(last, trials.end(), [&](const Trial* trial) {
    return trial->candidate == choice.default_candidate;
  });
  if (found != trials.end()) std::swap(*last, *found);
  trials.resize(kMaxRanked - 1);
  return trials;
}

// Place and time of the measurement, and the doubt of its choice.
IndexedChoice Described(const RecordedSet& set, const Choice& choice) {
  IndexedChoice indexed;
  indexed.target = std::make_shared<const Target>(set.set.target);
  indexed.environment = std::make_shared<const Environment>(set.set.environment);
  indexed.cache = set.set.cache;
  indexed.revision = set.records.back().revision;
  indexed.started_unix_ns = set.set.started_unix_ns;
  indexed.speedup = choice.speedup;
  indexed.speedup_low = choice.speedup_low;
  indexed.speedup_high = choice.speedup_high;
  indexed.confidence = choice.confidence;
  return indexed;
}

}  // namespace

std::optional<IndexedChoice> ChoiceOf(const RecordedSet& set, const SelectOptions& options) {
  if (!set.finished) return std::nullopt;
  const std::optional<Choice> choice = SelectWithin(set, options);
  if (!choice.has_value()) return std::nullopt;
  IndexedChoice indexed = Described(set, *choice);
  const std::map<Candidate, LastTrials> last_trials = LastTrialsOf(set);
  indexed.ranking.push_back(Ranked(*last_trials.at(choice->candidate).final));
  for (const Trial* trial : RunnersUp(last_trials, *choice, set.set.cache)) {
    if (trial->candidate == choice->default_candidate) {
      indexed.default_position = indexed.ranking.size();
    }
    indexed.ranking.push_back(Ranked(*trial));
  }
  return indexed;
}

}  // namespace attune
