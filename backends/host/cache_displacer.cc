#include "backends/host/cache_displacer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

namespace attune::host {
namespace {

// Replacement is not least-recently-used on any current processor, so once the size of the cache
// leaves survivors.
constexpr size_t kTimesTheCache = 2;
// Where the system does not name its caches: more than most have.
constexpr size_t kAssumedCacheBytes = size_t{32} << 20;
constexpr size_t kLineBytes = 64;

size_t BytesToStream(const CpuDescription& cpu, int threads) {
  const size_t private_bytes = (cpu.l1d_bytes + cpu.l2_bytes) * static_cast<size_t>(threads);
  const size_t known_bytes = cpu.l3_bytes + private_bytes;
  return kTimesTheCache * (known_bytes == 0 ? kAssumedCacheBytes : known_bytes);
}

// Writes one word of every line: a written line is held by this core alone, so it displaces for
// certain.
void Stream(uint8_t* begin, uint8_t* end) {
  for (uint8_t* line = begin; line < end; line += kLineBytes) {
    auto* word = reinterpret_cast<volatile uint64_t*>(line);
    *word = *word + 1;
  }
}

}  // namespace

CacheDisplacer::CacheDisplacer(const CpuDescription& cpu, ThreadPool& pool)
    : pool_(pool), bytes_(BytesToStream(cpu, pool.max_threads())) {}

CacheDisplacer::~CacheDisplacer() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

bool CacheDisplacer::Displace() {
  if (memory_ == nullptr) {
    void* mapped =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return false;
    memory_ = static_cast<uint8_t*>(mapped);
  }
  const int threads = pool_.max_threads();
  const size_t share = (bytes_ / static_cast<size_t>(threads)) & ~(kLineBytes - 1);
  std::atomic<int> arrived{0};
  pool_.Run(threads, [&](int part) {
    // All start together, so that no core serves two shares while another keeps its cache.
    arrived.fetch_add(1);
    while (arrived.load() < threads) __builtin_ia32_pause();
    Stream(memory_ + static_cast<size_t>(part) * share,
           memory_ + static_cast<size_t>(part + 1) * share);
  });
  // A candidate on our threads would find them polling, and so start at once, where those of a
  // library have to be woken.
  pool_.AwaitSleep();
  return true;
}

}  // namespace attune::host
