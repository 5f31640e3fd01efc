// Empties the data caches of every core, so that the next launch finds its operands in main memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Not thread-safe. Holds memory of some times the last-level cache once used.
class CacheDisplacer {
 public:
  // `pool` must outlive this; its threads stand for the cores to be cleared.
  CacheDisplacer(const CpuDescription& cpu, ThreadPool& pool);
  ~CacheDisplacer();
  CacheDisplacer(const CacheDisplacer&) = delete;
  CacheDisplacer& operator=(const CacheDisplacer&) = delete;

  // Streams through more memory than the caches hold, on all cores at once. Where the last level is
  // a victim cache, one core cannot displace the private cache of another. Returns when the threads
  // of the pool sleep. Takes milliseconds. False if there is no memory for it.
  [[nodiscard]] bool Displace();

 private:
  ThreadPool& pool_;
  const size_t bytes_;
  uint8_t* memory_ = nullptr;
};

}  // namespace attune::host
