#include "bench/cuda_calls.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "bench/figures.h"

namespace attune {
namespace {

constexpr int kSteadyCalls = 9;
constexpr int64_t kMostMsToPrepare = 60'000;

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fmt::print(stderr, "cannot {}: CUDA error {}\n", what, static_cast<int>(result));
  std::exit(1);
}

}  // namespace

void CheckCall(attune_code code) {
  if (code == ATTUNE_OK) return;
  fmt::print(stderr, "{}\n", attune_last_message());
  std::exit(1);
}

CallDevice::CallDevice(const cuda::Driver& driver) : driver_(driver) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  Must(driver_.cuDeviceGet(&device, 0), "open the device");
  Must(driver_.cuDevicePrimaryCtxRetain(&context, device), "make a context");
  Must(driver_.cuCtxSetCurrent(context), "enter the context");
  Must(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}

void* CallDevice::Operand(size_t bytes) {
  std::vector<uint16_t> values(bytes / sizeof(uint16_t));
  // Halves between 0.5 and 1; as upper halves of floats, between 0.25 and 0.5.
  for (uint16_t& value : values) value = static_cast<uint16_t>(0x3800 | random_.Below(0x400));
  CUdeviceptr address = 0;
  Must(driver_.cuMemAlloc(&address, bytes), "allocate an operand");
  Must(driver_.cuMemcpyHtoDAsync(address, values.data(), bytes, stream_), "copy to the device");
  Wait();
  return reinterpret_cast<void*>(address);
}

void CallDevice::Wait() { Must(driver_.cuStreamSynchronize(stream_), "wait for the stream"); }

double CallDevice::TimeNs(const std::function<attune_code()>& call) {
  const int64_t begin_ns = SteadyNowNs();
  CheckCall(call());
  Wait();
  return static_cast<double>(SteadyNowNs() - begin_ns);
}

double CallDevice::SteadyUs(const std::function<attune_code()>& call) {
  std::vector<double> times_us;
  for (int i = 0; i < kSteadyCalls; ++i) times_us.push_back(TimeNs(call) / 1e3);
  return MedianOf(std::move(times_us));
}

CallRuntime::CallRuntime(attune_policy policy, const std::string& database, int per_problem_ms) {
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.device = kCallDevice;
  options.database = database.c_str();
  options.policy = policy;
  options.per_problem_ms = per_problem_ms;
  CheckCall(attune_runtime_create(&options, &runtime_));
  CheckCall(attune_set_listener(runtime_, Hear, this));
}

void CallRuntime::AwaitPreferred() { CheckCall(attune_wait_idle(runtime_, kMostMsToPrepare)); }

std::string CallRuntime::ServedBy(const std::string& problem) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return served_by_[problem];
}

attune_counters CallRuntime::Counters() {
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  CheckCall(attune_get_counters(runtime_, &counters));
  return counters;
}

void CallRuntime::Hear(void* context, attune_event event, const char* problem,
                       const char* candidate, const char* message) {
  auto* self = static_cast<CallRuntime*>(context);
  const bool serves = event == ATTUNE_EVENT_MISS || event == ATTUNE_EVENT_SWAP;
  if (serves && candidate != nullptr) {
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->served_by_[problem] = candidate;
  }
  if (event != ATTUNE_EVENT_TUNING_FAILED) return;
  fmt::print(stderr, "{} was not tuned: {}\n", problem, message);
}

}  // namespace attune
