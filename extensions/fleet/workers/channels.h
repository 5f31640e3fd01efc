// Which channel the jobs of a session go through.
#pragma once

#include "attune/session/job.h"
#include "attune/session/session.h"
#include "extensions/fleet/queue/channel.h"

namespace attune {

// Measuring needs the session's kind of device in the environment that it fixed: what is for
// another driver is not delivered to machines that cannot do it, and would have to drop it. What
// compiles for its architecture does for compiling, and for measuring in a session that has no
// device yet: then the channel's target names backend and architecture alone ("cuda::sm_90:0").
Channel ChannelOf(const SessionTerms& terms, const JobStep& step);

}  // namespace attune
