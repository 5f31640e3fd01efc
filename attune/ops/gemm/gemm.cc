#include "attune/ops/gemm/gemm.h"

#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm_operator.h"
#include "attune/problem/limits.h"

namespace attune {
namespace {

struct Matrix {
  std::string_view name;
  int64_t rows;
  int64_t columns;
  int64_t leading;
  int64_t stride;
};

Matrix MatrixA(const Gemm& gemm) {
  return {"A", StoredRowsA(gemm), StoredColumnsA(gemm), gemm.lda, gemm.stride_a};
}
Matrix MatrixB(const Gemm& gemm) {
  return {"B", StoredRowsB(gemm), StoredColumnsB(gemm), gemm.ldb, gemm.stride_b};
}
Matrix MatrixC(const Gemm& gemm) { return {"C", gemm.m, gemm.n, gemm.ldc, gemm.stride_c}; }

// Elements from the first of a matrix to its last.
int64_t SpanOf(const Matrix& matrix) { return (matrix.columns - 1) * matrix.leading + matrix.rows; }

int64_t NormalLeading(int64_t leading, int64_t rows, int64_t columns) {
  return leading == 0 || columns == 1 ? rows : leading;
}

// Saturates, so that Validate can report the operand instead of the product wrapping around.
int64_t PackedStride(int64_t leading, int64_t columns) {
  int64_t stride = 0;
  return __builtin_mul_overflow(leading, columns, &stride) ? std::numeric_limits<int64_t>::max()
                                                           : stride;
}

Status CheckMatrix(const Matrix& matrix, int64_t batch_count) {
  if (matrix.leading < matrix.rows || matrix.leading > kMaxExtent) {
    return InvalidArgument(fmt::format(
        "Leading dimension {} of {} in the gemm is outside of [{} (its stored rows), {}].",
        matrix.leading, matrix.name, matrix.rows, kMaxExtent));
  }
  if (matrix.stride < 0 || matrix.stride > kMaxOperandElements) {
    return InvalidArgument(fmt::format("Batch stride {} of {} in the gemm is outside of [0, {}].",
                                       matrix.stride, matrix.name, kMaxOperandElements));
  }
  const __int128 span = static_cast<__int128>(batch_count - 1) * matrix.stride + SpanOf(matrix);
  if (span > kMaxOperandElements) {
    return InvalidArgument(
        fmt::format("{} of the gemm spans more than {} elements ({} matrices of {} x {} with "
                    "leading dimension {} and stride {}).",
                    matrix.name, kMaxOperandElements, batch_count, matrix.rows, matrix.columns,
                    matrix.leading, matrix.stride));
  }
  return Status::Ok();
}

// One matrix after the other, or interleaved column by column.
Status CheckNoOverlap(const Matrix& c, int64_t batch_count) {
  if (batch_count == 1 || c.stride >= SpanOf(c)) return Status::Ok();
  const __int128 row_block = static_cast<__int128>(batch_count - 1) * c.stride + c.rows;
  if (c.stride >= c.rows && (c.columns == 1 || c.leading >= row_block)) return Status::Ok();
  return InvalidArgument(
      fmt::format("The {} matrices of C in the gemm overlap: {} x {} with leading dimension {} and "
                  "stride {}.",
                  batch_count, c.rows, c.columns, c.leading, c.stride));
}

// Where the matrices of a batch are: strides in elements.
struct StoredMatrices {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int64_t stride = 0;  // 0: one for all.
};

TensorDesc MatrixDesc(const Gemm& gemm, DataType type, const StoredMatrices& stored) {
  return {type,
          {stored.stride == 0 ? 1 : gemm.batch_count, stored.rows, stored.columns},
          {stored.stride, 1, stored.leading}};
}

}  // namespace

int64_t StoredRowsA(const Gemm& gemm) { return gemm.trans_a == Transpose::kYes ? gemm.k : gemm.m; }
int64_t StoredColumnsA(const Gemm& gemm) {
  return gemm.trans_a == Transpose::kYes ? gemm.m : gemm.k;
}
int64_t StoredRowsB(const Gemm& gemm) { return gemm.trans_b == Transpose::kYes ? gemm.n : gemm.k; }
int64_t StoredColumnsB(const Gemm& gemm) {
  return gemm.trans_b == Transpose::kYes ? gemm.k : gemm.n;
}

std::vector<Operand> OperandsOf(const Gemm& gemm) {
  std::vector<Operand> operands;
  operands.push_back(
      {"a", OperandRole::kIn,
       MatrixDesc(gemm, gemm.type,
                  {StoredRowsA(gemm), StoredColumnsA(gemm), gemm.lda, gemm.stride_a})});
  operands.push_back(
      {"b", OperandRole::kIn,
       MatrixDesc(gemm, gemm.type,
                  {StoredRowsB(gemm), StoredColumnsB(gemm), gemm.ldb, gemm.stride_b})});
  if (gemm.bias != Bias::kNone) {
    const int64_t count = gemm.bias == Bias::kPerRow ? gemm.m : gemm.n;
    operands.push_back({"bias", OperandRole::kIn, {gemm.c_type, {count}, {1}}});
  }
  const OperandRole role =
      gemm.beta == ScalarClass::kZero ? OperandRole::kOut : OperandRole::kInOut;
  operands.push_back(
      {"c", role, MatrixDesc(gemm, gemm.c_type, {gemm.m, gemm.n, gemm.ldc, gemm.stride_c})});
  return operands;
}

bool MultipliesNothing(const Gemm& gemm) { return gemm.alpha == ScalarClass::kZero; }

double AlphaValue(const Gemm& gemm) {
  if (gemm.alpha == ScalarClass::kZero) return 0;
  if (gemm.alpha == ScalarClass::kOne) return 1;
  return IsInteger(gemm.c_type) ? 3 : 1.5;
}

double BetaValue(const Gemm& gemm) {
  if (gemm.beta == ScalarClass::kZero) return 0;
  if (gemm.beta == ScalarClass::kOne) return 1;
  return IsInteger(gemm.c_type) ? -2 : -0.75;
}

Gemm PackedGemm(int64_t m, int64_t n, int64_t k, DataType type) {
  Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.type = type;
  gemm.c_type = type;
  return Normalized(gemm);
}

Gemm Normalized(Gemm gemm) {
  gemm.lda = NormalLeading(gemm.lda, StoredRowsA(gemm), StoredColumnsA(gemm));
  gemm.ldb = NormalLeading(gemm.ldb, StoredRowsB(gemm), StoredColumnsB(gemm));
  gemm.ldc = NormalLeading(gemm.ldc, gemm.m, gemm.n);
  if (gemm.batch_count == 1) {
    gemm.stride_a = gemm.stride_b = gemm.stride_c = 0;
    return gemm;
  }
  if (gemm.stride_a == kPackedStride) gemm.stride_a = PackedStride(gemm.lda, StoredColumnsA(gemm));
  if (gemm.stride_b == kPackedStride) gemm.stride_b = PackedStride(gemm.ldb, StoredColumnsB(gemm));
  if (gemm.stride_c == 0 || gemm.stride_c == kPackedStride)
    gemm.stride_c = PackedStride(gemm.ldc, gemm.n);
  return gemm;
}

Status Validate(const Gemm& gemm) {
  ATTUNE_RETURN_IF_ERROR(CheckRange("gemm", "m", gemm.m, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("gemm", "n", gemm.n, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("gemm", "k", gemm.k, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("gemm", "batch", gemm.batch_count, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckMatrix(MatrixA(gemm), gemm.batch_count));
  ATTUNE_RETURN_IF_ERROR(CheckMatrix(MatrixB(gemm), gemm.batch_count));
  ATTUNE_RETURN_IF_ERROR(CheckMatrix(MatrixC(gemm), gemm.batch_count));
  ATTUNE_RETURN_IF_ERROR(CheckNoOverlap(MatrixC(gemm), gemm.batch_count));
  const DataType widest = SizeBytes(gemm.type) > SizeBytes(gemm.c_type) ? gemm.type : gemm.c_type;
  ATTUNE_RETURN_IF_ERROR(CheckAlignment("gemm", gemm.alignment_bytes, widest));
  return CheckMathMode("gemm", gemm.math, gemm.type);
}

}  // namespace attune
