// A convolution as a product of unfolded windows: the copies, the product, and the number of
// rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/conv_matrices.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// One round takes some images through these steps; without addresses, which the workspace and the
// operands give them.
//   small image   unfold the large one, multiply by the weights
//   large image   multiply the small one by the weights into windows of sums, fold those
//   weights       unfold the large image, multiply by the small one, round by round into one sum
struct UnfoldedProduct {
  ConvTensor computed = ConvTensor::kSmall;
  RepeatedProduct product;  // Once for each round. In place of the large image are its windows.
  int64_t images = 1;       // Per round.
  int64_t rounds = 1;
  int64_t large_step = 0;  // Elements from one round to the next.
  int64_t small_step = 0;

  std::optional<Unfold> unfold;        // The large image.
  std::optional<Fold> fold;            // Into it.
  std::optional<Unfold> copy_small;    // To a layout where all images are one matrix.
  std::optional<Unfold> copy_weights;  // To columns at whole words; once for all rounds.
  // From sums in the workspace to the weights, once after all rounds: if the weights are narrower
  // than sums of several rounds, or too misaligned for wide stores.
  std::optional<PartialSums> round_sums;

  // Sizes in the workspace; 0 for absent parts.
  size_t windows_bytes = 0;
  size_t small_bytes = 0;
  size_t weights_bytes = 0;
  size_t sums_bytes = 0;

  size_t WorkspaceBytes() const { return windows_bytes + small_bytes + weights_bytes + sums_bytes; }
};

// Its workspace is at most `limit_bytes`: if not all images fit, there are several rounds. Windows
// larger than an L2 go through memory twice, so more images at once would gain nothing.
// kUnsupported with the reason: groups, a bias that cuBLASLt does not add, convolutions that are
// products of their operands in place, those where not even one image fits, and those that exceed
// another limit.
Result<UnfoldedProduct> UnfoldedProductOf(const Conv& conv,
                                          int64_t limit_bytes = kMostScratchBytes);

}  // namespace attune::cuda
