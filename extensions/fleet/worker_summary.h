// The results of the jobs that a worker did, as text and as JSON.
#pragma once

#include <span>
#include <string>

#include "apps/attune/device_crew.h"
#include "apps/attune/json_text.h"
#include "extensions/fleet/workers/worker.h"

namespace attune {

Json ToJson(const WorkerSummary& summary, const Status& ended);
std::string Text(const WorkerSummary& summary);
// 0 if all its jobs succeeded, 3 if some failed or could not be done here, 1 if it had to stop.
int ExitStatusOf(const WorkerSummary& summary, const Status& ended);

// The sum over the processes of several devices. Processes without a summary are in
// `stopped_because`.
WorkerSummary SummarizeWorkers(std::span<const CrewMember> members);

}  // namespace attune
