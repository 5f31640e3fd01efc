// Why a run time serves what it serves, for people and programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/dispatch/dispatcher.h"
#include "attune/problem/problem.h"
#include "runtime/runtime.h"

namespace attune {

struct Explanation {
  Problem problem;
  Decision decision;  // By Breadth::kEverything, so there is an option.
  // What a call would get now; nothing if it would fail until something is compiled.
  std::optional<Option> serves;
  std::vector<std::string> notes;  // Of the run time.

  const Option& preferred() const { return decision.options.front(); }
};

// Decides as a call would, and counts nothing. Fails as Dispatcher::DecideWithin.
Result<Explanation> Explain(const Runtime& runtime, const Problem& problem,
                            uint64_t workspace_limit_bytes);

// A JSON object: `problem`, `target`, `is_tuned`, `serves` (null for nothing), `options` (best
// first: candidate, provenance, because, median_ns, expected_ns, workspace_bytes, is_ready,
// slower_by, fails_capture), `skipped` (records that cannot be used here, and why) and `notes`.
// `better` names what is known to be quicker than what serves, if something is.
std::string ExplanationJson(const Runtime& runtime, const Explanation& explanation);

// What imported databases say of a problem for another GPU, `target` ("gfx906_60"), in the same
// form: `provenance` is "imported" or "unknown", `file` the name of the database that says it (null
// if none does), `serves` and `better` are null, because nothing of it serves. Fails as
// ImportsView::Find.
Result<std::string> ImportExplanationJson(const Runtime& runtime, std::string_view target,
                                          const Problem& problem);

}  // namespace attune
