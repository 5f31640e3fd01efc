// A product that is split along k: the products of the parts, and the sum of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// The useful numbers of parts along k, best guess first. This is the one place that decides it:
// every part has at least 128 terms, and tiles of 128 x 128 of all parts are at most 1024, some
// waves of the largest GPU. That keeps partial sums to 128 MiB, too. kUnsupported with the reason
// if there is none: k is short or C large, a batch (its matrices run beside one another already),
// or types that the sums are not rounded to.
Result<std::vector<int64_t>> PartCounts(const Gemm& gemm);

// Offsets are in elements.
struct SplitProduct {
  Gemm product;  // All parts as one batch; its C are the partial sums.
  // The rest of k beyond equal parts, if any: a product of its own, added to the first partial sum.
  std::optional<Gemm> rest;
  int64_t rest_a = 0;  // Start of its A and B.
  int64_t rest_b = 0;
  PartialSums sums = {};  // Without addresses, alpha and beta.
  size_t sums_bytes = 0;  // All partial sums: f32, and f64 for f64.
};

// REQUIRES: `parts` is one of PartCounts(gemm).
SplitProduct SplitAlongK(const Gemm& gemm, int64_t parts);

}  // namespace attune::cuda
