// A loop over independent tasks on every core that this process may use.
#pragma once

#include <cstdint>
#include <functional>

namespace attune {

// Calls task(i) for every i in [0, count), in any order and on several threads. They end before it
// returns: a pool that spins would disturb later measurements. Tasks should take 0.1 ms or more.
// `most_threads` is this process's share of the cores, if others use them; 0 for all. Throws
// std::bad_alloc if a task did, once no other one is running; tasks throw nothing else.
void ParallelFor(int64_t count, const std::function<void(int64_t)>& task, int64_t most_threads = 0);

}  // namespace attune
