// A pointwise convolution as a product, or as a sum of products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/conv_matrices.h"
#include "backends/cuda/driver/scratch.h"

namespace attune::cuda {

// The product that computes a pointwise convolution on its operands in place. kUnsupported for
// other convolutions, for gradients of weights that are a sum over images, and for products that
// cuBLASLt does not multiply.
Result<RepeatedProduct> PointwiseProduct(const Conv& conv);

// A gradient of weights as a sum over images: a batch of products, one for each image of a round,
// adds to that many partial sums, in f32 or wider, round by round; in the end they are added up.
struct PartialProducts {
  RepeatedProduct product;  // In the first round. Its C is the first partial sum.
  int64_t images = 1;       // Per round: as many as there are partial sums.
  int64_t rounds = 1;
  int64_t elements = 1;  // In the weights.
  // From one round to the next, in elements.
  int64_t large_step = 0;
  int64_t small_step = 0;

  size_t PartialBytes() const;
};

// Its partial sums take at most `limit_bytes` in total. kUnsupported for anything but pointwise
// gradients of weights, for those that are one product (PointwiseProduct), and where not even one
// partial sum fits.
Result<PartialProducts> PointwisePartialProducts(const Conv& conv,
                                                 int64_t limit_bytes = kMostScratchBytes);

// The largest divisor of `images` such that so many times `image_bytes` is at most `limit_bytes`; 1
// if not even one image fits.
int64_t ImagesAtOnce(int64_t images, int64_t image_bytes, int64_t limit_bytes);

}  // namespace attune::cuda
