#include "backends/cuda/conv/product_conv.h"

#include <array>
#include <span>
#include <string>
#include <utility>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/gemm/cublaslt_listing.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/inner_product_solver.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

Result<Gemm> GemmOf(const ConvByProduct& form, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const ConvByProduct::Inner inner, form.InnerOf(problem.Get<Conv>()));
  return inner.gemm;
}

// Recipe of the kernels around the product; empty if there are none.
Result<BuildRecipe> OwnRecipe(const ConvByProduct& form, const Nvrtc& nvrtc, const Problem& problem,
                              const Target& target) {
  if (!form.has_kernels()) return BuildRecipe();
  return TensorLayoutRecipe(nvrtc, problem.Get<Conv>().type, target.arch);
}

SolverTraits CublasLtTraits(std::string description, bool compiles) {
  SolverTraits traits;
  traits.description = std::move(description);
  traits.operator_name = "conv";
  traits.checks_alignment = true;
  traits.compiles = compiles;
  traits.instant = !compiles;
  // The traits of cuBLASLt's solver.
  traits.deterministic = false;
  return traits;
}

class CublasLtConv final : public LibrarySolver {
 public:
  CublasLtConv(ConvSolverName name, std::unique_ptr<const ConvByProduct> form,
               const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc)
      : LibrarySolver({std::move(name.name), 1},
                      CublasLtTraits(std::move(name.description), form->has_kernels())),
        form_(std::move(form)),
        lt_(lt),
        nvrtc_(nvrtc) {}

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    return OwnRecipe(*form_, nvrtc_.Get(), problem, target);
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc_.Get(), recipe);
  }

 private:
  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> libraries = {lt_.Get().report()};
    if (form_->has_kernels()) libraries.push_back(nvrtc_.Get().report);
    return libraries;
  }

  Status CheckTakes(const Problem& problem) const override {
    // InnerOf() already checks that cuBLASLt takes the product.
    return GemmOf(*form_, problem).status();
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(*form_, problem));
    return ListAlgorithms(lt_.Get(), device.context(), gemm);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(*form_, problem));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                            ChooseProduct(lt_.Get(), device.context(), gemm, config));
    return form_->Load(device, artifact, problem.Get<Conv>(),
                       MakeCublasLtExecutable(device, std::move(inner)));
  }

  const std::unique_ptr<const ConvByProduct> form_;
  const Lazy<CublasLt>& lt_;
  const Lazy<Nvrtc>& nvrtc_;
};

class InnerProductConv final : public InnerProductSolver {
 public:
  InnerProductConv(ConvSolverName name, std::unique_ptr<const ConvByProduct> form,
                   std::vector<const Solver*> products, const Lazy<Nvrtc>& nvrtc)
      : InnerProductSolver({{std::move(name.name), 1}, "conv", std::move(name.description)},
                           std::move(products), nvrtc),
        form_(std::move(form)) {}

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, ProductOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe inner, products().RecipeOf(gemm, config, target));
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe own, OwnRecipe(*form_, nvrtc(), problem, target));
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
  Result<Gemm> ProductOf(const Problem& problem) const override { return GemmOf(*form_, problem); }

  Status CheckTakes(const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const ConvByProduct::Inner inner, form_->InnerOf(problem.Get<Conv>()));
    if (!inner.adds) return Status::Ok();
    return Unsupported(
        "The gradient of these weights is the sum of several rounds, which only cuBLASLt adds to.");
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, ProductOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(const InnerProduct inner, products().Named(config));
    TwoArtifacts built;
    if (!form_->has_kernels()) {
      built.inner = artifact;
    } else if (!inner.solver.traits().compiles) {
      built.outer = artifact;
    } else {
      ATTUNE_ASSIGN_OR_RETURN(built, Parts(artifact));
    }
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> product,
                            inner.solver.Load(built.inner, gemm, inner.config, device));
    return form_->Load(device, built.outer, problem.Get<Conv>(), std::move(product));
  }

  const std::unique_ptr<const ConvByProduct> form_;
};

}  // namespace

Status RunInner(Executable& inner, const InnerCall& call) {
  const bool has_bias = call.bias.handle != nullptr;
  std::array<BufferView, 4> operands = {{{call.a}, {call.b}, {call.c}, {}}};
  if (has_bias) operands = {{{call.a}, {call.b}, call.bias, {call.c}}};
  Arguments arguments;
  arguments.operands = std::span(operands).first(has_bias ? 4 : 3);
  arguments.workspace = call.workspace;
  arguments.beta = call.beta;
  arguments.queue = call.queue;
  return inner.Run(arguments);
}

std::unique_ptr<const Solver> MakeCublasLtConv(ConvSolverName name,
                                               std::unique_ptr<const ConvByProduct> form,
                                               const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<CublasLtConv>(std::move(name), std::move(form), lt, nvrtc);
}

std::unique_ptr<const Solver> MakeInnerProductConv(ConvSolverName name,
                                                   std::unique_ptr<const ConvByProduct> form,
                                                   std::vector<const Solver*> products,
                                                   const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<InnerProductConv>(std::move(name), std::move(form), std::move(products),
                                            nvrtc);
}

}  // namespace attune::cuda
