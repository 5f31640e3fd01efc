// What is to be solved: one operator with every property that can change which implementation is
// fastest or right. A value; the key of every record. docs/formats/problem.md has the text.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/problem/conv.h"
#include "attune/problem/gemm.h"
#include "attune/problem/other_op.h"
#include "attune/problem/tensor.h"
#include "attune/problem/text_error.h"

namespace attune {

using Problem = std::variant<Gemm, Conv, OtherOp>;

// The canonical text, one for each problem: `op@version{key=value,...}`, fixed key order, defaults
// left out. `gemm@1{m=512,n=512,k=512}`.
std::string Text(const Problem& problem);

// Reads a canonical text, keys in any order. The error names the column (1-based). The result is
// normalised and validated.
Result<Problem> ParseProblem(std::string_view text);
// The same with the column as a number; 1 for what no single key is to blame for.
Parsed<Problem> ReadProblem(std::string_view text);

// The hash of Text(problem): the unique key in stores.
Fingerprint KeyOf(const Problem& problem);

Status Validate(const Problem& problem);

// "gemm", "conv", or the name of the other operator.
std::string_view OperatorName(const Problem& problem);

// Operands in the order in which solvers take them: inputs first, the output last.
//   gemm: a, b, [bias], c (kInOut unless beta is zero)
//   conv forward: x, w, [bias], y;  backward data: dy, w, dx;  backward weights: x, dy, dw
// Matrices are (batch, rows, columns) as stored; a matrix that the whole batch shares has batch
// extent 1. The bias has one dimension. Empty for an OtherOp. REQUIRES: `problem` is valid.
std::vector<Operand> Operands(const Problem& problem);

// Multiplications plus additions of the direct algorithm: 2 m n k batch for a gemm, unless alpha is
// zero, which multiplies nothing. 0 for an OtherOp.
double Flops(const Problem& problem);

// Bytes that any implementation must move: every input once, every output once (twice for kInOut).
// With alpha zero, a gemm reads neither A nor B.
double CompulsoryBytes(const Problem& problem);

// Products summed into one output element, which bounds the rounding error: k for a gemm.
int64_t ReductionLength(const Problem& problem);

// Element type of the output, which the verification tolerance depends on.
DataType OutputType(const Problem& problem);

}  // namespace attune
