#include "backends/cuda/product_conv.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "backends/cuda/cublaslt_gemm.h"
#include "backends/cuda/cublaslt_listing.h"
#include "backends/cuda/cublaslt_product.h"
#include "backends/cuda/inner_product.h"
#include "backends/cuda/library_solver.h"
#include "backends/cuda/tensor_layout.h"

namespace attune::cuda {
namespace {

SolverTraits TraitsOf(std::string description, bool compiles, bool instant) {
  SolverTraits traits;
  traits.description = std::move(description);
  traits.operator_name = "conv";
  traits.compiles = compiles;
  traits.instant = instant;
  // As cuBLASLt's own.
  traits.deterministic = false;
  return traits;
}

// What both have in common.
class ProductConv : public LibrarySolver {
 protected:
  ProductConv(ConvSolverName name, const SolverTraits& traits,
              std::unique_ptr<const ConvByProduct> form, const Lazy<Nvrtc>& nvrtc)
      : LibrarySolver({std::move(name.name), 1}, traits), form_(std::move(form)), nvrtc_(nvrtc) {}

  const ConvByProduct& form() const { return *form_; }
  const Nvrtc& nvrtc() const { return nvrtc_.Get(); }
  Result<Gemm> GemmOf(const Problem& problem) const {
    ATTUNE_ASSIGN_OR_RETURN(const ConvByProduct::Inner inner,
                            form_->InnerOf(std::get<Conv>(problem)));
    return inner.gemm;
  }
  // Of the kernels around the product; empty if there are none.
  Result<BuildRecipe> OwnRecipe(const Problem& problem, const Target& target) const {
    if (!form_->has_kernels()) return BuildRecipe();
    return TensorLayoutRecipe(nvrtc(), std::get<Conv>(problem).type, target.arch);
  }

 private:
  const std::unique_ptr<const ConvByProduct> form_;
  const Lazy<Nvrtc>& nvrtc_;
};

class CublasLtConv final : public ProductConv {
 public:
  CublasLtConv(ConvSolverName name, const SolverTraits& traits,
               std::unique_ptr<const ConvByProduct> form, const Lazy<CublasLt>& lt,
               const Lazy<Nvrtc>& nvrtc)
      : ProductConv(std::move(name), traits, std::move(form), nvrtc), lt_(lt) {}

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    return OwnRecipe(problem, target);
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc(), recipe);
  }

 private:
  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> libraries = {lt_.Get().report()};
    if (form().has_kernels()) libraries.push_back(nvrtc().report);
    return libraries;
  }

  Status CheckTakes(const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    return CheckCublasLtTakes(gemm);
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product,
                            CublasLtProduct::On(lt_.Get(), device.context(), gemm));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                            ChooseProduct(lt_.Get(), device.context(), gemm, config));
    return form().Load(device, artifact, std::get<Conv>(problem),
                       MakeCublasLtExecutable(device, std::move(inner)));
  }

  const Lazy<CublasLt>& lt_;
};

class InnerProductConv final : public ProductConv {
 public:
  InnerProductConv(ConvSolverName name, const SolverTraits& traits,
                   std::unique_ptr<const ConvByProduct> form, std::vector<const Solver*> products,
                   const Lazy<Nvrtc>& nvrtc)
      : ProductConv(std::move(name), traits, std::move(form), nvrtc),
        products_(std::move(products)) {}

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(LibrarySolver::IsApplicable(problem, target));
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    return products_.IsApplicable(gemm, target);
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, products_.Configs(gemm, target));
    return ConfigSpace::FromConfigs(configs);
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    return products_.DefaultConfig(gemm, target);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe inner, products_.RecipeOf(gemm, config, target));
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe own, OwnRecipe(problem, target));
    return Together(own, inner);
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    const TwoRecipes parts = Parts(recipe);
    ATTUNE_ASSIGN_OR_RETURN(Artifact outer, BuildCubin(nvrtc(), parts.outer));
    if (parts.inner.empty()) return outer;
    ATTUNE_ASSIGN_OR_RETURN(const Artifact inner, BuildCubin(nvrtc(), parts.inner));
    return Together(outer, inner);
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {nvrtc().report}; }

  Status CheckTakes(const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const ConvByProduct::Inner inner,
                            form().InnerOf(std::get<Conv>(problem)));
    if (!inner.adds) return Status::Ok();
    return Unsupported(
        "The gradient of these weights is the sum of several rounds, which only cuBLASLt adds to.");
  }

  Result<std::vector<Config>> List(CudaDevice&, const Problem&) const override {
    return std::vector<Config>();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const InnerProduct inner, products_.Named(config));
    TwoArtifacts built;
    if (!form().has_kernels()) {
      built.inner = artifact;
    } else if (!inner.solver.traits().compiles) {
      built.outer = artifact;
    } else {
      ATTUNE_ASSIGN_OR_RETURN(built, Parts(artifact));
    }
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> product,
                            inner.solver.Load(built.inner, gemm, inner.config, device));
    return form().Load(device, built.outer, std::get<Conv>(problem), std::move(product));
  }

  const InnerProducts products_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCublasLtConv(ConvSolverName name,
                                               std::unique_ptr<const ConvByProduct> form,
                                               const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  const bool compiles = form->has_kernels();
  const SolverTraits traits = TraitsOf(name.description, compiles, !compiles);
  return std::make_unique<CublasLtConv>(std::move(name), traits, std::move(form), lt, nvrtc);
}

std::unique_ptr<const Solver> MakeInnerProductConv(ConvSolverName name,
                                                   std::unique_ptr<const ConvByProduct> form,
                                                   std::vector<const Solver*> products,
                                                   const Lazy<Nvrtc>& nvrtc) {
  SolverTraits traits = TraitsOf(name.description, true, false);
  // Which solver and config the product has differs from size to size.
  traits.dynamic = false;
  return std::make_unique<InnerProductConv>(std::move(name), traits, std::move(form),
                                            std::move(products), nvrtc);
}

}  // namespace attune::cuda
