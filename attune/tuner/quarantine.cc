#include "attune/tuner/quarantine.h"

namespace attune {

bool IsFatal(FailureKind kind) {
  switch (kind) {
    case FailureKind::kCrashed:
    case FailureKind::kTimedOut:
    case FailureKind::kOutOfMemory:
    case FailureKind::kOutOfBounds:
      return true;
    case FailureKind::kNotApplicable:
    case FailureKind::kBuildFailed:
    case FailureKind::kLoadFailed:
    case FailureKind::kRunFailed:
    case FailureKind::kWrongResult:
      return false;
  }
  return false;
}

Result<std::map<Candidate, Failure>> FindQuarantined(RecordStore& store, const Problem& problem,
                                                     const Target& target,
                                                     const Environment& environment,
                                                     const MatchPolicy& policy) {
  std::map<Candidate, Failure> quarantined;
  RecordQuery query;
  query.problem = problem;
  query.backend = target.backend;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      const Failure* failure = record.trial.failure();
      if (failure == nullptr || !IsFatal(failure->kind)) continue;
      const std::string mismatch = policy.Mismatch(record.trial.candidate, recorded.set.target,
                                                   recorded.set.environment, target, environment);
      if (mismatch.empty()) quarantined.insert_or_assign(record.trial.candidate, *failure);
    }
    return Status::Ok();
  }));
  return quarantined;
}

}  // namespace attune
