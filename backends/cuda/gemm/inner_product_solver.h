// Base of the solvers that compute their problem around one product, by any other solver of
// products.
#pragma once

#include <string>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/gemm/inner_product.h"

namespace attune::cuda {

// Configs are those of InnerProducts; nothing is listed on a device. Subclasses define the product,
// and build and run the kernels around it.
class InnerProductSolver : public LibrarySolver {
 public:
  Status IsApplicable(const Problem& problem, const Target& target) const final;
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const final;
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const final;

 protected:
  struct Description {
    SolverId id;
    std::string operator_name;
    std::string description;
  };
  // Borrows the solvers and the compiler.
  InnerProductSolver(Description description, std::vector<const Solver*> products,
                     const Lazy<Nvrtc>& nvrtc);

  const InnerProducts& products() const { return products_; }
  const Nvrtc& nvrtc() const { return nvrtc_.Get(); }

 private:
  // Or kUnsupported. REQUIRES: the problem is of the solver's operator.
  virtual Result<Gemm> ProductOf(const Problem& problem) const = 0;

  std::vector<LibraryReport> Libraries() const final;
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const final;

  const InnerProducts products_;
  const Lazy<Nvrtc>& nvrtc_;
};

}  // namespace attune::cuda
