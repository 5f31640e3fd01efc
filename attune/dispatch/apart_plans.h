// Keys of the plans for captured calls, for calls under limits and for calls during an exit. Other
// calls never have such keys.
#pragma once

#include <cstdint>

#include "attune/dispatch/plan.h"
#include "attune/dispatch/plan_key.h"
#include "attune/problem/problem.h"

namespace attune {

// The last word of such a key. Keys of calls differ: those from structs have more words, and those
// from problem text end in 0.
enum class Apart : uint64_t { kCaptured = 1, kFrugal = 2, kLimited = 3, kAtExit = 4 };

inline PlanKey KeyOfApart(const Problem& problem, uint64_t workspace_limit_bytes, Apart apart) {
  const Fingerprint fingerprint = KeyOf(problem);
  PlanKey key;
  key.Append(fingerprint.high);
  key.Append(fingerprint.low);
  key.Append(workspace_limit_bytes);
  key.Append(static_cast<uint64_t>(apart));
  return key;
}

// True for the plan of a call under limits or during an exit, which new records do not replace.
inline bool IsForLimits(const PlanSlot& slot, const Plan& plan) {
  const auto is = [&](Apart apart) {
    return slot.key() == KeyOfApart(plan.problem(), plan.workspace_limit_bytes(), apart);
  };
  return is(Apart::kFrugal) || is(Apart::kLimited) || is(Apart::kAtExit);
}

}  // namespace attune
