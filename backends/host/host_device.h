// The processor as a device: buffers are memory, a launch is a call, the clock is CLOCK_MONOTONIC.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attune/device/call_counter.h"
#include "attune/device/counter_source.h"
#include "attune/device/device.h"
#include "backends/host/cache_displacer.h"
#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// The target of records made on `cpu`: backend "host", the model, the psABI level, the usable cores
// and, under "isa", the extensions separated by commas.
Target TargetOf(const CpuDescription& cpu);

class HostDevice final : public Device, public CallCounter {
 public:
  // `pool` must outlive the device.
  HostDevice(const CpuDescription& cpu, ThreadPool& pool);

  const Target& target() const override { return target_; }
  // Small buffers are aligned to 4096 bytes, those of 1 MiB or more to 2 MiB and backed by huge
  // pages where the system grants them, so that page faults and TLB misses do not depend on luck.
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Result<std::unique_ptr<Buffer>> AllocateTouched(size_t size_bytes,
                                                  const std::atomic<bool>& stop) override;
  Status Upload(std::span<const std::byte> from, BufferView to) override;
  Status Download(BufferView from, std::span<std::byte> to) override;
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override;
  Status AwaitQuiescence(int64_t limit_ns) override;
  // By perf events.
  Result<std::vector<std::vector<double>>> Count(Executable& executable, const Arguments& arguments,
                                                 const std::vector<std::string>& counters) override;
  std::string counter_warning() const override { return counters_->warning(); }

 private:
  Result<double> TimeWarmNs(Executable& executable, const Arguments& arguments, int launches);
  Result<double> TimeColdNs(Executable& executable, const Arguments& arguments, int launches);

  const Target target_;
  ThreadPool& pool_;
  CacheDisplacer displacer_;
  const std::unique_ptr<CounterSource> counters_;
};

}  // namespace attune::host
