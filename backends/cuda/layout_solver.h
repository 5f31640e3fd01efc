// What solvers of convolutions have in common that lay tensors out anew around a library's call.
#pragma once

#include <utility>
#include <variant>

#include "attune/problem/conv.h"
#include "backends/cuda/lazy.h"
#include "backends/cuda/library_solver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/tensor_layout.h"

namespace attune::cuda {

// Every config of a problem builds the same kernels, those of its element type.
class LayoutSolver : public LibrarySolver {
 public:
  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const final {
    return TensorLayoutRecipe(nvrtc(), std::get<Conv>(problem).type, target.arch);
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const final {
    return BuildCubin(nvrtc(), recipe);
  }

 protected:
  // Borrows `nvrtc`.
  LayoutSolver(SolverId id, SolverTraits traits, const Lazy<Nvrtc>& nvrtc)
      : LibrarySolver(std::move(id), std::move(traits)), nvrtc_(nvrtc) {}

  const Nvrtc& nvrtc() const { return nvrtc_.Get(); }

 private:
  const Lazy<Nvrtc>& nvrtc_;
};

}  // namespace attune::cuda
