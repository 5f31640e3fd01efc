// A convolution of f32 as one of tf32 with a sum that is three times as long: where the parts of
// the operands lie, and the convolution of the parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/target.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// An f32 is nearly the sum of two tf32: a high part, and a low part that holds the remainder. Of
// the four products of such sums, the product of both low parts is at most 2^-22 of the total. The
// other three are low * high + high * low + high * high. So the first operand has the parts (low,
// high, high) and the second (high, low, high) along the summed index: the channels of each group
// that the sum runs through, or the images for a gradient of weights. Tensor cores truncate sums
// instead of rounding them. The loss is smaller the later the sum becomes large, so small products
// come first. Where engines keep that order, errors are a quarter of those in the other order (sums
// of 144 to 9216 products on the host, truncated every 4 or 8).
//
// Arrays are in the order of Operands(conv).
struct ConvSplit {
  Conv inner;                            // The convolution of one round.
  int64_t rounds = 1;                    // One for each batch of `inner`; weights are split once.
  std::array<Split, 2> into{};           // From the inputs of the problem; without addresses.
  std::array<size_t, 2> parts_bytes{};   // Per input of `inner`.
  std::array<int64_t, 3> steps_bytes{};  // From round to round, of tensors of the problem.
  bool is_output_copied = false;         // From another layout,
  Relayout output_back{};                // without addresses.
  size_t output_bytes = 0;               // Output of `inner`.

  // Workspace of the parts and of the copy.
  size_t CopiesBytes() const;
};

// The possible layouts of the parts, best guess first, by their names in RelayoutNames(): `padded`
// or else `last`, and `first`.
std::vector<std::string> SplitNames(const Conv& conv);

// The parts of as many images at once as keep to `limit_bytes` with the parts of the weights, or of
// one. REQUIRES: `name` is one of SplitNames(conv), which is of f32 and otherwise as LayOutAnew()
// takes it. Fails as Validate does where the inner convolution exceeds a limit.
Result<ConvSplit> SplitInLayout(const Conv& conv, std::string_view name,
                                int64_t limit_bytes = kMostScratchBytes);

// The SplitNames with parts of at most `limit_bytes`. kUnsupported with the reason if there are
// none, or if CheckSplits() refuses.
Result<std::vector<std::string>> PossibleSplits(const Conv& conv,
                                                int64_t limit_bytes = kMostScratchBytes);

// kUnsupported for anything but strict f32, and where reading and writing the parts takes longer
// than the tensor cores can save. REQUIRES: as LayOutAnew().
Status CheckSplits(const Conv& conv);

// kUnsupported unless tensor cores are known to multiply tf32 more than three times as fast as
// other units multiply f32.
Status CheckSplitsPay(const Target& target);

}  // namespace attune::cuda
