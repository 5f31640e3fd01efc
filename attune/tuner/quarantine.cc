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

namespace {

// A loaded machine or a tight limit can cause these for a sound candidate, so once is not enough.
bool MayBeTheMachine(const Failure& failure) {
  return failure.kind == FailureKind::kTimedOut || failure.kind == FailureKind::kOutOfMemory ||
         failure.message.find("signal 9 ") != std::string::npos;
}

constexpr int kChances = 2;

struct Suspicion {
  Failure failure;
  int times = 0;
};

}  // namespace

Result<std::map<Candidate, Failure>> FindQuarantined(RecordStore& store, const Problem& problem,
                                                     const Target& target,
                                                     const Environment& environment,
                                                     const MatchPolicy& policy) {
  std::map<Candidate, Suspicion> suspicions;
  RecordQuery query;
  query.problem = problem;
  query.backend = target.backend;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      const Candidate& candidate = record.trial.candidate;
      const Failure* failure = record.trial.failure();
      const std::string mismatch = policy.Mismatch(candidate, recorded.set.target,
                                                   recorded.set.environment, target, environment);
      if (!mismatch.empty()) continue;
      if (failure == nullptr) {
        suspicions.erase(candidate);
      } else if (IsFatal(failure->kind)) {
        Suspicion& suspicion = suspicions[candidate];
        suspicion.failure = *failure;
        suspicion.times += MayBeTheMachine(*failure) ? 1 : kChances;
      }
    }
    return Status::Ok();
  }));
  std::map<Candidate, Failure> quarantined;
  for (auto& [candidate, suspicion] : suspicions) {
    if (suspicion.times >= kChances) quarantined.emplace(candidate, std::move(suspicion.failure));
  }
  return quarantined;
}

}  // namespace attune
