// References of users' kernels, which only the solver that the user named can compute.
#pragma once

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/verify/reference_maker.h"

namespace attune {

// Returns the solver that computes the reference of the user's kernel of `problem`: the last resort
// among `solvers` that takes it. kUnsupported, with the reason of the first that does not, if there
// is none. REQUIRES: IsOwnKernel(problem).
Result<const Solver*> FindOwnReference(const SolverList& solvers, const Problem& problem,
                                       const Target& target);

// Computes it in this process. Borrows all three.
class LocalReferenceMaker final : public ReferenceMaker {
 public:
  LocalReferenceMaker(const SolverList& solvers, Device& device, Builder& builder)
      : solvers_(solvers), device_(device), builder_(builder) {}

  Status Make(const Problem& problem, int data_fd, const std::function<bool()>& go_on) override;
  void Distrust(const Status&) override {}

 private:
  const SolverList& solvers_;
  Device& device_;
  Builder& builder_;
};

}  // namespace attune
