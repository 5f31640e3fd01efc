#include "backends/cuda/gemm/reference_solver.h"

#include <utility>

#include <fmt/format.h>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/gemm/reference_product.h"

namespace attune::cuda {
namespace {

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(CudaDevice& device, const ReferencePlan& plan, std::shared_ptr<Module> module,
                      CUfunction function)
      : device_(device), plan_(plan), module_(std::move(module)), function_(function) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    ReferenceProduct product = BoundTo(plan_, arguments);
    void* values[] = {&product};
    return module_->Launch(function_, ShapeOf(product), values, device_.StreamOf(arguments));
  }

 private:
  CudaDevice& device_;
  const ReferencePlan plan_;
  const std::shared_ptr<Module> module_;  // Shared with other users of the same code.
  const CUfunction function_;
};

class ReferenceSolver final : public Solver {
 public:
  explicit ReferenceSolver(const Lazy<Nvrtc>& nvrtc) : nvrtc_(nvrtc) {
    traits_.description = "Products in f64 or double-double, which results are compared with";
    traits_.compiles = true;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "cuda") {
      return Unsupported(
          fmt::format("{} runs on CUDA devices, not on '{}'.", id_.name, target.backend));
    }
    if (!nvrtc_.Get().available()) return Unavailable(nvrtc_.Get().report.missing);
    return PlanOf(problem).status();
  }

  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target& target) const override {
    return ReferenceProductRecipe(nvrtc_.Get(), target.arch);
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc_.Get(), recipe);
  }

  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config&, Device& device) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    ATTUNE_ASSIGN_OR_RETURN(const ReferencePlan plan, PlanOf(problem));
    ATTUNE_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, Module::Load(*cuda, artifact));
    const char* name = IsExact(problem) ? "exact_reference_product" : "reference_product";
    ATTUNE_ASSIGN_OR_RETURN(const CUfunction function, module->Function(name, 0));
    return std::unique_ptr<Executable>(
        std::make_unique<ReferenceExecutable>(*cuda, plan, std::move(module), function));
  }

 private:
  const Lazy<Nvrtc>& nvrtc_;
  const SolverId id_ = {"cuda.reference-product", 1};
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeReferenceSolver(const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<ReferenceSolver>(nvrtc);
}

}  // namespace attune::cuda
