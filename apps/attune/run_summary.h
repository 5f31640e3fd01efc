// Text at the end of a tuning run.
#pragma once

#include <string>

#include "apps/attune/json_text.h"
#include "apps/attune/terminal.h"
#include "attune/problem/target.h"
#include "attune/tuner/tune_run.h"

namespace attune {

Json SummaryJson(const RunSummary& summary, const Peaks& peaks);

// The number of problems by outcome, the time, and the outcomes of the candidates.
std::string SummaryLines(const RunSummary& summary);

// Prints one line for each failure, bounded: a run of thousands may fail for one reason.
void PrintTroubles(const RunSummary& summary, Output& err);

// The times of problems on which the machine, or a tiny --per-problem, left no trust.
void PrintIfUnsteady(const RunSummary& summary, Output& err);

// Said with --json too, because the exit status alone does not explain itself.
void PrintInVain(const RunSummary& summary, Output& err);

// True if another run gets further than this one. Such a run would also begin with the problem that
// exceeds a run, and continue after it only if something is tuned by now.
bool GoesOn(const RunSummary& summary);

}  // namespace attune
