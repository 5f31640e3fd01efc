// What a tuning run says at its end.
#pragma once

#include <string>

#include "apps/attune/json_text.h"
#include "apps/attune/terminal.h"
#include "attune/problem/target.h"
#include "attune/tuner/tune_run.h"

namespace attune {

Json SummaryJson(const RunSummary& summary, const Peaks& peaks);

// How many problems ended how, in what time, and what became of the candidates.
std::string SummaryLines(const RunSummary& summary);

// What went wrong, one line each, bounded: a run of thousands may fail for one reason.
void PrintTroubles(const RunSummary& summary, Output& err);

// The times of problems on which the machine, or a tiny --per-problem, left no trust.
void PrintIfUnsteady(const RunSummary& summary, Output& err);

// Said with --json too, because the exit status alone does not explain itself.
void PrintInVain(const RunSummary& summary, Output& err);

// Whether another run gets further than this one: it would begin with what exceeds a run, too, and
// go on behind that only if something is tuned by now.
bool GoesOn(const RunSummary& summary);

}  // namespace attune
