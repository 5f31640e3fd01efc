// Launches that keep the calling thread much longer than a replay of what they enqueue would.
//
// cuDNN's legacy calls take it 50 to 230 us for kernels of 4 to 26 us (9.14, on the host of an
// H200): a program that calls them one after the other waits for them and not for its GPU. What
// such a call enqueues depends on addresses alone, so it is captured into a graph and replayed,
// which takes some 5 us (docs/design/0044).
#pragma once

#include <cstdint>
#include <memory>

#include "attune/device/device.h"
#include "backends/cuda/cuda_device.h"

namespace attune::cuda {

// What a direct launch has to keep the calling thread at least for replays to be worth a graph.
inline constexpr int64_t kLeastReplayedNs = 20'000;

// How often a launch is direct before it is captured, for the same addresses on the same queue. The
// quickest of as many tells what one takes the calling thread: the first loads kernels. To make a
// graph takes about as long as two such launches, so whoever never comes back loses little.
inline constexpr int kDirectLaunches = 2;

// Of one executable; the one that was not used for longest makes room.
inline constexpr size_t kMostReplayedGraphs = 4;

// Runs `executable`, whose launches on queues of the program become replays from the third one on
// with the same operands, workspace and factors, if they take the calling thread `least_ns` or
// more. Launches on the device's own queue, which are those that are timed and counted, into queues
// that are captured, and those that cannot be captured, are what they were. What is replayed must
// enqueue the same whenever it is called with the same arguments. Borrows `device`.
std::unique_ptr<Executable> ReplayIfSlow(CudaDevice& device, std::unique_ptr<Executable> executable,
                                         int64_t least_ns = kLeastReplayedNs);

}  // namespace attune::cuda
