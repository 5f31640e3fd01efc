#include "attune/tuner/cut_off.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "attune/record/figure_store.h"
#include "attune/tuner/new_set.h"
#include "attune/tuner/quarantine.h"

namespace attune {
namespace {

// Drops the facts of an environment that cannot change a result: the name of the machine and the
// budgets.
Environment WhatMatters(Environment environment) {
  std::erase_if(environment, [](const auto& fact) {
    return fact.first.starts_with("host.") || fact.first == kPerProblemTerm ||
           fact.first == kMaxCandidatesTerm;
  });
  return environment;
}

bool IsSameTuning(const MeasurementSet& a, const MeasurementSet& b) {
  const auto terms = [](const MeasurementSet& set) {
    return std::tie(set.cache, set.seed, set.searcher, set.attune_version);
  };
  return terms(a) == terms(b) && WhatMatters(a.environment) == WhatMatters(b.environment);
}

void Add(const RecordedSet& recorded, CutOff& past) {
  int64_t last_unix_ns = recorded.set.started_unix_ns;
  past.set_ids.push_back(recorded.set.id);
  for (const Record& record : recorded.records) {
    const Trial& trial = record.trial;
    const Measurement* measured = trial.measurement();
    if (trial.role == TrialRole::kScreen && measured != nullptr) {
      past.screened_ns.insert_or_assign(trial.candidate, measured->median_ns);
    }
    if (trial.role != TrialRole::kQualify) continue;
    last_unix_ns = record.appended_unix_ns;
    if (trial.failure() == nullptr && record.quick_ns <= 0) continue;
    past.results.insert_or_assign(trial.candidate,
                                  Qualified{trial, record.quick_ns, {}, record.verify_ns});
  }
  past.searched_ns += std::max<int64_t>(last_unix_ns - recorded.set.started_unix_ns, 0);
}

}  // namespace

Result<CutOff> FindCutOff(RecordStore& store, const MeasurementSet& begins) {
  CutOff past;
  bool was_decided = false;
  RecordQuery query;
  query.problem = begins.problem;
  query.backend = begins.target.backend;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    if (recorded.set.target != begins.target) return Status::Ok();
    const bool has_final =
        std::any_of(recorded.records.begin(), recorded.records.end(),
                    [](const Record& record) { return record.trial.role == TrialRole::kFinal; });
    // A set with a final also stays open if the earlier choice is better evidence.
    const bool ends_with_final =
        was_decided || (IsSameTuning(recorded.set, begins) &&
                        begins.environment.contains(std::string(kObjectiveTerm)));
    if (recorded.finished || (has_final && ends_with_final)) {
      past = {};
      was_decided = true;
    } else if (IsSameTuning(recorded.set, begins)) {
      Add(recorded, past);
    }
    return Status::Ok();
  }));
  return past;
}

void LeaveOut(const std::map<Candidate, Failure>& quarantined, bool retries, CutOff& past) {
  std::erase_if(past.results, [&](const auto& known) {
    const Failure* failure = known.second.trial.failure();
    if (failure == nullptr) return quarantined.contains(known.first);
    return retries && IsFatal(failure->kind);
  });
}

}  // namespace attune
