// Any callable as a solver: how a program brings an implementation of its own without writing a
// class.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "attune/solver/solver.h"

namespace attune {

// `Run` is callable as Status(const Arguments&), `Applies` as Status(const Problem&). Both are kept
// once and shared by every executable, so they may be move-only. Calls to
// `Run` come one at a time for each executable, from several threads for several. No parameters,
// nothing to build.
template <class RunCall, class AppliesCall>
class CallableSolver final : public Solver {
 public:
  CallableSolver(SolverId id, SolverTraits traits, RunCall run, AppliesCall applies)
      : id_(std::move(id)),
        traits_(std::move(traits)),
        callables_(std::make_shared<Callables>(std::move(run), std::move(applies))) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target&) const override {
    return std::invoke(callables_->applies, problem);
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return std::unique_ptr<Executable>(std::make_unique<CallableExecutable>(callables_));
  }

 private:
  struct Callables {
    Callables(RunCall r, AppliesCall a) : run(std::move(r)), applies(std::move(a)) {}
    RunCall run;
    AppliesCall applies;
  };

  class CallableExecutable final : public Executable {
   public:
    explicit CallableExecutable(std::shared_ptr<Callables> callables)
        : callables_(std::move(callables)) {}
    size_t workspace_bytes() const override { return 0; }
    Status Run(const Arguments& arguments) override {
      return std::invoke(callables_->run, arguments);
    }

   private:
    // Shared with the solver, which may go first.
    const std::shared_ptr<Callables> callables_;
  };

  const SolverId id_;
  const SolverTraits traits_;
  // Shared with every executable, because a move-only callable cannot be copied into them.
  const std::shared_ptr<Callables> callables_;
};

// `applies` of solvers that apply to everything.
inline Status AppliesAlways(const Problem&) { return Status::Ok(); }

template <class Run, class Applies = Status (*)(const Problem&)>
std::unique_ptr<const Solver> MakeCallableSolver(SolverId id, SolverTraits traits, Run run,
                                                 Applies applies = AppliesAlways) {
  return std::make_unique<CallableSolver<std::decay_t<Run>, std::decay_t<Applies>>>(
      std::move(id), std::move(traits), std::move(run), std::move(applies));
}

}  // namespace attune
