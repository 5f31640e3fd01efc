#include "backends/host/peaks.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace attune::host {
namespace {

constexpr int kRepetitions = 5;
// Some milliseconds each, far more than it takes to wake the threads.
constexpr int64_t kRoundsF32 = 2'000'000;
constexpr int64_t kRoundsF64 = 2'000'000;
constexpr size_t kTimesTheCache = 5;
constexpr size_t kAssumedCacheBytes = size_t{32} << 20;

double SecondsOf(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The best of some: a peak is what the machine can do, not what it usually does.
double BestRate(const auto& work_and_count) {
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    double count = 0;
    const double seconds = SecondsOf([&] { count = work_and_count(); });
    best = std::max(best, count / seconds);
  }
  return best;
}

template <class T>
double FlopsOf(double (*fma)(int64_t, T*), int64_t rounds, ThreadPool& pool) {
  const int threads = pool.max_threads();
  // One cache line each.
  std::vector<T> sinks(static_cast<size_t>(threads) * 64, T{0});
  return BestRate([&] {
    std::vector<double> counts(static_cast<size_t>(threads));
    pool.Run(threads, [&](int part) { counts[part] = fma(rounds, &sinks[part * 64]); });
    double total = 0;
    for (const double count : counts) total += count;
    return total;
  });
}

struct Unmap {
  size_t bytes;
  void operator()(double* memory) const { ::munmap(memory, bytes); }
};
using Array = std::unique_ptr<double, Unmap>;

Array MapArray(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Array(nullptr, Unmap{bytes});
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return Array(static_cast<double*>(memory), Unmap{bytes});
}

// The better of writing a triad and of only reading, which needs no ownership of lines.
double BytesPerSecond(const CpuDescription& cpu, HostResources resources) {
  const size_t cache_bytes = cpu.l3_bytes == 0 ? kAssumedCacheBytes : cpu.l3_bytes;
  const size_t bytes = kTimesTheCache * cache_bytes / 3 / 4096 * 4096;
  const auto count = static_cast<int64_t>(bytes / sizeof(double));
  const Array a = MapArray(bytes), b = MapArray(bytes), c = MapArray(bytes);
  if (a == nullptr || b == nullptr || c == nullptr) return 0;
  ThreadPool& pool = *resources.pool;
  const int threads = pool.max_threads();
  const auto part_of = [&](int part) { return PartOf(count, 8, threads, part); };
  const double triad = BestRate([&] {
    pool.Run(threads, [&](int part) {
      const IndexRange range = part_of(part);
      resources.kernels->triad(a.get() + range.begin, b.get() + range.begin, c.get() + range.begin,
                               3.0, range.size());
    });
    return 3.0 * static_cast<double>(bytes);
  });
  std::vector<double> sums(static_cast<size_t>(threads) * 8);
  const double reading = BestRate([&] {
    pool.Run(threads, [&](int part) {
      const IndexRange range = part_of(part);
      for (const double* array : {a.get(), b.get(), c.get()}) {
        sums[part * 8] += resources.kernels->sum(array + range.begin, range.size());
      }
    });
    return 3.0 * static_cast<double>(bytes);
  });
  return std::max(triad, reading);
}

}  // namespace

Peaks MeasureHostPeaks(const CpuDescription& cpu, HostResources resources) {
  Peaks peaks;
  peaks.f32_flops = FlopsOf(resources.kernels->fma_f32, kRoundsF32, *resources.pool);
  peaks.f64_flops = FlopsOf(resources.kernels->fma_f64, kRoundsF64, *resources.pool);
  peaks.bytes_per_second = BytesPerSecond(cpu, resources);
  return peaks;
}

}  // namespace attune::host
