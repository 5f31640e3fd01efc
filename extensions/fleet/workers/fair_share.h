// Which jobs of several sessions come next.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "attune/session/fleet_store.h"
#include "attune/session/job_message.h"

namespace attune {

struct FairChoice {
  std::vector<QueuedJob> jobs;
  int64_t last_session_id = 0;  // Whose the last of them is; without any, as it was.

  friend bool operator==(const FairChoice&, const FairChoice&) = default;
};

// Up to `most` jobs of `backlogs` (all of one step) that are not among `chosen`, in the order in
// which they should be done. A higher priority goes first, whosever it is. Within one priority
// sessions share: the next job is that of the session with the fewest in flight, which are those
// leased, those of `chosen` that nobody has leased yet, and those chosen before it here. Of several
// with as many, sessions take turns in order of their making, after `last_session_id`, which is 0
// or what the choice before said. Within a session, the oldest job.
FairChoice ChooseFairly(const std::vector<Backlog>& backlogs, const std::set<QueuedJob>& chosen,
                        int64_t most, int64_t last_session_id);

}  // namespace attune
