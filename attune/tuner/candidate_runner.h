// Builds, loads, verifies and times candidates of one problem on one device, in the calling
// process. Both a child process and the local evaluator are this with a different face.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/device/device.h"
#include "attune/solver/solver.h"
#include "attune/trial/trial.h"
#include "attune/tuner/child_protocol.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

// A failure with what was known about the candidate by then.
struct FailedCandidate {
  Failure failure;
  Qualification qualification;
};

// Not thread-safe. Borrows everything it is made of.
class CandidateRunner {
 public:
  using PhaseListener = std::function<void(Phase)>;

  // `on_phase` is called before each phase of a candidate.
  static Result<CandidateRunner> Create(const SolverList& solvers, Device& device,
                                        const Problem& problem, const ProblemData& data,
                                        Builder& builder, PhaseListener on_phase);

  // Builds, loads, verifies and times briefly; keeps nothing.
  tl::expected<Qualification, FailedCandidate> Qualify(const Candidate& candidate);

  // Builds and loads a candidate that qualified before and keeps it. Indices count from 0.
  tl::expected<size_t, FailedCandidate> Load(const Candidate& candidate);

  // One timed block of a loaded candidate. REQUIRES: index was returned by Load.
  tl::expected<double, Failure> Time(size_t index, const TimingRequest& request);

 private:
  struct Loaded {
    std::unique_ptr<Executable> executable;
    double last_ns = 0;  // Of one launch; 0 before the first block.
  };

  CandidateRunner(const SolverList& solvers, Device& device, const Problem& problem,
                  const ProblemData& data, Builder& builder, PhaseListener on_phase,
                  BoundOperands operands);

  tl::expected<std::unique_ptr<Executable>, FailedCandidate> MakeReady(
      const Candidate& candidate, Qualification& qualification);
  tl::expected<double, Failure> QuickTime(Executable& executable);

  const SolverList& solvers_;
  Device& device_;
  const Problem& problem_;
  const ProblemData& data_;
  Builder& builder_;
  PhaseListener on_phase_;
  BoundOperands operands_;
  std::vector<Loaded> loaded_;
};

}  // namespace attune
