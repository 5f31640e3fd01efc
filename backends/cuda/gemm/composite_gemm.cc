#include "backends/cuda/gemm/composite_gemm.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/gemm/cublaslt_listing.h"
#include "backends/cuda/layout/in_turns.h"

namespace attune::cuda {

CompositeGemm::CompositeGemm(SolverId id, SolverTraits traits, std::string field,
                             const Borrowed& libraries)
    : LibrarySolver(std::move(id), std::move(traits)),
      field_(std::move(field)),
      libraries_(libraries) {}

Result<ConfigSpace> CompositeGemm::Space(const Problem& problem, const Target&) const {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<ParameterValue> ways, Ways(problem.Get<Gemm>()));
  return ConfigSpace::Create({Parameter{field_, std::move(ways)}}, {});
}

Result<Artifact> CompositeGemm::Build(const BuildRecipe& recipe) const {
  return BuildCubin(nvrtc(), recipe);
}

std::vector<LibraryReport> CompositeGemm::Libraries() const {
  return {lt().report(), nvrtc().report};
}

Status CompositeGemm::CheckTakes(const Problem& problem) const {
  const Gemm& gemm = problem.Get<Gemm>();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ParameterValue> ways, Ways(gemm));
  ATTUNE_ASSIGN_OR_RETURN(const Gemm inner, InnerProduct(gemm, ways.front()));
  return CheckCublasLtTakes(inner);
}

Result<std::vector<Config>> CompositeGemm::List(CudaDevice& device, const Problem& problem) const {
  const Gemm& gemm = problem.Get<Gemm>();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ParameterValue> ways, Ways(gemm));
  // The library multiplies narrow types in some storage orders only: other ways remain.
  return ListedInTurns(field_, ways,
                       [&](const ParameterValue& way) { return AlgorithmsOf(device, gemm, way); });
}

Result<std::vector<Config>> CompositeGemm::AlgorithmsOf(CudaDevice& device, const Gemm& gemm,
                                                        const ParameterValue& way) const {
  ATTUNE_ASSIGN_OR_RETURN(const Gemm inner, InnerProduct(gemm, way));
  return ListAlgorithms(lt(), device.context(), inner);
}

Result<std::unique_ptr<Executable>> CompositeGemm::LoadOn(CudaDevice& device,
                                                          const Artifact& artifact,
                                                          const Problem& problem,
                                                          const Config& config) const {
  const Gemm& gemm = problem.Get<Gemm>();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ParameterValue> ways, Ways(gemm));
  const auto way = config.find(field_);
  if (way == config.end() || std::find(ways.begin(), ways.end(), way->second) == ways.end()) {
    return Unsupported(fmt::format(
        "{} has no way '{}' to compute this product. Tune the problem again if a record "
        "names it.",
        id().name, Text(config)));
  }
  Config fields = config;
  fields.erase(field_);
  ATTUNE_ASSIGN_OR_RETURN(const Gemm product, InnerProduct(gemm, way->second));
  ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                          ChooseProduct(lt(), device.context(), product, fields));
  return LoadWay(device, artifact, gemm, way->second, std::move(inner));
}

}  // namespace attune::cuda
