#include "backends/cuda/driver/library_solver.h"

#include <utility>

#include <fmt/format.h>

#include "attune/problem/problem.h"

namespace attune::cuda {
namespace {

SolverTraits ListedOnDevice(SolverTraits traits) {
  traits.listed_on_device = true;
  return traits;
}

}  // namespace

LibrarySolver::LibrarySolver(SolverId id, SolverTraits traits)
    : id_(std::move(id)), traits_(ListedOnDevice(std::move(traits))) {}

Result<CudaDevice*> LibrarySolver::Entered(Device& device) {
  ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
  ATTUNE_RETURN_IF_ERROR(cuda->Enter());
  return cuda;
}

Status LibrarySolver::IsApplicable(const Problem& problem, const Target& target) const {
  if (OperatorName(problem) != traits_.operator_name) {
    return Unsupported(fmt::format("{} computes {} only, not {}.", id_.name, traits_.operator_name,
                                   OperatorName(problem)));
  }
  if (target.backend != "cuda") {
    return Unsupported(
        fmt::format("{} runs on CUDA devices, not on '{}'.", id_.name, target.backend));
  }
  for (const LibraryReport& library : Libraries()) {
    if (!library.available) return Unavailable(library.missing);
  }
  ATTUNE_RETURN_IF_ERROR(CheckRunsOn(target));
  return CheckTakes(problem);
}

Result<ConfigSpace> LibrarySolver::Space(const Problem&, const Target&) const {
  return ConfigSpace();
}

Result<BuildRecipe> LibrarySolver::Recipe(const Problem&, const Config&, const Target&) const {
  return BuildRecipe();
}

Result<Artifact> LibrarySolver::Build(const BuildRecipe&) const { return Artifact(); }

Result<std::vector<Config>> LibrarySolver::ListOn(Device& device, const Problem& problem) const {
  ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, Entered(device));
  return List(*cuda, problem);
}

Result<std::unique_ptr<Executable>> LibrarySolver::Load(const Artifact& artifact,
                                                        const Problem& problem,
                                                        const Config& config,
                                                        Device& device) const {
  return LoadingOn(device,
                   [&](CudaDevice& cuda) { return LoadOn(cuda, artifact, problem, config); });
}

}  // namespace attune::cuda
