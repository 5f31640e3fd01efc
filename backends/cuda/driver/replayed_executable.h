// Launches that keep the calling thread much longer than a replay of what they enqueue would.
//
// cuDNN's legacy calls take it 50 to 230 us for kernels of 4 to 26 us (9.14, on the host of an
// H200): a program that calls them one after the other waits for them and not for its GPU. What
// such a call enqueues depends on its arguments alone, so it is captured into a graph and replayed,
// which takes 2 to 5 us (docs/design/0044-replayed-launches.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "attune/device/device.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// How often a launch is direct before it is captured, for the same arguments on the same queue; the
// quicker one of the first two tells what one takes the calling thread. To make a graph takes as
// long as two or three such launches, so whoever never comes back loses little.
inline constexpr int kDirectLaunches = 2;

// Of one executable: the arguments of a program that calls it once for each layer of its kind, and
// those that are counted until they have a graph. Where there are as many graphs, one that none of
// the last launches used makes room; until then what has none is launched directly.
inline constexpr size_t kMostReplayedGraphs = 32;
inline constexpr size_t kMostCountedArguments = 64;
inline constexpr int64_t kStaleAfterLaunches = 1024;

struct ReplayTerms {
  // What a direct launch has to keep the calling thread at least.
  int64_t least_ns = 20'000;
  // Held while a launch is captured, so that nobody else enqueues through the same library handle
  // meanwhile. Null: nothing. Borrowed.
  std::recursive_mutex* library = nullptr;
};

// Runs `executable`, whose launches on queues of the program become replays from the third one on
// with the same operands, workspace and factors, if they are slow on the host. Launches on the
// device's own queue, which are those that are verified, timed and counted, into queues that are
// captured, and of devices that replay nothing (CudaDevice::replays), are what they were. So are
// those that cannot be captured, or of which more is captured than kernels and fills. Streams'
// attributes other than their priority (windows of the L2, say) are not those of a replay. Borrows
// `device`.
std::unique_ptr<Executable> ReplayIfSlow(CudaDevice& device, std::unique_ptr<Executable> executable,
                                         const ReplayTerms& terms);

}  // namespace attune::cuda
