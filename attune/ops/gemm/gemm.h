// Matrix product: C = activation(alpha * op(A) * op(B) + beta * C + bias), batched with constant
// strides.
//
// Storage is column-major, as in BLAS: element (i, j) of a matrix with leading dimension ld is at
// i + j * ld. A row-major caller computes the transposed product: swap A with B and m with n.
#pragma once

#include <cstdint>
#include <string>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune {

enum class Transpose { kNo, kYes };

// Solvers specialise on these classes, so they are part of the key; the values are arguments of the
// call.
enum class ScalarClass { kZero, kOne, kOther };

enum class Bias {
  kNone,
  kPerRow,     // m values, one for each row of C.
  kPerColumn,  // n values, one for each column of C.
};

enum class Activation { kNone, kRelu, kGelu, kTanh, kSigmoid };  // kGelu is the erf form.

// A stride_a or stride_b that Normalized replaces by the packed one.
inline constexpr int64_t kPackedStride = -1;

struct Gemm {
  int64_t m = 1;  // Rows of C and of op(A).
  int64_t n = 1;  // Columns of C and of op(B).
  int64_t k = 1;  // Columns of op(A), rows of op(B).
  Transpose trans_a = Transpose::kNo;
  Transpose trans_b = Transpose::kNo;
  // Leading dimensions in elements; 0 in a Gemm that was not normalised means "packed".
  int64_t lda = 0;
  int64_t ldb = 0;
  int64_t ldc = 0;
  int64_t batch_count = 1;
  // Distance in elements from one matrix of the batch to the next. 0 for A or B means that all
  // share one matrix, for C that they are packed. Normalised to 0 when batch_count is 1.
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
  DataType type = DataType::kF32;    // Type of A and B.
  DataType c_type = DataType::kF32;  // Type of C and bias.
  MathMode math = MathMode::kStrict;
  ScalarClass alpha = ScalarClass::kOne;
  ScalarClass beta = ScalarClass::kZero;  // With kZero, C is not read and may hold NaN.
  Bias bias = Bias::kNone;
  Activation activation = Activation::kNone;
  int alignment_bytes = 64;    // Every operand starts at a multiple of this power of two, at least.
  bool deterministic = false;  // Two runs must agree bit for bit.

  friend bool operator==(const Gemm&, const Gemm&) = default;
};

// A packed product of one type, the common case.
Gemm PackedGemm(int64_t m, int64_t n, int64_t k, DataType type = DataType::kF32);

// Fills leading dimensions and a stride_c that are 0, and strides that are kPackedStride, with
// their packed values. Drops those that cannot matter (strides of a single matrix, the leading
// dimension of a single stored column), so that equal problems compare equal. Idempotent.
Gemm Normalized(Gemm gemm);

// Rows and columns of A and B as stored, before op(): A is m x k, or k x m if transposed.
int64_t StoredRowsA(const Gemm& gemm);
int64_t StoredColumnsA(const Gemm& gemm);
int64_t StoredRowsB(const Gemm& gemm);
int64_t StoredColumnsB(const Gemm& gemm);

class Operator;
const Operator& GemmOperator();
inline const Operator& OperatorOf(const Gemm*) { return GemmOperator(); }

// The values that stand for the product's scalar classes when it is measured and verified: 0, 1,
// and for kOther one that is neither, is exact in its types, and differs between alpha (1.5, of
// integers 3) and beta (-0.75, -2).
double AlphaValue(const Gemm& gemm);
double BetaValue(const Gemm& gemm);

// kInvalidArgument, with field, value and limit, unless a normalised `gemm` is valid: every extent
// and leading dimension is in [1, 2^31), every operand spans less than 2^40 elements, the matrices
// of C do not overlap, the alignment is a power of two from the size of the widest element to 4096,
// and only f32 has a math mode other than strict.
Status Validate(const Gemm& gemm);

}  // namespace attune
