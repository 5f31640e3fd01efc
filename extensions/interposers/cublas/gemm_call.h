// One call of a cuBLAS product as a problem of attune, or the reason why it is none. Pure: what a
// handle says is an argument.
#pragma once

#include <cstdint>

#include <cublas_api.h>

#include "extensions/interposers/preload/outcome.h"
#include "extensions/interposers/preload/product.h"

namespace attune::cublas {

using interposer::Outcome;
using interposer::Product;

// What a handle says of the products that are computed with it.
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

// The arguments of a column-major product, whatever function they were given to.
struct GemmCall {
  cublasOperation_t trans_a, trans_b;
  int64_t m, n, k;
  const void* alpha;  // Of the type that the computation scales with, as beta.
  Operand a, b;
  const void* beta;
  Operand c;  // Written to.
  int64_t batch_count;
  cublasComputeType_t compute;
};

// kServed if attune may compute the call, and then `product` is the whole of it; else the reason.
Outcome Describe(const GemmCall& call, const HandleState& handle, Product& product);

// The queue of attune that is this stream: 0 is the legacy default stream for cuBLAS.
void* QueueOf(cudaStream_t stream);

// What to say of where the operands start: 16 if all do at multiples of that and not of 64, else 0,
// from which the run time sees for itself whether it is 64. cuBLAS takes its widest loads, of 16
// bytes, wherever it may, and a problem that allowed none would be tuned to less than that.
int32_t AlignmentOf(const attune_arguments& arguments);

}  // namespace attune::cublas
