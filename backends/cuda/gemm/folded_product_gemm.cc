#include "backends/cuda/gemm/folded_product_gemm.h"

#include <utility>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/folded_batch.h"
#include "backends/cuda/gemm/inner_product_solver.h"

namespace attune::cuda {
namespace {

class FoldedProductGemm final : public InnerProductSolver {
 public:
  FoldedProductGemm(std::vector<const Solver*> products, const Lazy<Nvrtc>& nvrtc)
      : InnerProductSolver(
            {{"cuda.folded-product-gemm", 1},
             "gemm",
             "A batch as one product of its operands, by any other solver of products"},
            std::move(products), nvrtc) {}

  // cuBLASLt can be the solver inside.
  bool KeepsSpecialValues(const Problem& problem) const override {
    return CublasLtKeepsSpecialValues(problem);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, ProductOf(problem));
    return products().RecipeOf(folded, config, target);
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc(), recipe);
  }

 private:
  Result<Gemm> ProductOf(const Problem& problem) const override {
    return FoldedBatch(problem.Get<Gemm>());
  }

  Status CheckTakes(const Problem& problem) const override { return ProductOf(problem).status(); }

  // The operands are those of the batch: nothing is around the product.
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm folded, ProductOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const InnerProduct inner, products().Named(config));
    return inner.solver.Load(artifact, folded, inner.config, device);
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeFoldedProductGemm(std::vector<const Solver*> products,
                                                    const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<FoldedProductGemm>(std::move(products), nvrtc);
}

}  // namespace attune::cuda
