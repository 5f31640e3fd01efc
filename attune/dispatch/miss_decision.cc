#include "attune/dispatch/miss_decision.h"

namespace attune {
namespace {

MissReason ReasonOfServed(const MissFacts& facts) {
  const bool rests_on_evidence =
      facts.origin == Origin::kForced || facts.origin == Origin::kMeasured;
  if (facts.is_tuned && rests_on_evidence && !facts.is_stand_in) return MissReason::kFirstCall;
  // After a fork, or under a limit, a record may be valid and of no use.
  if (facts.is_tuned && facts.is_stand_in) return MissReason::kNotReady;
  const bool has_records = facts.is_tuned || facts.has_skipped_records;
  return has_records ? MissReason::kStale : MissReason::kUnrecorded;
}

MissReason ReasonOf(const MissFacts& facts) {
  switch (facts.outcome) {
    case MissOutcome::kServed:
      return ReasonOfServed(facts);
    case MissOutcome::kLeft:
      return facts.is_stand_in ? MissReason::kNotReady : MissReason::kFirstCall;
    case MissOutcome::kUnknown:
      return MissReason::kUnrecorded;
    case MissOutcome::kUnbuilt:
    case MissOutcome::kNoResources:
    case MissOutcome::kImpossible:
      return MissReason::kFailed;
  }
  return MissReason::kFailed;
}

MissDecision::Tuning TuningOf(const MissRules& rules, const MissFacts& facts) {
  using Tuning = MissDecision::Tuning;
  // A tuning could not replace the plan of a deterministic run time.
  const bool may_tune =
      rules.can_tune && !rules.deterministic &&
      (rules.policy == MissPolicy::kDeferred || rules.policy == MissPolicy::kInline);
  if (!may_tune || !facts.wants_tuning || !MayWantTuning(facts.outcome)) return Tuning::kNone;
  // It would wait in the capture, or compute beside it.
  if (facts.launches == Launches::kCaptured) return Tuning::kPutOff;
  return rules.policy == MissPolicy::kDeferred ? Tuning::kInBackground : Tuning::kNone;
}

}  // namespace

bool TunesFirst(const MissRules& rules, Launches launches) {
  return rules.policy == MissPolicy::kInline && rules.can_tune && launches == Launches::kExecuted;
}

Haste HasteOf(const MissRules& rules) {
  if (rules.deterministic) return Haste::kPatient;
  return rules.policy == MissPolicy::kInline ? Haste::kUnlessStuck : Haste::kAtOnce;
}

bool MayWantTuning(MissOutcome outcome) {
  return outcome != MissOutcome::kNoResources && outcome != MissOutcome::kImpossible;
}

MissDecision DecideMiss(const MissRules& rules, const MissFacts& facts) {
  // A tuning needs even more resources; a list can wait for a process that has them.
  const bool is_left = facts.outcome == MissOutcome::kNoResources && rules.yields;
  const bool is_listed = MayWantTuning(facts.outcome) || is_left;
  return {.reason = ReasonOf(facts),
          .tuning = TuningOf(rules, facts),
          .records = is_listed && rules.policy == MissPolicy::kRecord && rules.can_record,
          .improves = facts.is_stand_in && !rules.deterministic};
}

}  // namespace attune
