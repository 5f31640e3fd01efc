// Names in the key columns of TunableOp's files that stand for a family of problems with dynamic
// sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/formats/tunable_names.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/tunable/dynamic_dims.h"

namespace attune {

// One token of wildcard params. A size that is no star has low == high.
struct SizePattern {
  int64_t low = 1;
  int64_t high = 1;
  bool any = false;  // "*"

  bool is_star() const { return any || low != high; }
  bool Matches(int64_t size) const { return any || (size >= low && size <= high); }
  friend bool operator==(const SizePattern&, const SizePattern&) = default;
};

// Names of which some sizes are dynamic: "tn_*_128_4096_ld_4096_4096_*".
struct WildcardKey {
  TunableOpKey names;  // The text.
  std::string transposes;
  // m, n, k, and batch unless it is for a single GEMM.
  std::vector<SizePattern> sizes;
  std::vector<SizePattern> leading;  // lda, ldb, ldc; empty in the form without: any.

  friend bool operator==(const WildcardKey&, const WildcardKey&) = default;
};

// The error says which token is wrong.
Result<WildcardKey> ParseWildcard(const TunableOpKey& key);

// The key of `gemm` with its dynamic dimensions as stars; leading dimensions follow theirs: lda
// tracks m if A is not transposed and k if it is, ldb tracks k or n, ldc tracks m. Nothing if no
// dimension of the mask is in the key (batch of a single product), or the gemm has no operator.
std::optional<WildcardKey> WildcardOf(const Gemm& gemm, const DynamicDims& dims);

bool Matches(const WildcardKey& pattern, const Gemm& gemm);

// True if `a` is the more specific: fewer dynamic sizes; of as many, the narrower ranges.
bool IsMoreSpecific(const WildcardKey& a, const WildcardKey& b);

// True if both are the same but for sizes, leading dimensions and strides.
bool DifferInSizesOnly(const Gemm& a, const Gemm& b);

}  // namespace attune
