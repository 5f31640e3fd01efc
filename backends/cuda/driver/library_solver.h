// Base of the solvers that hand a problem to a CUDA library.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// Makes the checks that all such solvers share, and passes an opened device to the subclass as a
// CudaDevice, entered by this thread. The defaults are those of a solver without parameters that
// has nothing to build.
class LibrarySolver : public Solver {
 public:
  const SolverId& id() const final { return id_; }
  const SolverTraits& traits() const final { return traits_; }

  // kUnsupported for another operator, another backend's target and problems that the library
  // cannot express; kUnavailable where a library is missing.
  Status IsApplicable(const Problem& problem, const Target& target) const override;

  // One config without fields: the library's own first answer at load time.
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override;
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override;
  Result<Artifact> Build(const BuildRecipe& recipe) const override;

  Result<std::vector<Config>> ListOn(Device& device, const Problem& problem) const final;
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const final;

 protected:
  // `traits` without listed_on_device, which all of these are.
  LibrarySolver(SolverId id, SolverTraits traits);

  // The result of `act` on an opened device. This thread has entered the device, and a library may
  // allocate although a stream is captured.
  template <class Act>
  static std::invoke_result_t<Act, CudaDevice&> LoadingOn(Device& device, const Act& act) {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, Entered(device));
    // Libraries allocate when they make a handle.
    const DuringCapture allowed(cuda->driver());
    return act(*cuda);
  }

 private:
  static Result<CudaDevice*> Entered(Device& device);

  // The libraries that it needs; all of them have to be there.
  virtual std::vector<LibraryReport> Libraries() const = 0;
  // Ok, or kUnsupported. REQUIRES: the problem is of the solver's operator.
  virtual Status CheckTakes(const Problem& problem) const = 0;
  // Likewise, of a device of CUDA.
  virtual Status CheckRunsOn(const Target&) const { return Status::Ok(); }
  virtual Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const = 0;
  virtual Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                                     const Problem& problem,
                                                     const Config& config) const = 0;

  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace attune::cuda
