#include "extensions/interposers/cublas/gemm_call.h"

#include <algorithm>

#include <cuda.h>

namespace attune::cublas {
namespace {

// The mode is a number in the low bits. The flag above it forbids something that attune never does:
// adding partial sums in a type narrower than f32.
constexpr int kModeMask = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION - 1;

constexpr int32_t kWidestLoadBytes = 16;
constexpr int32_t kSeenBytes = 64;  // The alignment that the run time detects.

bool IsOperation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// Conjugating real numbers does nothing.
bool IsTransposed(cublasOperation_t operation) { return operation != CUBLAS_OP_N; }

// The type of A and B, if that of C goes with it.
bool FindType(cudaDataType type, cudaDataType c_type, int32_t& found) {
  if (type == CUDA_R_8I) {
    found = ATTUNE_I8;
    return c_type == CUDA_R_32I;
  }
  if (type != c_type) return false;
  switch (type) {
    case CUDA_R_32F:
      found = ATTUNE_F32;
      return true;
    case CUDA_R_64F:
      found = ATTUNE_F64;
      return true;
    case CUDA_R_16F:
      found = ATTUNE_F16;
      return true;
    case CUDA_R_16BF:
      found = ATTUNE_BF16;
      return true;
    default:
      return false;
  }
}

Outcome FindMathOfF32(cublasComputeType_t compute, int mode, int32_t& math) {
  if (mode != CUBLAS_DEFAULT_MATH && mode != CUBLAS_TF32_TENSOR_OP_MATH) return Outcome::kMath;
  switch (compute) {
    case CUBLAS_COMPUTE_32F:
      math = mode == CUBLAS_TF32_TENSOR_OP_MATH ? ATTUNE_TF32 : ATTUNE_STRICT;
      return Outcome::kServed;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      math = ATTUNE_TF32;
      return Outcome::kServed;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      math = ATTUNE_BF16_MATH;
      return Outcome::kServed;
    default:
      return Outcome::kMath;
  }
}

Outcome FindMath(int32_t type, cublasComputeType_t compute, cublasMath_t handle_math,
                 int32_t& math) {
  const int mode = static_cast<int>(handle_math) & kModeMask;
  if (type == ATTUNE_F32) return FindMathOfF32(compute, mode, math);
  // The other modes of a handle apply to f32 alone.
  math = ATTUNE_STRICT;
  if (mode == CUBLAS_PEDANTIC_MATH || mode == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH) {
    return Outcome::kMath;
  }
  const auto usual = type == ATTUNE_F64  ? CUBLAS_COMPUTE_64F
                     : type == ATTUNE_I8 ? CUBLAS_COMPUTE_32I
                                         : CUBLAS_COMPUTE_32F;
  return compute == usual ? Outcome::kServed : Outcome::kMath;
}

Outcome CheckSizes(const GemmCall& call) {
  if (!IsOperation(call.trans_a) || !IsOperation(call.trans_b)) return Outcome::kInvalid;
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch_count < 0) return Outcome::kInvalid;
  const int64_t rows_a = IsTransposed(call.trans_a) ? call.k : call.m;
  const int64_t rows_b = IsTransposed(call.trans_b) ? call.n : call.k;
  if (call.a.leading < std::max<int64_t>(rows_a, 1) ||
      call.b.leading < std::max<int64_t>(rows_b, 1) ||
      call.c.leading < std::max<int64_t>(call.m, 1)) {
    return Outcome::kInvalid;
  }
  const bool is_empty = call.m == 0 || call.n == 0 || call.k == 0 || call.batch_count == 0;
  return is_empty ? Outcome::kEmpty : Outcome::kServed;
}

// For attune a stride 0 of C means packed; for cuBLAS the matrices would overlap.
Outcome CheckStrides(const GemmCall& call) {
  if (call.batch_count == 1) return Outcome::kServed;
  const bool has_layout = call.a.stride >= 0 && call.b.stride >= 0 && call.c.stride > 0;
  return has_layout ? Outcome::kServed : Outcome::kLayout;
}

double ReadScalar(const void* scalar, int32_t type) {
  if (type == ATTUNE_F64) return *static_cast<const double*>(scalar);
  if (type == ATTUNE_I8) return *static_cast<const int32_t*>(scalar);
  return *static_cast<const float*>(scalar);
}

void Fill(const GemmCall& call, int32_t type, int32_t math, Product& product) {
  const bool is_batch = call.batch_count > 1;
  product.gemm = {.m = call.m,
                  .n = call.n,
                  .k = call.k,
                  .lda = call.a.leading,
                  .ldb = call.b.leading,
                  .ldc = call.c.leading,
                  .batch_count = call.batch_count,
                  .stride_a = is_batch ? call.a.stride : 0,
                  .stride_b = is_batch ? call.b.stride : 0,
                  .stride_c = is_batch ? call.c.stride : 0,
                  .trans_a = IsTransposed(call.trans_a),
                  .trans_b = IsTransposed(call.trans_b),
                  .type = type,
                  .bias = ATTUNE_BIAS_NONE,
                  .activation = ATTUNE_ACTIVATION_NONE,
                  .deterministic = 0,
                  .alignment_bytes = 0,
                  .math = math};
  product.arguments = {.struct_size = sizeof product.arguments,
                       .a = call.a.data,
                       .b = call.b.data,
                       .bias = nullptr,
                       .c = const_cast<void*>(call.c.data),
                       .alpha = ReadScalar(call.alpha, type),
                       .beta = ReadScalar(call.beta, type),
                       .workspace = nullptr,
                       .workspace_bytes = 0,
                       .queue = nullptr};
}

}  // namespace

void* QueueOf(cudaStream_t stream) {
  return stream == nullptr ? static_cast<void*>(CU_STREAM_LEGACY) : static_cast<void*>(stream);
}

Outcome Describe(const GemmCall& call, const HandleState& handle, Product& product) {
  int32_t type = ATTUNE_F32;
  int32_t math = ATTUNE_STRICT;
  if (call.a.type != call.b.type || !FindType(call.a.type, call.c.type, type)) {
    return Outcome::kTypes;
  }
  Outcome outcome = FindMath(type, call.compute, handle.math, math);
  if (outcome == Outcome::kServed) outcome = CheckSizes(call);
  if (outcome == Outcome::kServed) outcome = CheckStrides(call);
  if (outcome != Outcome::kServed) return outcome;
  if (handle.pointer_mode != CUBLAS_POINTER_MODE_HOST) return Outcome::kScalars;
  if (call.alpha == nullptr || call.beta == nullptr) return Outcome::kInvalid;
  Fill(call, type, math, product);
  product.arguments.queue = QueueOf(handle.stream);
  if (product.arguments.alpha == 0) return Outcome::kEmpty;
  return interposer::HasFiniteScalars(product.arguments) ? Outcome::kServed : Outcome::kNotFinite;
}

int32_t AlignmentOf(const attune_arguments& arguments) {
  const auto bits =
      reinterpret_cast<uintptr_t>(arguments.a) | reinterpret_cast<uintptr_t>(arguments.b) |
      reinterpret_cast<uintptr_t>(arguments.bias) | reinterpret_cast<uintptr_t>(arguments.c);
  return bits % kWidestLoadBytes == 0 && bits % kSeenBytes != 0 ? kWidestLoadBytes : 0;
}

}  // namespace attune::cublas
