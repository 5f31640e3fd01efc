// Interleaved rounds: the loop that the race and the final share. Internal to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attune/base/random.h"
#include "attune/measure/block_timer.h"
#include "attune/measure/clock.h"
#include "attune/measure/race.h"
#include "attune/measure/statistics.h"
#include "attune/trial/trial.h"

namespace attune {

// One candidate and its samples since the last restart.
struct Lane {
  size_t index = 0;  // In the BlockTimer.
  int launches = 1;
  bool running = true;
  // True if samples_ns starts with round 0, the calibration pass.
  bool has_round_zero = false;
  std::vector<double> samples_ns;
  double best_ns = 0;         // Smallest time seen, calibration included; 0 before the first.
  int64_t block_wall_ns = 0;  // As in RaceEntry.
  std::optional<Failure> failure;
  std::optional<int> dropped_at_round;
  RatioEstimate speedup;  // Over the default, up to the last round that it ran in.
};

// Not thread-safe. Borrows timer and clock.
class Rounds {
 public:
  struct Options {
    uint64_t seed = 1;
    CacheState cache = CacheState::kWarm;
    double confidence = 0.99;
    int64_t block_target_ns = 0;
    int max_launches = 1;
    CandidateLimits limits = {};
  };
  // Lane 0 is the default.
  Rounds(BlockTimer& timer, Clock& clock, std::vector<Lane> lanes, const Options& options);

  // Round 0: chooses the launches of every lane, the default first, until `deadline_ns` of the
  // clock. Lanes that were not reached stop running.
  void Calibrate(int64_t deadline_ns);

  // Takes one more sample of each running candidate, in random order. If the measuring process was
  // restarted, all samples are gone and round() is 0 again.
  void RunRound();

  // Takes a lane out. It keeps its samples up to then, despite later restarts.
  void Drop(Lane& lane);

  std::vector<Lane>& lanes() { return lanes_; }
  Lane& default_lane() { return lanes_.front(); }
  size_t RunningContenders() const;
  int round() const { return round_; }
  int restarts() const { return restarts_; }
  // Returns true if another round would exceed the limits of a running lane.
  bool AtLimit() const;
  // More restarts than lanes: the candidate that kills the process cannot be found.
  bool TooManyRestarts() const { return restarts_ > static_cast<int>(lanes_.size()); }
  int64_t ElapsedNs() const { return clock_->NowNs() - start_ns_; }
  int64_t last_round_ns() const { return last_round_ns_; }

 private:
  // Nothing if the lane failed or its sample must not be used.
  std::optional<double> Sample(Lane& lane, int launches);
  void CalibrateLane(Lane& lane);
  // Wall time of one launch of the last block, of `launches` that took `time_ns` each, by the
  // clock: if caches are displaced before each launch, it usually takes far longer than the launch.
  double CostOfLaunch(double time_ns, int launches) const;
  static void NoteWallTime(Lane& lane, double time_ns, int64_t wall_ns);
  void DiscardSamples();
  std::vector<Lane*> RunningInRandomOrder();
  void UpdateSpeedups();

  BlockTimer* timer_;
  Clock* clock_;
  std::vector<Lane> lanes_;
  Options options_;
  Random random_;
  int generation_;
  int round_ = 0;
  int restarts_ = 0;
  int64_t start_ns_;
  int64_t last_round_ns_ = 0;
  int64_t last_block_ns_ = 0;  // By the clock.
};

}  // namespace attune
