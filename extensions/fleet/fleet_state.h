// The state of workers and the queue of a fleet, as verbs display it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "attune/base/status.h"
#include "attune/session/fleet_store.h"
#include "attune/session/session.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

// "running", "silent" (no heartbeat for a minute), "ended".
std::string_view LifeOf(const WorkerState& worker, int64_t now_unix_ns);

Json ToJson(const WorkerState& worker, int64_t now_unix_ns);
Table WorkerTable(const std::vector<WorkerState>& workers, int64_t now_unix_ns);
// The number of running workers by target (WorkerState::target).
std::map<std::string, int64_t> RunningByTarget(const std::vector<WorkerState>& workers,
                                               int64_t now_unix_ns);
// "3 workers run: ..." with a line for each target; empty if none runs.
std::string RunningText(const std::map<std::string, int64_t>& running);

// Totals over the channels of one session.
struct QueueTotals {
  ChannelLoad load;
  int64_t dead = 0;
};
Result<QueueTotals> QueueTotalsOf(JobQueue& queue, const Session& session,
                                  const std::vector<JobStep>& steps);

}  // namespace attune
