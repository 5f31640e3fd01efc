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
  // Enqueues the work that displaces the caches, outside of the timed spans; null in a warm sample,
  // which then has one span over all launches.
  std::function<Status()> displace;
};

// Nanoseconds of one launch, averaged. The stream must be idle, and is idle again afterwards. Work
// that cannot be captured into a graph is launched directly instead, and its time includes host
// time between launches: TryCapture distinguishes such launches.
Result<double> TakeSampleNs(const Driver& driver, CUstream stream, const SamplePlan& plan);

// The same sample as a graph that is replayed each time; null if it cannot be captured. The stream
// must be idle whenever one is taken. Borrows driver and stream, and nothing of the plan.
Result<std::unique_ptr<TimedBlock>> RecordSample(const Driver& driver, CUstream stream,
                                                 const SamplePlan& plan);

// Ok if the work that `launch` enqueues on the stream becomes a graph that could be replayed, else
// the reason. Nothing is executed; the stream is as it was.
Status TryCapture(const Driver& driver, CUstream stream, const std::function<Status()>& launch);

}  // namespace attune::cuda
