// What became of the jobs that a worker did, in text and as JSON.
#pragma once

#include <span>
#include <string>

#include "apps/attune/device_crew.h"
#include "apps/attune/json_text.h"
#include "extensions/fleet/workers/worker.h"

namespace attune {

Json ToJson(const WorkerSummary& summary, const Status& ended);
std::string Text(const WorkerSummary& summary);
// 0 if all that it did is done, 3 if something failed or could not be done here, 1 if it had to
// stop.
int ExitStatusOf(const WorkerSummary& summary, const Status& ended);

// Of the processes of several devices together. Those that said nothing are in `stopped_because`.
WorkerSummary SummarizeWorkers(std::span<const CrewMember> members);

}  // namespace attune
