#include "backends/cuda/folded_product_gemm.h"

#include <utility>
#include <variant>

#include "backends/cuda/folded_batch.h"
#include "backends/cuda/inner_product.h"
#include "backends/cuda/library_solver.h"

namespace attune::cuda {
namespace {

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "A batch as one product of its operands, by any other solver of products";
  traits.operator_name = "gemm";
  traits.compiles = true;
  // Which solver and config the product has differs from size to size.
  traits.dynamic = false;
  // As that of solvers that call cuBLASLt.
  traits.deterministic = false;
  return traits;
}

class FoldedProductGemm final : public LibrarySolver {
 public:
  FoldedProductGemm(std::vector<const Solver*> products, const Lazy<Nvrtc>& nvrtc)
      : LibrarySolver({"cuda.folded-product-gemm", 1}, Traits()),
        products_(std::move(products)),
        nvrtc_(nvrtc) {}

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(LibrarySolver::IsApplicable(problem, target));
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, FoldedBatch(std::get<Gemm>(problem)));
    return products_.IsApplicable(folded, target);
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, FoldedBatch(std::get<Gemm>(problem)));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, products_.Configs(folded, target));
    return ConfigSpace::FromConfigs(configs);
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, FoldedBatch(std::get<Gemm>(problem)));
    return products_.DefaultConfig(folded, target);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, FoldedBatch(std::get<Gemm>(problem)));
    return products_.RecipeOf(folded, config, target);
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc_.Get(), recipe);
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {nvrtc_.Get().report}; }

  Status CheckTakes(const Problem& problem) const override {
    return FoldedBatch(std::get<Gemm>(problem)).status();
  }

  Result<std::vector<Config>> List(CudaDevice&, const Problem&) const override {
    return std::vector<Config>();
  }

  // The operands are those of the batch: nothing is around the product.
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, FoldedBatch(std::get<Gemm>(problem)));
    ATTUNE_ASSIGN_OR_RETURN(const InnerProduct inner, products_.Named(config));
    return inner.solver.Load(artifact, folded, inner.config, device);
  }

  const InnerProducts products_;
  const Lazy<Nvrtc>& nvrtc_;
};

}  // namespace

std::unique_ptr<const Solver> MakeFoldedProductGemm(std::vector<const Solver*> products,
                                                    const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<FoldedProductGemm>(std::move(products), nvrtc);
}

}  // namespace attune::cuda
