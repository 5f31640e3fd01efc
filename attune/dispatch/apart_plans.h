// Plans that are kept apart from those of calls: for calls that are captured, and under limits.
#pragma once

#include <cstdint>

#include "attune/dispatch/plan.h"
#include "attune/dispatch/plan_key.h"
#include "attune/problem/problem.h"

namespace attune {

// Marks keys of plans that are kept apart from those of calls. No call has such a key: struct keys
// have more words, and keys from problem text end in 0.
enum class Apart : uint64_t { kCaptured = 1, kFrugal = 2, kLimited = 3 };

inline PlanKey KeyOfApart(const Problem& problem, uint64_t workspace_limit_bytes, Apart apart) {
  const Fingerprint fingerprint = KeyOf(problem);
  PlanKey key;
  key.Append(fingerprint.high);
  key.Append(fingerprint.low);
  key.Append(workspace_limit_bytes);
  key.Append(static_cast<uint64_t>(apart));
  return key;
}

// True if no record changes what the slot holds.
inline bool IsForLimits(const PlanSlot& slot, const Plan& plan) {
  const auto is = [&](Apart apart) {
    return slot.key() == KeyOfApart(plan.problem(), plan.workspace_limit_bytes(), apart);
  };
  return is(Apart::kFrugal) || is(Apart::kLimited);
}

}  // namespace attune
