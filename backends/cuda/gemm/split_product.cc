#include "backends/cuda/gemm/split_product.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/conv/conv_matrices.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

constexpr int64_t kCounts[] = {2, 4, 8, 16, 32};
constexpr int64_t kLeastTerms = 128;
constexpr int64_t kTile = 128;
constexpr int64_t kMostTiles = 1024;
// About one for each multiprocessor of a large GPU (132 of an H200).
constexpr int64_t kWaveTiles = 128;
static_assert(kMostTiles * kTile * kTile * int64_t{sizeof(double)} <= kMostScratchBytes);

int64_t TilesOf(const Gemm& gemm) {
  const auto tiles = [](int64_t extent) { return (extent + kTile - 1) / kTile; };
  return tiles(gemm.m) * tiles(gemm.n);
}

bool IsWorthwhile(const Gemm& gemm, int64_t parts) {
  return gemm.k / parts >= kLeastTerms && TilesOf(gemm) * parts <= kMostTiles;
}

// How far tiles of all parts are from one wave, as a factor.
double DistanceFromWave(int64_t tiles) {
  const double waves = static_cast<double>(tiles) / kWaveTiles;
  return waves < 1 ? 1 / waves : waves;
}

Status CheckTypes(const Gemm& gemm) {
  const auto is_real = [](DataType type) {
    return type != DataType::kI8 && type != DataType::kI32;
  };
  if (!is_real(gemm.type) || !is_real(gemm.c_type)) {
    return Unsupported("Products of integers are not split along k: sums of parts are rounded.");
  }
  if (SizeBytes(gemm.c_type) == 1 || SumTypeOf(gemm.type) != SumTypeOf(gemm.c_type)) {
    return Unsupported(fmt::format("Sums of products of {} are not rounded to {} here.",
                                   Name(gemm.type), Name(gemm.c_type)));
  }
  return Status::Ok();
}

int64_t BytesOf(DataType type) { return static_cast<int64_t>(SizeBytes(type)); }

int ActivationOf(const Gemm& gemm) {
  switch (gemm.activation) {
    case Activation::kNone:
      return kSumPlain;
    case Activation::kRelu:
      return kSumRelu;
    case Activation::kGelu:
      return kSumGelu;
    case Activation::kTanh:
      return kSumTanh;
    case Activation::kSigmoid:
      return kSumSigmoid;
  }
  return kSumPlain;
}

// Terms of a part. Where the terms of a row of A or a column of B are neighbours, parts begin at
// multiples of 16 bytes from where the operand does.
int64_t TermsOf(const Gemm& gemm, int64_t parts) {
  const int64_t terms = gemm.k / parts;
  const bool has_neighbours = gemm.trans_a == Transpose::kYes || gemm.trans_b == Transpose::kNo;
  return has_neighbours ? terms - terms % WordElements(gemm.type) : terms;
}

PartialSums SumsOf(const Gemm& gemm, const Gemm& product) {
  PartialSums sums = {};
  sums.parts = product.batch_count;
  sums.from_part = product.stride_c;
  sums.rows = gemm.m;
  sums.columns = gemm.n;
  sums.from_leading = product.ldc;
  sums.to_leading = gemm.ldc;
  sums.is_bias_of_columns = gemm.bias == Bias::kPerColumn ? 1 : 0;
  sums.reads_to = gemm.beta != ScalarClass::kZero ? 1 : 0;
  sums.activation = ActivationOf(gemm);
  return sums;
}

// Adds the rest of k behind the `terms` in each of the parts.
void AddRest(const Gemm& gemm, int64_t terms, SplitProduct& split) {
  const int64_t parts = split.product.batch_count;
  Gemm rest = split.product;
  rest.k = gemm.k - parts * terms;
  if (rest.k == 0) return;
  rest.lda = gemm.lda;
  rest.ldb = gemm.ldb;
  rest.batch_count = 1;
  rest.beta = ScalarClass::kOne;
  split.rest_a = parts * split.product.stride_a;
  split.rest_b = parts * split.product.stride_b;
  for (const int64_t offset : {split.rest_a, split.rest_b}) {
    rest.alignment_bytes = AlignmentBehind(rest.alignment_bytes, offset * BytesOf(gemm.type));
  }
  split.rest = Normalized(rest);
}

}  // namespace

Result<std::vector<int64_t>> PartCounts(const Gemm& gemm) {
  if (gemm.batch_count > 1) {
    return Unsupported(
        fmt::format("A batch of {} products is not split along k: they run beside one another.",
                    gemm.batch_count));
  }
  ATTUNE_RETURN_IF_ERROR(CheckTypes(gemm));
  std::vector<int64_t> counts;
  for (const int64_t parts : kCounts) {
    if (IsWorthwhile(gemm, parts)) counts.push_back(parts);
  }
  if (counts.empty()) {
    return Unsupported(fmt::format(
        "k = {} is too short, or C of {} x {} too large, for parts of at least {} terms and at "
        "most {} tiles of {} x {}.",
        gemm.k, gemm.m, gemm.n, kLeastTerms, kMostTiles, kTile, kTile));
  }
  std::stable_sort(counts.begin(), counts.end(), [&](int64_t a, int64_t b) {
    return DistanceFromWave(TilesOf(gemm) * a) < DistanceFromWave(TilesOf(gemm) * b);
  });
  return counts;
}

SplitProduct SplitAlongK(const Gemm& gemm, int64_t parts) {
  const int64_t terms = TermsOf(gemm, parts);
  const DataType sum_type = SumTypeOf(gemm.type);
  SplitProduct split;
  Gemm& product = split.product;
  product = gemm;
  product.k = terms;
  product.batch_count = parts;
  product.stride_a = gemm.trans_a == Transpose::kYes ? terms : terms * gemm.lda;
  product.stride_b = gemm.trans_b == Transpose::kYes ? terms * gemm.ldb : terms;
  product.c_type = sum_type;
  product.ldc = RoundUpToWords(gemm.m, sum_type);
  product.stride_c = product.ldc * gemm.n;
  product.alpha = ScalarClass::kOne;
  product.beta = ScalarClass::kZero;
  product.bias = Bias::kNone;
  product.activation = Activation::kNone;
  split.sums_bytes = static_cast<size_t>(parts * product.stride_c * BytesOf(sum_type));
  split.sums = SumsOf(gemm, product);
  product = Normalized(product);
  AddRest(gemm, terms, split);
  return split;
}

}  // namespace attune::cuda
