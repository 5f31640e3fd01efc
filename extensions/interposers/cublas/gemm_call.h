// One call of a cuBLAS product as a problem of attune, or the reason why it is none. Pure: the
// state of the handle is an argument.
#pragma once

#include <cstdint>

#include <cublas_api.h>

#include "extensions/interposers/preload/outcome.h"
#include "extensions/interposers/preload/product.h"

namespace attune::cublas {

using interposer::Outcome;
using interposer::Product;

// The state of a handle that applies to its products.
struct HandleState {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

// A matrix, or those of a batch, as stored.
struct Operand {
  const void* data;
  cudaDataType type;
  int64_t leading;
  int64_t stride;  // Elements from one matrix of the batch to the next.
};

// The arguments of a column-major product, from any of the functions.
struct GemmCall {
  cublasOperation_t trans_a, trans_b;
  int64_t m, n, k;
  const void* alpha;  // Type of the computation's scale, as beta.
  Operand a, b;
  const void* beta;
  Operand c;  // Written to.
  int64_t batch_count;
  cublasComputeType_t compute;
};

// kServed if attune can compute the call, and then `product` is complete; else the reason.
Outcome Describe(const GemmCall& call, const HandleState& handle, Product& product);

// The queue of attune for this stream: 0 is the legacy default stream for cuBLAS.
void* QueueOf(cudaStream_t stream);

// The alignment to report for the operands: 16 if all start at multiples of 16 but not all of 64,
// else 0, for which the run time itself detects 64. cuBLAS uses its widest loads, of 16 bytes,
// wherever it can; a problem without them would be tuned to less than that.
int32_t AlignmentOf(const attune_arguments& arguments);

}  // namespace attune::cublas
