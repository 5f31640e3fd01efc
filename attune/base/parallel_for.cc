#include "attune/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "attune/base/usable_cores.h"

namespace attune {

void ParallelFor(int64_t count, const std::function<void(int64_t)>& task, int64_t most_threads) {
  std::atomic<int64_t> next = 0;
  std::atomic<bool> out_of_memory = false;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count && !out_of_memory; i = next++) task(i);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  const int64_t cores = UsableCores();
  const int64_t share = most_threads > 0 ? std::min(most_threads, cores) : cores;
  const int64_t extra = std::max<int64_t>(0, std::min(share, count) - 1);
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
