#include "backends/cuda/gemm/padded_layout.h"

#include <algorithm>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/copy_limit.h"

namespace attune::cuda {
namespace {

constexpr int kWordBytes = 16;
constexpr GemmOperand kOperands[] = {kA, kB, kC};

int BytesOf(DataType type) { return static_cast<int>(SizeBytes(type)); }

bool IsMisaligned(const Gemm& gemm, GemmOperand which) {
  const StoredMatrix matrix = StoredAs(gemm, which);
  const auto is_odd = [&](int64_t elements) {
    return elements * matrix.element_bytes % kWordBytes != 0;
  };
  if (gemm.alignment_bytes < kWordBytes) return true;
  if (matrix.columns > 1 && is_odd(matrix.leading)) return true;
  return matrix.matrices > 1 && is_odd(matrix.stride);
}

// Elements of the narrowest type in a word: a multiple of it for one operand is one for all.
int64_t Step(const Gemm& gemm) {
  return kWordBytes / std::min(BytesOf(gemm.type), BytesOf(gemm.c_type));
}

int64_t RoundUp(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

bool HasFullExtents(const Gemm& gemm) {
  const int64_t step = Step(gemm);
  return gemm.m % step == 0 && gemm.n % step == 0 && gemm.k % step == 0;
}

// Packs operand `which` of `gemm` with columns in whole words.
void Pack(Gemm& gemm, GemmOperand which) {
  const StoredMatrix matrix = StoredAs(gemm, which);
  const int64_t leading = RoundUp(matrix.rows, Step(gemm));
  int64_t& stride = which == kA ? gemm.stride_a : which == kB ? gemm.stride_b : gemm.stride_c;
  (which == kA ? gemm.lda : which == kB ? gemm.ldb : gemm.ldc) = leading;
  if (matrix.matrices > 1) stride = leading * matrix.columns;
}

}  // namespace

StoredMatrix StoredAs(const Gemm& gemm, GemmOperand which) {
  StoredMatrix matrix;
  switch (which) {
    case kA:
      matrix = {StoredRowsA(gemm), StoredColumnsA(gemm), gemm.lda, gemm.stride_a, 1,
                BytesOf(gemm.type)};
      break;
    case kB:
      matrix = {StoredRowsB(gemm), StoredColumnsB(gemm), gemm.ldb, gemm.stride_b, 1,
                BytesOf(gemm.type)};
      break;
    case kC:
      matrix = {gemm.m, gemm.n, gemm.ldc, gemm.stride_c, 1, BytesOf(gemm.c_type)};
      break;
  }
  if (gemm.batch_count > 1 && matrix.stride != 0) matrix.matrices = gemm.batch_count;
  return matrix;
}

size_t PaddedLayout::CopyBytes(GemmOperand which) const {
  if (!is_copied[which]) return 0;
  const StoredMatrix matrix = StoredAs(inner, which);
  return static_cast<size_t>(matrix.leading * matrix.columns * matrix.matrices *
                             matrix.element_bytes);
}

size_t PaddedLayout::CopiesBytes() const {
  size_t sum_bytes = 0;
  for (const GemmOperand which : kOperands) sum_bytes += ScratchBytes(CopyBytes(which));
  return sum_bytes;
}

std::vector<std::string> PaddingNames(const Gemm& gemm) {
  const bool inputs = IsMisaligned(gemm, kA) || IsMisaligned(gemm, kB);
  const bool output = IsMisaligned(gemm, kC);
  std::vector<std::string> names;
  if (!inputs && !output) return names;
  names.emplace_back("all");
  if (inputs && output) names.emplace_back("inputs");
  if (gemm.bias == Bias::kNone && !HasFullExtents(gemm)) names.emplace_back("filled");
  return names;
}

Result<PaddedLayout> LayOut(const Gemm& gemm, std::string_view padding) {
  PaddedLayout layout{gemm, {}};
  const bool is_filled = padding == "filled";
  if (is_filled) {
    const int64_t step = Step(gemm);
    layout.inner.m = RoundUp(gemm.m, step);
    layout.inner.n = RoundUp(gemm.n, step);
    layout.inner.k = RoundUp(gemm.k, step);
  }
  for (const GemmOperand which : kOperands) {
    const StoredMatrix before = StoredAs(gemm, which);
    const StoredMatrix after = StoredAs(layout.inner, which);
    const bool has_grown = before.rows != after.rows || before.columns != after.columns;
    const bool stays = which == kC && padding == "inputs";
    layout.is_copied[which] = !stays && (has_grown || IsMisaligned(gemm, which));
    if (layout.is_copied[which]) Pack(layout.inner, which);
  }
  const auto& copied = layout.is_copied;
  if (copied[kA] && copied[kB] && copied[kC]) layout.inner.alignment_bytes = 256;
  layout.inner = Normalized(layout.inner);
  ATTUNE_RETURN_IF_ERROR(Validate(layout.inner));
  return layout;
}

Result<std::vector<std::string>> PossiblePaddings(const Gemm& gemm, int64_t limit_bytes) {
  const std::vector<std::string> names = PaddingNames(gemm);
  if (names.empty()) {
    return Unsupported("Every column starts at a multiple of 16 bytes already.");
  }
  const auto copies_bytes_of = [&](const std::string& name) -> Result<size_t> {
    ATTUNE_ASSIGN_OR_RETURN(const PaddedLayout layout, LayOut(gemm, name));
    return layout.CopiesBytes();
  };
  return WaysWithinLimit(names, copies_bytes_of, limit_bytes,
                         {.what = "the operands with padding",
                          .instead = "cuda.cublaslt-gemm takes the operands as they are."});
}

}  // namespace attune::cuda
