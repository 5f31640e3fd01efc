// One job, done alone.
#pragma once

#include <cstdint>
#include <string>

#include "attune/base/status.h"
#include "extensions/fleet/workers/job_doer.h"
#include "extensions/fleet/workers/worker.h"

namespace attune {

struct OneJob {
  int64_t id = 0;
  std::string owner;
  int64_t lease_ns = 0;
};

// Leases the job, gives back other jobs that came with it, does it and reports. kNotFound if there
// is no such job, kFailedPrecondition, with its state, if it cannot be leased or is for another
// machine.
Status DoOneJob(const FleetParts& parts, JobDoer& doer, const OneJob& wanted,
                WorkerSummary& summary);

}  // namespace attune
