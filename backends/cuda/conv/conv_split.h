// A convolution of f32 as one of tf32 with a sum that is three times as long: which parts of the
// operands lie where, and what the convolution of them is.
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

// An f32 is nearly the sum of two tf32: a high part, and a low one of what that leaves. Of the four
// products of such sums, that of both low parts is no more than 2^-22 of all. The other three are
// low * high + high * low + high * high, so the first operand has the parts (low, high, high) and
// the second (high, low, high) along what is summed: the channels of each group that the sum runs
// through, or the images for a gradient of weights. Tensor cores cut sums off instead of rounding
// them, which costs the less the later the sum becomes large: small products come first. Where
// engines keep that order, results are off by a quarter of what they are off by in the other one
// (sums of 144 to 9216 products on the host, cut off every 4 or 8).
//
// Arrays are in the order of Operands(conv).
struct ConvSplit {
  Conv inner;          // What is computed in each round.
  int64_t rounds = 1;  // Of as many images as `inner` sums or computes; weights are split once.
  std::array<Split, 2> into{};           // From the inputs of the problem; without addresses.
  std::array<size_t, 2> parts_bytes{};   // Of an input of `inner`.
  std::array<int64_t, 3> steps_bytes{};  // From round to round, of tensors of the problem.
  bool is_output_copied = false;         // From another layout,
  Relayout output_back{};                // without addresses.
  size_t output_bytes = 0;               // Of `inner`.

  // What parts and copy take in the workspace.
  size_t CopiesBytes() const;
};

// The layouts that the parts may have, best guess first, in the words of RelayoutNames(): `padded`
// or else `last`, and `first`.
std::vector<std::string> SplitNames(const Conv& conv);

// The parts of as many images at once as keep to `limit_bytes` with the parts of the weights, or of
// one. REQUIRES: `name` is one of SplitNames(conv), which is of f32 and otherwise as LayOutAnew()
// takes it. Fails as Validate does where the inner convolution exceeds a limit.
Result<ConvSplit> SplitInLayout(const Conv& conv, std::string_view name,
                                int64_t limit_bytes = kMostScratchBytes);

// Those of SplitNames whose parts keep to `limit_bytes`. kUnsupported with the reason if there are
// none, or if CheckSplits() refuses.
Result<std::vector<std::string>> PossibleSplits(const Conv& conv,
                                                int64_t limit_bytes = kMostScratchBytes);

// kUnsupported for what is no strict f32, and where reading and writing the parts takes longer than
// the tensor cores can save. REQUIRES: as
// LayOutAnew().
Status CheckSplits(const Conv& conv);

// kUnsupported where tensor cores do not multiply tf32 more than three times as fast as other units
// f32, or nobody knows.
Status CheckSplitsPay(const Target& target);

}  // namespace attune::cuda
