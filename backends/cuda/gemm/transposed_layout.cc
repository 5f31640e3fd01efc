#include "backends/cuda/gemm/transposed_layout.h"

#include <algorithm>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/padded_layout.h"
#include "backends/cuda/layout/copy_limit.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

constexpr std::string_view kChoices[] = {"a", "b", "ab"};
constexpr GemmOperand kInputs[] = {kA, kB};

bool Copies(std::string_view copied, GemmOperand which) {
  return copied.find(which == kA ? 'a' : 'b') != std::string_view::npos;
}

bool HasStorageOrder(const StoredMatrix& matrix) { return matrix.rows > 1 && matrix.columns > 1; }

Transpose Other(Transpose transpose) {
  return transpose == Transpose::kYes ? Transpose::kNo : Transpose::kYes;
}

// How many inputs have the index of the sum innermost once `copied` are copied.
int InnermostSums(const Gemm& gemm, std::string_view copied) {
  const bool is_innermost_of_a = (gemm.trans_a == Transpose::kYes) != Copies(copied, kA);
  const bool is_innermost_of_b = (gemm.trans_b == Transpose::kNo) != Copies(copied, kB);
  return (is_innermost_of_a ? 1 : 0) + (is_innermost_of_b ? 1 : 0);
}

// True if every copied input has another order. Tensor cores multiply types of one byte only with
// the index of the sum innermost, so no other product is worth trying.
bool IsPossible(const Gemm& gemm, std::string_view copied) {
  for (const GemmOperand which : kInputs) {
    if (Copies(copied, which) && !HasStorageOrder(StoredAs(gemm, which))) return false;
  }
  return SizeBytes(gemm.type) > 1 || InnermostSums(gemm, copied) == 2;
}

// Stores operand `which` of `gemm` in the other order, with columns of whole words.
void StoreTransposed(Gemm& gemm, GemmOperand which) {
  const StoredMatrix before = StoredAs(gemm, which);
  Transpose& transpose = which == kA ? gemm.trans_a : gemm.trans_b;
  transpose = Other(transpose);
  const int64_t leading = RoundUpToWords(before.columns, gemm.type);
  (which == kA ? gemm.lda : gemm.ldb) = leading;
  if (before.matrices > 1) (which == kA ? gemm.stride_a : gemm.stride_b) = leading * before.rows;
}

// Rows of a Relayout are contiguous: they are the columns of `from`.
Relayout CopyOf(const StoredMatrix& from, const StoredMatrix& to) {
  Relayout copy = {};
  copy.from_matrix = from.stride;
  copy.from_row = from.leading;
  copy.to_matrix = to.stride;
  copy.to_line = to.leading;
  copy.matrices = copy.to_matrices = from.matrices;
  copy.rows = copy.to_rows = from.columns;
  copy.columns = copy.to_columns = from.rows;
  copy.is_transposed = 1;
  return copy;
}

}  // namespace

size_t TransposedLayout::CopiesBytes() const {
  return ScratchBytes(bytes[kA]) + ScratchBytes(bytes[kB]);
}

Result<TransposedLayout> TransposeInputs(const Gemm& gemm, std::string_view copied) {
  TransposedLayout layout;
  layout.inner = gemm;
  for (const GemmOperand which : kInputs) {
    if (!Copies(copied, which)) continue;
    StoreTransposed(layout.inner, which);
    const StoredMatrix from = StoredAs(gemm, which);
    const StoredMatrix to = StoredAs(layout.inner, which);
    layout.copies[which] = CopyOf(from, to);
    layout.bytes[which] =
        static_cast<size_t>(to.leading * to.columns * to.matrices * to.element_bytes);
  }
  ATTUNE_RETURN_IF_ERROR(Validate(layout.inner));
  return layout;
}

Result<std::vector<std::string>> TransposableInputs(const Gemm& gemm, int64_t limit_bytes) {
  std::vector<std::string> names;
  for (const std::string_view copied : kChoices) {
    if (IsPossible(gemm, copied)) names.emplace_back(copied);
  }
  if (names.empty()) {
    return Unsupported(
        "No input has another storage order that helps: it is one row or one column, or of one "
        "byte and stored as tensor cores take it.");
  }
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return InnermostSums(gemm, a) > InnermostSums(gemm, b);
  });
  const auto copies_bytes_of = [&](const std::string& name) -> Result<size_t> {
    ATTUNE_ASSIGN_OR_RETURN(const TransposedLayout layout, TransposeInputs(gemm, name));
    return layout.CopiesBytes();
  };
  return WaysWithinLimit(names, copies_bytes_of, limit_bytes,
                         {.what = "the inputs in the other storage order,",
                          .instead = "cuda.cublaslt-gemm takes the inputs as they are."});
}

}  // namespace attune::cuda
