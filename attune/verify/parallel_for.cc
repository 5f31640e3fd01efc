#include "attune/verify/parallel_for.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace attune {
namespace {

int64_t UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

void ParallelFor(int64_t count, const std::function<void(int64_t)>& task) {
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::thread> threads;
  const int64_t extra = std::min(UsableCores(), count) - 1;
  for (int64_t i = 0; i < extra; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads to be had: the ones that there are do the work.
      break;
    }
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace attune
