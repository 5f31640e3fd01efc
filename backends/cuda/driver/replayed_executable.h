// Replays launches that keep the calling thread much longer than a replay would.
//
// cuDNN's legacy calls take 50 to 230 us of host time for kernels of 4 to 26 us (9.14, on the host
// of an H200): a program that calls them one after the other waits for them and not for its GPU.
// The work that such a call enqueues depends on its arguments alone, so it is captured into a graph
// and replayed, which takes 2 to 5 us (docs/design/0044-replayed-launches.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "attune/device/device.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// Number of direct launches before a capture, for the same arguments on the same queue; the quicker
// one of the first two gives the host time of one launch. To make a graph takes as long as two or
// three such launches, so arguments that never come back lose little.
inline constexpr int kDirectLaunches = 2;

// Limits per executable: the arguments of a program that calls it once for each layer of its kind,
// and those that are counted until they have a graph. At the limit, a graph that none of the last
// launches used makes room; until then arguments without a graph are launched directly.
inline constexpr size_t kMostReplayedGraphs = 32;
inline constexpr size_t kMostCountedArguments = 64;
inline constexpr int64_t kStaleAfterLaunches = 1024;

struct ReplayTerms {
  // Minimum host time of a direct launch, in nanoseconds, to be worth replaying.
  int64_t least_ns = 20'000;
  // Held while a launch is captured, so that no other thread enqueues through the same library
  // handle meanwhile. Null: nothing. Borrowed.
  std::recursive_mutex* library = nullptr;
};

// Runs `executable`. Its launches on queues of the program become replays from the third one on
// with the same operands, workspace and factors, if they are slow on the host. Three kinds of
// launches stay direct: those on the device's own queue, which verification, timing and counting
// use; those into queues that are captured; and those of devices that replay nothing
// (CudaDevice::replays). Launches that cannot be captured, or that capture more than kernels and
// fills, stay direct, too. Streams' attributes other than their priority (windows of the L2, say)
// do not apply to a replay. Borrows `device`.
std::unique_ptr<Executable> ReplayIfSlow(CudaDevice& device, std::unique_ptr<Executable> executable,
                                         const ReplayTerms& terms);

}  // namespace attune::cuda
