#include "backends/host/gemm/gemm_solver.h"

#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::host {

GemmSolver::GemmSolver(std::string name, SolverTraits traits, HostResources resources)
    : id_{std::move(name), 1}, traits_(std::move(traits)), resources_(resources) {}

std::string GemmSolver::Subject() const { return "Solver " + Text(id_); }

Status GemmSolver::IsApplicable(const Problem& problem, const Target& target) const {
  if (target.backend != "host") {
    return Unsupported(
        fmt::format("{} runs on the host, not on backend '{}'.", Subject(), target.backend));
  }
  const Gemm* gemm = problem.As<Gemm>();
  if (gemm == nullptr) {
    return Unsupported(fmt::format("{} computes gemm, not {}.", Subject(), OperatorName(problem)));
  }
  const bool one_type = gemm->type == gemm->c_type;
  if (!one_type || (gemm->type != DataType::kF32 && gemm->type != DataType::kF64)) {
    return Unsupported(fmt::format("{} computes f32 and f64 products of one type, not {} into {}.",
                                   Subject(), Name(gemm->type), Name(gemm->c_type)));
  }
  return Accepts(*gemm);
}

Result<ConfigSpace> GemmSolver::Space(const Problem& problem, const Target& target) const {
  ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
  SpaceDescription description = Describe(problem.Get<Gemm>(), target);
  return ConfigSpace::Create(std::move(description.parameters), std::move(description.constraints));
}

Result<Config> GemmSolver::DefaultConfig(const Problem& problem, const Target& target) const {
  return FirstConfig(Describe(problem.Get<Gemm>(), target));
}

Result<bool> GemmSolver::HasConfig(const Problem& problem, const Config& config,
                                   const Target& target) const {
  return attune::HasConfig(Describe(problem.Get<Gemm>(), target), config);
}

Result<std::unique_ptr<Executable>> GemmSolver::Load(const Artifact&, const Problem& problem,
                                                     const Config& config, Device& device) const {
  ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, device.target()));
  const Gemm& gemm = problem.Get<Gemm>();
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<const ProductKernel> kernel, MakeKernel(gemm, config));
  return std::unique_ptr<Executable>(
      std::make_unique<GemmExecutable>(gemm, std::move(kernel), DivisionOf(config), resources_));
}

}  // namespace attune::host
