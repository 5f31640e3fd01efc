// References as products for a device: the layout of the factors, and the kernels that multiply.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/gemm/reference_product_arguments.h"

namespace attune::cuda {

// The recipe of the kernels: one build serves every problem.
Result<BuildRecipe> ReferenceProductRecipe(const Nvrtc& nvrtc, const std::string& arch);

// True if the sums of `problem` are kept in double-double.
bool IsExact(const Problem& problem);

// The products of one problem, and which of its operands they are made of.
struct ReferencePlan {
  ReferenceProduct product;  // Without addresses and scalars.
  size_t a = 0;              // Operands, as those below.
  size_t b = 1;
  std::optional<size_t> bias;
  std::optional<size_t> initial;
};

// kUnsupported for operators other than gemm and conv, and for images beyond 2^28 positions along
// one axis, padding included, which the kernels cannot count. Sums of integers are exact below
// 2^53.
Result<ReferencePlan> PlanOf(const Problem& problem);

// The products of `plan` on operands as Backend::reference_solver() describes them. REQUIRES: their
// views are addresses.
ReferenceProduct BoundTo(const ReferencePlan& plan, const Arguments& arguments);

// Blocks for the whole product; each loops over some tiles of the output.
LaunchShape ShapeOf(const ReferenceProduct& product);

}  // namespace attune::cuda
