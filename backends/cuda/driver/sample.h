// One timed sample on a CUDA stream: launches recorded into a graph, replayed between events.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/repeating_device.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

struct SamplePlan {
  int launches = 1;
  std::function<Status()> launch;  // Enqueues one launch on the stream.
  // Enqueues what displaces the caches, outside of the timed spans; null in a warm sample, which
  // then has one span over all launches.
  std::function<Status()> displace;
};

// Nanoseconds of one launch, averaged. The stream must be idle, and is idle again afterwards.
// What cannot be captured into a graph is launched directly instead, and its time holds what the
// host needs between launches: TryCapture tells such a launch from others.
Result<double> TakeSampleNs(const Driver& driver, CUstream stream, const SamplePlan& plan);

// The same sample as a graph that is replayed each time; null if it cannot be captured. The stream
// must be idle whenever one is taken. Borrows driver and stream, and nothing of the plan.
Result<std::unique_ptr<TimedBlock>> RecordSample(const Driver& driver, CUstream stream,
                                                 const SamplePlan& plan);

// Whether what `launch` enqueues on the stream becomes a graph that could be replayed, or why not.
// Nothing is executed; the stream is as it was.
Status TryCapture(const Driver& driver, CUstream stream, const std::function<Status()>& launch);

}  // namespace attune::cuda
