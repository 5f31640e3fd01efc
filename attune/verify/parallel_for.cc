#include "attune/verify/parallel_for.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace attune {

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void ParallelFor(int64_t count, const std::function<void(int64_t)>& task) {
  std::atomic<int64_t> next = 0;
  std::atomic<bool> out_of_memory = false;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count && !out_of_memory; i = next++) task(i);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  const int64_t extra = std::max<int64_t>(0, std::min<int64_t>(UsableCores(), count) - 1);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(extra));
  // Without resources for more threads, the ones that there are do the work.
  try {
    for (int64_t i = 0; i < extra; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace attune
