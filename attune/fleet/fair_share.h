// Which jobs of several sessions come next.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "attune/fleet/fleet_store.h"
#include "attune/queue/job_message.h"

namespace attune {

// Up to `most` jobs of `backlogs` (all of one step) that are not among `chosen`, in the order in
// which they should be done. A higher priority goes first, whosever it is. Within one priority
// sessions share: the next job is that of the session with the fewest in flight, which are those
// leased, those of `chosen` that nobody has leased yet, and those chosen before it here; of two
// with as many that of the older session. Within a session, the oldest job.
std::vector<QueuedJob> ChooseFairly(const std::vector<Backlog>& backlogs,
                                    const std::set<QueuedJob>& chosen, int64_t most);

}  // namespace attune
