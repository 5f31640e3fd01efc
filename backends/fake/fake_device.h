// A device in host memory with invented times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "attune/base/random.h"
#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/device/recording_queues.h"
#include "attune/trial/candidate.h"
#include "backends/fake/fake_script.h"

namespace attune {

// Executables of this device report their own time.
class FakeExecutable : public Executable {
 public:
  virtual const FakeBehaviour& behaviour() const = 0;
  virtual double true_time_ns() const = 0;
};

Target FakeTarget();

// Launches really run, once for each timed block of any length; the reported time comes from the
// script and a clock that only launches move. Not thread-safe.
class FakeDevice final : public Device, public RecordingQueues {
 public:
  explicit FakeDevice(const FakeScript& script);

  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Status Upload(std::span<const std::byte> from, BufferView to) override;
  Status Download(BufferView from, std::span<std::byte> to) override;
  Status Synchronize() override;
  // A queue belongs to a test: its handle points to the QueueState that it reports. Enqueued work
  // is executed at once, captured or not.
  Result<QueueState> StateOf(void* queue) override;
  Result<uint64_t> RecordingOf(void* queue) override;
  Status TryCapture(Executable& executable, const Arguments& arguments) override;
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override;
  Status AwaitQuiescence(int64_t) override { return Synchronize(); }
  std::optional<DeviceConditions> Conditions() override;

 private:
  double NoiseFactor(const FakeBehaviour& behaviour);
  // Fails if the device is lost, and then makes `gone_if_`, so that other processes see it.
  Status CheckPresence() const;
  void NoteSpan(int64_t begin_ns) const;

  Target target_;
  double drift_;
  DeviceConditions conditions_;
  bool asking_kills_;
  std::string gone_if_;
  std::string spans_;
  Random random_;
  double now_ns_ = 0;
};

}  // namespace attune
