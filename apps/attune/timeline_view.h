// Where the time of a tuning went, for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/attune/json_text.h"
#include "apps/attune/terminal.h"
#include "attune/trial/timeline.h"

namespace attune {

// A column of the table of stages: the cost of several steps.
struct StepTotal {
  TuningStep step = TuningStep::kStart;
  int64_t ns = 0;
};
// Totals that are not zero, over all stages.
std::vector<StepTotal> StepTotals(const std::vector<StageCost>& costs);

// The number of processes that did something.
int LanesOf(const Timeline& timeline);

// A table with a row for each stage: its wall time and share, then the time of each step, summed
// over all processes, and the time without any busy process.
std::string TimelineText(const Timeline& timeline, const Output& out);

// The stages with their costs, and every span in microseconds.
Json ToJson(const Timeline& timeline);

}  // namespace attune
