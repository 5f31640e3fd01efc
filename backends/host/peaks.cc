#include "backends/host/peaks.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace attune::host {
namespace {

// Short rounds, spread over some tenths of a second: another user of the machine spoils some of
// them and not all.
constexpr int kPasses = 10;
constexpr int kFewestPasses = 4;  // Where the last-level cache is large.
constexpr double kLongEnoughSeconds = 0.6;
// A millisecond or two each.
constexpr int64_t kRounds = 500'000;
constexpr auto kRest = std::chrono::milliseconds(15);
constexpr size_t kTimesTheCache = 5;
constexpr size_t kAssumedCacheBytes = size_t{32} << 20;

double SecondsOf(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A quantity of work, done once for each call, and how much it is.
using Work = std::function<double()>;

// The best of all passes over `works`, which take turns: a peak is the machine's limit, not its
// usual rate.
std::vector<double> BestRates(const std::vector<Work>& works) {
  std::vector<double> best(works.size(), 0);
  double total_seconds = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    if (pass >= kFewestPasses && total_seconds > kLongEnoughSeconds) break;
    if (pass > 0) std::this_thread::sleep_for(kRest);
    // Once in vain: to wake processors and threads can take as long as a round.
    works.front()();
    for (size_t i = 0; i < works.size(); ++i) {
      double count = 0;
      const double seconds = SecondsOf([&] { count = works[i](); });
      best[i] = std::max(best[i], count / seconds);
      total_seconds += seconds;
    }
  }
  return best;
}

// Operations of one round on all threads of `pool`.
template <class T>
Work Arithmetic(double (*fma)(int64_t, T*), ThreadPool& pool) {
  const int threads = pool.max_threads();
  // One cache line each.
  auto sinks = std::make_shared<std::vector<T>>(static_cast<size_t>(threads) * 64, T{0});
  return [fma, &pool, threads, sinks] {
    std::vector<double> counts(static_cast<size_t>(threads));
    pool.Run(threads, [&](int part) { counts[part] = fma(kRounds, &(*sinks)[part * 64]); });
    return std::accumulate(counts.begin(), counts.end(), 0.0);
  };
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

// Three arrays that no cache holds, and two ways through them: a triad, which writes, and reading,
// which needs no ownership of lines.
class Stream {
 public:
  Stream(const CpuDescription& cpu, HostResources resources)
      : resources_(resources),
        bytes_(kTimesTheCache * (cpu.l3_bytes == 0 ? kAssumedCacheBytes : cpu.l3_bytes) / 3 / 4096 *
               4096),
        a_(MapArray(bytes_)),
        b_(MapArray(bytes_)),
        c_(MapArray(bytes_)),
        sums_(static_cast<size_t>(resources.pool->max_threads()) * 8) {}

  bool has_memory() const { return a_ != nullptr && b_ != nullptr && c_ != nullptr; }

  // Bytes moved.
  double Triad() {
    OnAllThreads([this](int, IndexRange range) {
      resources_.kernels->triad(a_.get() + range.begin, b_.get() + range.begin,
                                c_.get() + range.begin, 3.0, range.size());
    });
    return 3.0 * static_cast<double>(bytes_);
  }
  double Read() {
    OnAllThreads([this](int part, IndexRange range) {
      for (const double* array : {a_.get(), b_.get(), c_.get()}) {
        sums_[part * 8] += resources_.kernels->sum(array + range.begin, range.size());
      }
    });
    return 3.0 * static_cast<double>(bytes_);
  }

 private:
  template <class OnPart>
  void OnAllThreads(const OnPart& on_part) {
    const auto count = static_cast<int64_t>(bytes_ / sizeof(double));
    const int threads = resources_.pool->max_threads();
    resources_.pool->Run(threads,
                         [&](int part) { on_part(part, PartOf(count, 8, threads, part)); });
  }

  const HostResources resources_;
  const size_t bytes_;  // Per array.
  const Array a_, b_, c_;
  std::vector<double> sums_;
};

}  // namespace

Peaks MeasureHostPeaks(const CpuDescription& cpu, HostResources resources) {
  Stream stream(cpu, resources);
  std::vector<Work> works = {Arithmetic(resources.kernels->fma_f32, *resources.pool),
                             Arithmetic(resources.kernels->fma_f64, *resources.pool)};
  if (stream.has_memory()) {
    works.push_back([&stream] { return stream.Triad(); });
    works.push_back([&stream] { return stream.Read(); });
  }
  const std::vector<double> rates = BestRates(works);
  return {rates[0], rates[1], stream.has_memory() ? std::max(rates[2], rates[3]) : 0};
}

}  // namespace attune::host
