#include "backends/fake/fake_device.h"

#include <signal.h>
#include <unistd.h>

#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numbers>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "backends/fake/fake_faults.h"

namespace attune {
namespace {

constexpr size_t kAlignment = 64;
// Period of the slow change of speed.
constexpr double kDriftPeriodNs = 0.3e9;

class HostBuffer final : public Buffer {
 public:
  HostBuffer(void* memory, size_t size_bytes) : memory_(memory), size_bytes_(size_bytes) {}
  void* handle() const override { return memory_.get(); }
  size_t size_bytes() const override { return size_bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_bytes_;
};

std::byte* Address(BufferView view) {
  return static_cast<std::byte*>(view.handle) + view.offset_bytes;
}

}  // namespace

Target FakeTarget() { return {"fake", "Fake Processor", "fake-v1", 2, {{"isa", "none"}}}; }

FakeDevice::FakeDevice(const FakeScript& script)
    : target_(FakeTarget()),
      drift_(script.drift()),
      conditions_(script.conditions()),
      asking_kills_(script.asking_kills()),
      gone_if_(script.gone_if()),
      spans_(script.spans()),
      random_(script.seed()) {}

std::optional<DeviceConditions> FakeDevice::Conditions() {
  if (asking_kills_) DieBy(SIGSEGV);
  return conditions_;
}

Status FakeDevice::CheckPresence() const {
  const Status status = DeviceStatus();
  if (!status.ok() && !gone_if_.empty()) std::ofstream(gone_if_).flush();
  return status;
}

Status FakeDevice::Synchronize() { return CheckPresence(); }

Result<std::unique_ptr<Buffer>> FakeDevice::Allocate(size_t size_bytes) {
  ATTUNE_RETURN_IF_ERROR(CheckPresence());
  const size_t rounded = (size_bytes + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) {
    return ResourceExhausted(fmt::format("The fake device has no {} bytes left.", size_bytes));
  }
  return std::make_unique<HostBuffer>(memory, size_bytes);
}

Status FakeDevice::Upload(std::span<const std::byte> from, BufferView to) {
  ATTUNE_RETURN_IF_ERROR(CheckPresence());
  if (!from.empty()) std::memcpy(Address(to), from.data(), from.size());
  return Status::Ok();
}

Status FakeDevice::Download(BufferView from, std::span<std::byte> to) {
  ATTUNE_RETURN_IF_ERROR(CheckPresence());
  if (!to.empty()) std::memcpy(to.data(), Address(from), to.size());
  return Status::Ok();
}

Result<double> FakeDevice::TimeNs(Executable& executable, const Arguments& arguments,
                                  const TimingRequest& request) {
  assert(request.launches >= 1);
  ATTUNE_RETURN_IF_ERROR(CheckPresence());
  auto& fake = static_cast<FakeExecutable&>(executable.launched());
  const int64_t begin_ns = SteadyNowNs();
  ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
  NoteSpan(begin_ns);
  double time_ns = fake.true_time_ns() * NoiseFactor(fake.behaviour());
  if (request.cache == CacheState::kCold) time_ns *= fake.behaviour().cold_factor;
  now_ns_ += time_ns * request.launches;
  return time_ns;
}

// One write for each line, behind the lines that other processes have written meanwhile.
void FakeDevice::NoteSpan(int64_t begin_ns) const {
  if (spans_.empty()) return;
  std::ofstream(spans_, std::ios::app)
      << fmt::format("{} {} {}\n", ::getpid(), begin_ns, SteadyNowNs()) << std::flush;
}

Result<QueueState> FakeDevice::StateOf(void* queue) { return *static_cast<QueueState*>(queue); }

Result<uint64_t> FakeDevice::RecordingOf(void* queue) {
  return static_cast<QueueState*>(queue)->recording;
}

Status FakeDevice::TryCapture(Executable& executable, const Arguments&) {
  ATTUNE_RETURN_IF_ERROR(CheckPresence());
  const auto& fake = static_cast<FakeExecutable&>(executable.launched());
  if (fake.behaviour().fault != FakeFault::kCaptureFails) return Status::Ok();
  return FailedPrecondition("The fake launch allocates, which no graph can hold.");
}

double FakeDevice::NoiseFactor(const FakeBehaviour& behaviour) {
  // Box-Muller.
  const double radius = std::sqrt(-2 * std::log(1 - random_.Uniform()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random_.Uniform());
  double factor = std::exp(behaviour.sigma * normal);
  if (random_.Uniform() < behaviour.spike_probability) factor *= 2 + 8 * random_.Uniform();
  return factor * (1 + drift_ * std::sin(2 * std::numbers::pi * now_ns_ / kDriftPeriodNs));
}

}  // namespace attune
