// Predicts, without making a plan, whether a call would wait.

#include <algorithm>

#include <fmt/format.h>

#include "attune/dispatch/apart_plans.h"
#include "attune/dispatch/plan_server.h"

namespace attune {

// Not by key: calls have the words of their structs for keys, which no problem tells.
bool PlanServer::HasPlanFor(const Problem& problem, uint64_t workspace_limit_bytes) const {
  const PlanCache::Slots slots = cache_.AllSlots();
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    const Plan* plan = slot->current();
    return plan != nullptr && plan->workspace_limit_bytes() == workspace_limit_bytes &&
           plan->problem() == problem && !IsForLimits(*slot, *plan);
  });
}

Result<std::optional<std::string>> PlanServer::WouldStall(const Problem& problem,
                                                          uint64_t workspace_limit_bytes) const {
  using Reason = std::optional<std::string>;
  if (HasPlanFor(problem, workspace_limit_bytes)) return Reason();
  const auto decision = dispatcher_.DecideWithin(problem, *hooks_.choices(), workspace_limit_bytes);
  if (!decision.ok()) {
    // Any other failure is one of the call, at once.
    if (decision.error().code() == StatusCode::kResourceExhausted) return decision.error();
    return Reason();
  }
  if (TunesFirst(rules_, Launches::kExecuted) && !decision->is_tuned) {
    return Reason("It is not tuned, and the policy is to tune it in the calling thread.");
  }
  const Expectation expected = Expect(problem, *decision);
  if (!expected.waits) return Reason();
  const std::string preferred = Text(decision->options.front().candidate);
  if (!expected.option.has_value()) {
    return Reason(fmt::format(
        "Nothing that serves it is compiled; calls fail until the background has compiled {}.",
        preferred));
  }
  if (options_.deterministic) {
    return Reason(
        fmt::format("{} has to be created, and a deterministic run time waits for it.", preferred));
  }
  return Reason(fmt::format("Nothing that serves it is ready; {} has to be created.",
                            Text(expected.option->candidate)));
}

}  // namespace attune
