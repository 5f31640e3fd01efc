// Base of the solvers that compute a product by another product of cuBLASLt's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "attune/space/value.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/gemm/cublaslt_product.h"

namespace attune::cuda {

// There are several ways, each with an inner product of its own. A config is the way, in a field
// named by the solver, and optionally the fields of an algorithm for the inner product; without
// them it is the library's first answer. Subclasses list the ways and run kernels of their own
// around the inner product.
class CompositeGemm : public LibrarySolver {
 public:
  struct Borrowed {
    const Lazy<CublasLt>& lt;
    const Lazy<Nvrtc>& nvrtc;
  };

  // Every way, best guess first.
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const final;
  Result<Artifact> Build(const BuildRecipe& recipe) const final;

 protected:
  CompositeGemm(SolverId id, SolverTraits traits, std::string field, const Borrowed& libraries);

  const CublasLt& lt() const { return libraries_.lt.Get(); }
  const Nvrtc& nvrtc() const { return libraries_.nvrtc.Get(); }

 private:
  // At least one, best guess first; or kUnsupported with the reason.
  virtual Result<std::vector<ParameterValue>> Ways(const Gemm& gemm) const = 0;
  // The product that cuBLASLt computes. REQUIRES, as below: `way` is one of Ways(gemm).
  virtual Result<Gemm> InnerProduct(const Gemm& gemm, const ParameterValue& way) const = 0;
  virtual Result<std::unique_ptr<Executable>> LoadWay(CudaDevice& device, const Artifact& artifact,
                                                      const Gemm& gemm, const ParameterValue& way,
                                                      ChosenProduct inner) const = 0;

  std::vector<LibraryReport> Libraries() const final;
  Status CheckTakes(const Problem& problem) const final;
  // The algorithms of every way, in turns, so that the library's guesses for each come first.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const final;
  Result<std::vector<Config>> AlgorithmsOf(CudaDevice& device, const Gemm& gemm,
                                           const ParameterValue& way) const;
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const final;

  const std::string field_;
  const Borrowed libraries_;
};

}  // namespace attune::cuda
