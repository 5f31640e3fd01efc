// A batch of products that share an operand, as one larger product of the same memory.
#pragma once

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {

// The product that the batch `gemm` is; nothing is copied.
//   columns   A is shared, and the columns of all op(B) and of all C are each one sequence: product
//             by product, or, where matrices interleave, first column by first column
//   rows      B is shared, and the rows of all op(A) and of all C are each one sequence: product by
//             product, in columns that all products of the batch share
// A bias stays where it is the same for all products. kUnsupported with the reason otherwise, and
// where the product exceeds a limit.
Result<Gemm> FoldedBatch(const Gemm& gemm);

}  // namespace attune::cuda
