// Chooses the next jobs of several sessions.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "attune/session/fleet_store.h"
#include "attune/session/job_message.h"

namespace attune {

struct FairChoice {
  std::vector<QueuedJob> jobs;
  int64_t last_session_id = 0;  // Session of the last job; unchanged without any.

  friend bool operator==(const FairChoice&, const FairChoice&) = default;
};

// Up to `most` jobs of `backlogs` (all of one step) that are not in `chosen`, in the order to do
// them. A higher priority goes first in any session. Within one priority sessions share: the next
// job is that of the session with the fewest in flight, which are those leased, those of `chosen`
// that are not leased yet, and those chosen before it here. Sessions with equally many take turns
// in the order of their creation, after `last_session_id`, which is 0 or from the previous choice.
// Within a session, the oldest job goes first.
FairChoice ChooseFairly(const std::vector<Backlog>& backlogs, const std::set<QueuedJob>& chosen,
                        int64_t most, int64_t last_session_id);

}  // namespace attune
