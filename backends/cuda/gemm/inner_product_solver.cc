#include "backends/cuda/gemm/inner_product_solver.h"

#include <utility>

#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

SolverTraits TraitsOf(std::string operator_name, std::string description) {
  SolverTraits traits;
  traits.description = std::move(description);
  traits.operator_name = std::move(operator_name);
  traits.ieee_special_values = traits.operator_name == "gemm";
  traits.compiles = true;
  // The solver and config of the product differ from size to size.
  traits.dynamic = false;
  // The traits of solvers that call cuBLASLt.
  traits.deterministic = false;
  return traits;
}

}  // namespace

InnerProductSolver::InnerProductSolver(Description description, std::vector<const Solver*> products,
                                       const Lazy<Nvrtc>& nvrtc)
    : LibrarySolver(std::move(description.id), TraitsOf(std::move(description.operator_name),
                                                        std::move(description.description))),
      products_(std::move(products)),
      nvrtc_(nvrtc) {}

Status InnerProductSolver::IsApplicable(const Problem& problem, const Target& target) const {
  ATTUNE_RETURN_IF_ERROR(LibrarySolver::IsApplicable(problem, target));
  ATTUNE_ASSIGN_OR_RETURN(const Gemm product, ProductOf(problem));
  return products_.IsApplicable(product, target);
}

Result<ConfigSpace> InnerProductSolver::Space(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Gemm product, ProductOf(problem));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, products_.Configs(product, target));
  return ConfigSpace::FromConfigs(configs);
}

Result<Config> InnerProductSolver::DefaultConfig(const Problem& problem,
                                                 const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Gemm product, ProductOf(problem));
  return products_.DefaultConfig(product, target);
}

std::vector<LibraryReport> InnerProductSolver::Libraries() const { return {nvrtc().report}; }

Result<std::vector<Config>> InnerProductSolver::List(CudaDevice&, const Problem&) const {
  return std::vector<Config>();
}

}  // namespace attune::cuda
