// Why a run time serves what it serves, for people and programs.
#pragma once

#include <string>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/runtime/runtime.h"

namespace attune {

// A JSON object: `problem`, `target`, `is_tuned`, `serves` (what a call would get now; null if
// it would fail until something is compiled), `options` (best first: candidate, provenance,
// because, median_ns, expected_ns, workspace_bytes, is_ready, slower_by), `skipped` (records that
// cannot be used here, and why) and `notes`. `better` names what is known to be quicker than what
// serves, if something is. Fails as Dispatcher::DecideWithin.
Result<std::string> ExplainJson(Runtime& runtime, const Problem& problem,
                                uint64_t workspace_limit_bytes);

}  // namespace attune
