#include "backends/host/host_device.h"

#include <sched.h>
#include <sys/mman.h>

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/steady_time.h"
#include "backends/host/perf_counters.h"
#include "backends/host/quiescence.h"

namespace attune::host {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kHugePagesFromBytes = size_t{1} << 20;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::unique_ptr<void, Free> memory, size_t size_bytes)
      : memory_(std::move(memory)), size_bytes_(size_bytes) {}
  void* handle() const override { return memory_.get(); }
  size_t size_bytes() const override { return size_bytes_; }

 private:
  std::unique_ptr<void, Free> memory_;
  size_t size_bytes_;
};

Result<std::unique_ptr<Buffer>> NewBuffer(size_t size_bytes, size_t alignment) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size_bytes == 0 ? 1 : size_bytes) != 0) {
    return ResourceExhausted(fmt::format("Cannot allocate {} bytes of memory.", size_bytes));
  }
  return std::unique_ptr<Buffer>(
      std::make_unique<HostBuffer>(std::unique_ptr<void, Free>(memory), size_bytes));
}

std::byte* Address(BufferView view) {
  return static_cast<std::byte*>(view.handle) + view.offset_bytes;
}

}  // namespace

Target TargetOf(const CpuDescription& cpu) {
  Target target;
  target.backend = "host";
  target.device = cpu.model;
  target.arch = std::string(Name(cpu.level));
  target.compute_units = cpu.usable_cores;
  target.properties["isa"] = fmt::format("{}", fmt::join(cpu.isa, ","));
  return target;
}

HostDevice::HostDevice(const CpuDescription& cpu, ThreadPool& pool)
    : target_(TargetOf(cpu)), pool_(pool), displacer_(cpu, pool), counters_(MakePerfCounters()) {}

Result<std::unique_ptr<Buffer>> HostDevice::Allocate(size_t size_bytes) {
  if (size_bytes < kHugePagesFromBytes) return NewBuffer(size_bytes, kPageBytes);
  ATTUNE_ASSIGN_OR_RETURN(auto buffer, NewBuffer(size_bytes, kHugePageBytes));
  // Advice only: where huge pages are off, ordinary ones serve.
  ::madvise(buffer->handle(), size_bytes, MADV_HUGEPAGE);
  return buffer;
}

// A library with threads that spin between calls yields its core to any other thread. It gets the
// core back when that thread yields, too, or by the system's next tick, up to 4 ms later. So this
// yields often, and touches ordinary pages: clearing a huge one takes up to milliseconds in a
// virtual machine.
Result<std::unique_ptr<Buffer>> HostDevice::AllocateTouched(size_t size_bytes,
                                                            const std::atomic<bool>& stop) {
  ATTUNE_ASSIGN_OR_RETURN(auto buffer, NewBuffer(size_bytes, kPageBytes));
  auto* const bytes = static_cast<volatile std::byte*>(buffer->handle());
  for (size_t offset = 0; offset < size_bytes; offset += kPageBytes) {
    if (stop.load(std::memory_order_relaxed)) return Unavailable("Allocating memory was stopped.");
    bytes[offset] = std::byte{0};
    ::sched_yield();
  }
  return buffer;
}

Status HostDevice::Upload(std::span<const std::byte> from, BufferView to) {
  if (!from.empty()) std::memcpy(Address(to), from.data(), from.size());
  return Status::Ok();
}

Status HostDevice::Download(BufferView from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), Address(from), to.size());
  return Status::Ok();
}

Result<double> HostDevice::TimeNs(Executable& executable, const Arguments& arguments,
                                  const TimingRequest& request) {
  if (request.launches < 1) {
    return InvalidArgument(
        fmt::format("A timing request needs at least one launch, not {}.", request.launches));
  }
  (void)pool_.TakeShortage();
  auto timed = request.cache == CacheState::kCold
                   ? TimeColdNs(executable, arguments, request.launches)
                   : TimeWarmNs(executable, arguments, request.launches);
  if (!timed.ok() || !pool_.TakeShortage()) return timed;
  return ResourceExhausted(
      "cannot time it: the limits of this process (pids cgroup, ulimit -u) leave too few threads");
}

Result<double> HostDevice::TimeWarmNs(Executable& executable, const Arguments& arguments,
                                      int launches) {
  const int64_t begin_ns = SteadyNowNs();
  for (int i = 0; i < launches; ++i) ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
  return static_cast<double>(SteadyNowNs() - begin_ns) / launches;
}

Result<double> HostDevice::TimeColdNs(Executable& executable, const Arguments& arguments,
                                      int launches) {
  int64_t total_ns = 0;
  for (int i = 0; i < launches; ++i) {
    if (!displacer_.Displace()) {
      return ResourceExhausted("There is no memory to displace the caches with for a cold timing.");
    }
    const int64_t begin_ns = SteadyNowNs();
    ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
    total_ns += SteadyNowNs() - begin_ns;
  }
  return static_cast<double>(total_ns) / launches;
}

Result<std::vector<std::vector<double>>> HostDevice::Count(
    Executable& executable, const Arguments& arguments, const std::vector<std::string>& counters) {
  return counters_->Count(counters, 1, [&] { return executable.Run(arguments); });
}

Status HostDevice::AwaitQuiescence(int64_t limit_ns) { return AwaitQuietThreads(limit_ns); }

}  // namespace attune::host
