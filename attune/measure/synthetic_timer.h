// A BlockTimer over invented candidates: seeded noise with spikes and drift, failures and restarts
// on demand. For tests and simulations of measuring policy.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "attune/base/random.h"
#include "attune/measure/block_timer.h"
#include "attune/measure/fake_clock.h"

namespace attune {

// The noise factors of a sample.
struct Noise {
  double sigma = 0.02;           // The lognormal part of one block.
  double spike_probability = 0;  // That a block is slowed down by a factor uniform in [2, 10].
  double drift_amplitude = 0;  // The machine as a whole gets slower and faster by this fraction ...
  double drift_period_ns = 0.3e9;  // ... with this period of the clock.
};

class SyntheticTimer final : public BlockTimer {
 public:
  // `times_ns` are the true times of one launch.
  SyntheticTimer(std::vector<double> times_ns, const Noise& noise, uint64_t seed, FakeClock& clock)
      : times_ns_(std::move(times_ns)), noise_(noise), random_(seed), clock_(&clock) {}

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    requests_.emplace_back(index, request);
    if (intercept_) {
      if (std::optional<Failure> failure = intercept_(index)) return tl::unexpected(*failure);
    }
    const double time_ns = times_ns_[index] * Factor();
    const double displacing_ns = request.cache == CacheState::kCold ? displacing_ns_ : 0;
    clock_->Advance(std::llround((time_ns + displacing_ns) * request.launches));
    return time_ns;
  }
  int generation() const override { return generation_; }

  // Called before every block; a returned Failure is that block's result.
  void InterceptWith(std::function<std::optional<Failure>(size_t)> intercept) {
    intercept_ = std::move(intercept);
  }
  void Restart() { ++generation_; }
  // Adds the time that displacing the caches takes, before every launch of a cold block.
  void DisplaceFor(double displacing_ns) { displacing_ns_ = displacing_ns; }

  const std::vector<std::pair<size_t, TimingRequest>>& requests() const { return requests_; }

 private:
  double Factor() {
    // Box-Muller.
    const double radius = std::sqrt(-2 * std::log(1 - random_.Uniform()));
    double factor =
        std::exp(noise_.sigma * radius * std::cos(2 * std::numbers::pi * random_.Uniform()));
    if (random_.Uniform() < noise_.spike_probability) factor *= 2 + 8 * random_.Uniform();
    const double turns = static_cast<double>(clock_->NowNs()) / noise_.drift_period_ns;
    return factor * (1 + noise_.drift_amplitude * std::sin(2 * std::numbers::pi * turns));
  }

  std::vector<double> times_ns_;
  Noise noise_;
  Random random_;
  FakeClock* clock_;
  int generation_ = 0;
  double displacing_ns_ = 0;
  std::function<std::optional<Failure>(size_t)> intercept_;
  std::vector<std::pair<size_t, TimingRequest>> requests_;
};

}  // namespace attune
