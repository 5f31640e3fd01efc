// The channel for the jobs of a session.
#pragma once

#include "attune/session/job.h"
#include "attune/session/session.h"
#include "extensions/fleet/queue/channel.h"

namespace attune {

// Measuring needs the session's kind of device in the environment that it fixed: a machine with
// another driver would have to drop the jobs, so it does not get them. Compiling needs a compiler
// for the architecture, as does measuring in a session without a device: then the target of the
// channel names backend and architecture alone ("cuda::sm_90:0").
Channel ChannelOf(const SessionTerms& terms, const JobStep& step);

}  // namespace attune
