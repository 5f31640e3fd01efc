// Builds, loads, verifies and times candidates of one problem on one device, in the calling
// process. Both a worker process and the local evaluator run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/device/energy_counter.h"
#include "attune/device/repeating_device.h"
#include "attune/solver/solver.h"
#include "attune/trial/trial.h"
#include "attune/tuner/child_protocol.h"
#include "attune/tuner/evaluator.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/rotating_operands.h"

namespace attune {

// A failure with the results of the candidate up to it.
struct FailedCandidate {
  Failure failure;
  Qualification qualification;
};

// The candidate whose output another one must agree with, and the tolerance.
struct Agreement {
  Candidate against;
  OutputTolerance tolerance;
};

// The environment of a runner; pointers are borrowed and outlive it.
struct RunnerParts {
  const SolverList* solvers = nullptr;
  Device* device = nullptr;
  const Problem* problem = nullptr;
  const ProblemData* data = nullptr;
  Builder* builder = nullptr;
  EvaluationTerms terms = {};  // The output check is asked for with each candidate.
  std::function<void(Phase)> on_phase = [](Phase) {};  // Called before each phase of a candidate.
};

// Not thread-safe.
class CandidateRunner {
 public:
  static Result<CandidateRunner> Create(RunnerParts parts);

  // The configs that `solver` lists on the device, best guess first.
  tl::expected<std::vector<Config>, Failure> List(const SolverId& solver);

  // Builds, loads, verifies, compares with another candidate if there is an agreement, and times
  // briefly; keeps nothing.
  tl::expected<Qualification, FailedCandidate> Qualify(
      const Candidate& candidate, const std::optional<Agreement>& agreement = std::nullopt);

  // Builds and loads a candidate that qualified before and keeps it. Indices count from 0.
  tl::expected<size_t, FailedCandidate> Load(const Candidate& candidate);

  // One timed block of a loaded candidate, while every other thread runtime of this process is
  // asleep; fails if its own does not fall asleep after it. Rotating ones step through the copies,
  // which are made with the first of them and shared by all candidates. REQUIRES: index was
  // returned by Load.
  tl::expected<double, Failure> Time(size_t index, const TimingRequest& request);

  // Takes one sample of the metrics in `request` of a loaded candidate. Its output is read after
  // one launch on the initial operands, which does not count as a time; energy is measured over
  // many. REQUIRES: index was returned by Load.
  tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request);
  // Ok if the device can measure them; kUnsupported or kUnavailable name what is missing.
  Status CheckMeter(const MeterRequest& request);

  // Device time since the last call, by the device's own clock: all launches of timed blocks, as
  // measured, and those that were verified or warmed up, each as long as one of the block timed
  // after it. Excludes untimed work: launches of failed candidates, filling and comparing of
  // memory, displacing of caches.
  int64_t TakeDeviceNs();

 private:
  struct Loaded {
    std::unique_ptr<Executable> executable;
    double last_ns = 0;  // Time of one launch; 0 before the first block.
    // The block of the last request, ready to be repeated; null if it cannot be.
    std::unique_ptr<TimedBlock> block;
    TimingRequest of_block = {.launches = 0};  // Without launches: nothing was made ready.
  };

  CandidateRunner(RunnerParts parts, BoundOperands operands);

  tl::expected<std::unique_ptr<Executable>, FailedCandidate> MakeReady(
      const Candidate& candidate, Qualification& qualification);
  tl::expected<double, Failure> QuickTime(Executable& executable);
  // True if a launch of this time proves that a candidate is far slower than the best one.
  bool IsHopeless(double launch_ns) const;
  // Nothing if the output that `executable` has just left agrees.
  std::optional<Failure> CheckAgreement(const Agreement& agreement);
  Result<std::vector<std::byte>> OutputOf(const Candidate& candidate);
  // Untimed launches before a block, and how many.
  Result<int64_t> WarmUp(Executable& executable, bool is_first);
  Status MakeCopies();
  // Times one block. Similar requests share one prepared block, if the device and the total of
  // prepared launches allow it.
  Result<double> TimeBlock(Loaded& candidate, Executable& timed, const TimingRequest& request);
  // Null if nothing can be ready.
  Result<TimedBlock*> ReadyBlock(Loaded& candidate, const TimingRequest& request);
  void ForgetBlock(Loaded& candidate);
  Result<MeterReading> ReadFigures(Loaded& candidate, const MeterRequest& request);
  // Waits until no thread runtime spins any more.
  Status FallAsleep();

  const RunnerParts parts_;
  BoundOperands operands_;
  std::optional<RotatingOperands> copies_;
  RepeatingDevice* const repeating_;  // The device, if it is one; else null.
  std::vector<Loaded> loaded_;
  std::optional<double> best_quick_ns_;    // Launch time of the fastest that qualified.
  int64_t ready_launches_ = 0;             // Launches in all blocks that are ready.
  double device_ns_ = 0;                   // Since TakeDeviceNs.
  std::unique_ptr<EnergyCounter> energy_;  // Once it was asked for.
  bool is_asleep_ = false;                 // Nothing ran since every thread runtime fell asleep.
};

}  // namespace attune
