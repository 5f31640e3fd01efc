#include "backends/fake/fake_faults.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

std::atomic<int> loads = 0;  // Candidates that this process loaded.
std::atomic<bool> has_lost_device = false;

[[noreturn]] void Hang() {
  while (true) ::pause();
}

[[noreturn]] void Spin() {
  std::atomic<uint64_t> turns = 0;
  while (true) ++turns;
}

// Allocation by allocation, each touched, kept until the limit.
Status HogMemory(int limit_mib) {
  constexpr size_t kStepMib = 16;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t mib = 0; mib < static_cast<size_t>(limit_mib); mib += kStepMib) {
    std::unique_ptr<char[]> block(new (std::nothrow) char[kStepMib << 20]);
    if (block == nullptr) break;
    std::memset(block.get(), 1, kStepMib << 20);
    blocks.push_back(std::move(block));
  }
  return ResourceExhausted(
      fmt::format("The fake candidate took {} MiB and was not stopped.", blocks.size() * kStepMib));
}

}  // namespace

void NoteLoad() { ++loads; }

Status LoseDevice() {
  has_lost_device = true;
  return DeviceStatus();
}

Status DeviceStatus() {
  if (!has_lost_device) return Status::Ok();
  return Unavailable("The fake device cannot be used by this process any more.");
}

void DieBy(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::abort();
}

Status CommitProcessFault(const FakeBehaviour& behaviour) {
  switch (behaviour.fault) {
    case FakeFault::kSlowLaunch:
      std::this_thread::sleep_for(std::chrono::milliseconds(behaviour.delay_ms));
      return Status::Ok();
    case FakeFault::kLaunchFails:
      return Internal("The fake device rejects the launch, as its script says.");
    case FakeFault::kCrash:
      DieBy(SIGSEGV);
    case FakeFault::kCrashBehindOthers:
      if (loads > 1) DieBy(SIGSEGV);
      return Status::Ok();
    case FakeFault::kAbort:
      DieBy(SIGABRT);
    case FakeFault::kKilled:
      DieBy(SIGKILL);
    case FakeFault::kExit:
      ::_exit(3);
    case FakeFault::kHang:
      Hang();
    case FakeFault::kSpin:
      Spin();
    case FakeFault::kLosesDevice:
      return LoseDevice();
    case FakeFault::kMemoryHog:
      return HogMemory(behaviour.hog_limit_mib);
    default:
      return Status::Ok();
  }
}

}  // namespace attune
