// Launches that a device reports in a dry run: the candidate is loaded, and its call captured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/device/device.h"
#include "attune/device/launch_observer.h"
#include "attune/model/launch_source.h"
#include "attune/solver/solver.h"

namespace attune {

// Launches of library calls, with kernels that no solver knows; solvers that plan their launches do
// not need this. Empty if a candidate cannot be loaded or captured. Costs the load of each and some
// 100 us; nothing runs. Used by the thread that owns the device.
class DryRunLaunches final : public LaunchSource {
 public:
  // kUnsupported if the device does not report the launches of a call. Borrows all of them.
  static Result<std::unique_ptr<DryRunLaunches>> Create(const SolverList& solvers, Device& device,
                                                        KernelCache& cache);

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override;

 private:
  DryRunLaunches(const SolverList& solvers, Device& device, LaunchObserver& observer,
                 KernelCache& cache)
      : solvers_(solvers),
        device_(device),
        observer_(observer),
        builder_(cache, {.warns = false}) {}

  Result<std::vector<ObservedLaunch>> DryRun(const Solver& solver, const Problem& problem,
                                             const Config& config) const;
  // At least `size_bytes` of device memory for the operand at `position`, with any content.
  Result<BufferView> MemoryFor(size_t position, size_t size_bytes) const;

  const SolverList& solvers_;
  Device& device_;
  LaunchObserver& observer_;  // The device.
  mutable Builder builder_;
  mutable std::map<size_t, std::unique_ptr<Buffer>> memory_;
};

}  // namespace attune
