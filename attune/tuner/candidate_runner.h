// Builds, loads, verifies and times candidates of one problem on one device, in the calling
// process. Both a child process and the local evaluator run it.
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

// A failure with what was known about the candidate by then.
struct FailedCandidate {
  Failure failure;
  Qualification qualification;
};

// Whose output another one's has to agree with, and how closely.
struct Agreement {
  Candidate against;
  OutputTolerance tolerance;
};

// What a runner works with; what is pointed to is borrowed and outlives it.
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

  // One sample of the figures in `request` of a loaded candidate. What it wrote is read after one
  // launch on operands as they are in the beginning, which counts as no time; energy is measured
  // over many. REQUIRES: index was returned by Load.
  tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request);
  // Whether the device can measure them: kUnsupported or kUnavailable say what is missing.
  Status CheckMeter(const MeterRequest& request);

  // What the device has worked since the last call, by its own clock: all launches of timed blocks,
  // as they were measured, and those that were verified or warmed up, each as long as one that was
  // timed behind it. Not what nobody timed: launches of those that failed, filling and comparing of
  // memory, displacing of caches.
  int64_t TakeDeviceNs();

 private:
  struct Loaded {
    std::unique_ptr<Executable> executable;
    double last_ns = 0;  // Of one launch; 0 before the first block.
    // What it was asked for last, ready to be asked for again; null where that cannot be.
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
  // One block, made ready once for all that are like it if the device and the sum of what is ready
  // allow.
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
  std::optional<double> best_quick_ns_;    // Of one launch of the candidates that qualified.
  int64_t ready_launches_ = 0;             // Of all blocks that are ready.
  double device_ns_ = 0;                   // Since TakeDeviceNs.
  std::unique_ptr<EnergyCounter> energy_;  // Once it was asked for.
  bool is_asleep_ = false;                 // Nothing ran since every thread runtime fell asleep.
};

}  // namespace attune
