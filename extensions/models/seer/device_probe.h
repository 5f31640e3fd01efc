// SEER's layers run by cuDNN's legacy algorithms on an opened device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/call_counter.h"
#include "attune/device/launch_observer.h"
#include "attune/problem/problem.h"
#include "attune/solver/layer_library.h"
#include "attune/solver/solver.h"
#include "extensions/models/seer/collection.h"
#include "runtime/places.h"

namespace attune::seer {

// Inputs are uniform in [-1, 1] and never zero, made once for the largest layer so far. A time is
// the median of several samples of a call with the same cache state. Not thread-safe.
class DeviceProbe final : public LayerProbe {
 public:
  // kUnsupported if there is no cuDNN, or if the device does not report the launches of a call.
  static Result<std::unique_ptr<DeviceProbe>> Open(const Place& place, CacheState cache);

  int64_t multiprocessors() const override { return observer_->multiprocessors(); }
  Result<LayerRun> Run(const Layer& layer, int algorithm) override;
  // The algorithm that launches the same kernels as the heuristic's answer.
  Result<int> VendorPick(const Layer& layer) override;
  Result<OperatorTime> RunOperator(std::string_view name, const Layer& layer) override;
  // Why counters are missing; empty if some exist. Valid after a Run().
  const std::string& no_counters() const { return no_counters_; }
  // A warning about the library that counted; empty if none. Valid after a Run().
  std::string counter_warning() const { return counter_->counter_warning(); }
  // Turns counting off for later calls; it is on unless the device refuses.
  void CountNothing() { counts_ = false; }

 private:
  // A prepared call, with memory to run on.
  struct Call {
    std::unique_ptr<Executable> executable;
    std::vector<BufferView> operands;
    Arguments arguments;
  };

  DeviceProbe(const Solver& solver, std::unique_ptr<Device> device, LaunchObserver* observer,
              CallCounter* counter)
      : solver_(solver), device_(std::move(device)), observer_(observer), counter_(counter) {}

  Result<std::vector<std::vector<double>>> Count(Call& call);

  Result<Call> MakeReady(const Problem& problem, const std::string& algorithm);
  Result<double> TimeMs(const Call& call);
  Result<double> TimeMsOf(const Problem& problem);
  // The same for layers other than convolutions.
  Result<Call> MakeReady(const NetworkLayer& layer);
  Result<double> TimeMsOf(const NetworkLayer& layer);
  Result<std::vector<ObservedLaunch>> LaunchesOf(const Layer& layer, const std::string& algorithm);
  // At least `size_bytes` of device memory for the operand at `position`, with random content if
  // it is read.
  Result<BufferView> MemoryFor(size_t position, size_t size_bytes);

  const Solver& solver_;
  const std::unique_ptr<Device> device_;
  LaunchObserver* const observer_;  // The device.
  CallCounter* const counter_;      // The device.
  std::map<size_t, std::unique_ptr<Buffer>> memory_;
  CacheState cache_ = CacheState::kWarm;
  size_t displaced_bytes_ = 0;  // Size of a copy that displaces its caches.
  bool counts_ = true;
  std::string no_counters_;
};

}  // namespace attune::seer
