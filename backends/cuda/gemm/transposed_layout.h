// Which inputs of a product are copied in the other storage order, and the product of the copies.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// A product that reads some of its inputs in the other order. Arrays are of A and B.
struct TransposedLayout {
  Gemm inner;                                     // The product of the copies; C stays in place.
  std::array<std::optional<Relayout>, 2> copies;  // Without addresses.
  std::array<size_t, 2> bytes{};                  // Per copy; 0 if there is none.

  // Workspace of the copies.
  size_t CopiesBytes() const;
};

// The inputs to copy, best guess first: `a`, `b` or `ab`. First those that give a product with the
// index of the sum innermost in both operands (A transposed, B not), which tensor cores read best,
// and types of one byte in no other way. Vectors have no storage order and are not copied.
// kUnsupported if nothing is left, or only copies of more than `limit_bytes` together.
Result<std::vector<std::string>> TransposableInputs(const Gemm& gemm, int64_t limit_bytes);

// Columns of the copies start at multiples of 16 bytes. REQUIRES: `copied` is one of
// TransposableInputs(gemm). Fails as Validate does where the product of the copies exceeds a limit.
Result<TransposedLayout> TransposeInputs(const Gemm& gemm, std::string_view copied);

}  // namespace attune::cuda
