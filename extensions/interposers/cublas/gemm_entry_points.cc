// The products of cuBLAS that take a handle, with 32-bit and 64-bit sizes.

#include "extensions/interposers/cublas/gemm_call.h"
#include "extensions/interposers/cublas/interposer.h"

namespace attune::cublas {
namespace {

constexpr Companions kReaders = {
    {"cublasGetStream_v2", "cublasGetPointerMode_v2", "cublasGetMathMode"}};

template <class T>
constexpr cudaDataType kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;

template <class T>
constexpr cublasComputeType_t kComputeOf = CUBLAS_COMPUTE_32F;
template <>
constexpr cublasComputeType_t kComputeOf<double> = CUBLAS_COMPUTE_64F;

// The types of the real functions; the header declares others under some of their names.
template <class T, class Int>
using Gemm = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int m, Int n,
                            Int k, const T* alpha, const T* a, Int lda, const T* b, Int ldb,
                            const T* beta, T* c, Int ldc);
template <class T, class Int>
using StridedGemm = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int m,
                                   Int n, Int k, const T* alpha, const T* a, Int lda,
                                   long long int stride_a, const T* b, Int ldb,
                                   long long int stride_b, const T* beta, T* c, Int ldc,
                                   long long int stride_c, Int batch_count);
template <class Int>
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int m, Int n,
                              Int k, const void* alpha, const void* a, cudaDataType a_type, Int lda,
                              const void* b, cudaDataType b_type, Int ldb, const void* beta,
                              void* c, cudaDataType c_type, Int ldc, cublasComputeType_t,
                              cublasGemmAlgo_t);
template <class Int>
using StridedGemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int m,
                                     Int n, Int k, const void* alpha, const void* a,
                                     cudaDataType a_type, Int lda, long long int stride_a,
                                     const void* b, cudaDataType b_type, Int ldb,
                                     long long int stride_b, const void* beta, void* c,
                                     cudaDataType c_type, Int ldc, long long int stride_c,
                                     Int batch_count, cublasComputeType_t, cublasGemmAlgo_t);

// False for an invalid handle.
bool Read(const Binding& binding, cublasHandle_t handle, HandleState& state) {
  return binding.Companion<decltype(cublasGetStream_v2)>(0)(handle, &state.stream) ==
             CUBLAS_STATUS_SUCCESS &&
         binding.Companion<decltype(cublasGetPointerMode_v2)>(1)(handle, &state.pointer_mode) ==
             CUBLAS_STATUS_SUCCESS &&
         binding.Companion<decltype(cublasGetMathMode)>(2)(handle, &state.math) ==
             CUBLAS_STATUS_SUCCESS;
}

// attune cannot honour a request for an algorithm by number.
bool IsDefault(cublasGemmAlgo_t algorithm) {
  return algorithm == CUBLAS_GEMM_DEFAULT || algorithm == CUBLAS_GEMM_DEFAULT_TENSOR_OP;
}

bool TryToServe(const RealFunction& real, const Binding& binding, cublasHandle_t handle,
                const GemmCall& call, cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT) {
  if (!Wants(binding)) return false;
  Product product;
  HandleState state;
  Outcome outcome = Outcome::kFailed;
  if (binding.is_whole) {
    outcome = Read(binding, handle, state) ? Outcome::kServed : Outcome::kInvalid;
  }
  if (outcome == Outcome::kServed && !IsDefault(algorithm)) outcome = Outcome::kAlgorithm;
  if (outcome == Outcome::kServed) outcome = Describe(call, state, product);
  return Serve(real, outcome, product);
}

}  // namespace
}  // namespace attune::cublas

#define ATTUNE_CUBLAS_ENTRY \
  extern "C" __attribute__((visibility("default"))) cublasStatus_t CUBLASWINAPI

// The body of every entry point. `real` is followed by the arguments of TryToServe().
#define ATTUNE_CUBLAS_BIND(NAME)                                  \
  using namespace attune::cublas;                                 \
  static constinit RealFunction real(#NAME, kReaders);            \
  const Binding& binding = real.For(__builtin_return_address(0)); \
  if (binding.function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED
#define ATTUNE_CUBLAS_TRY(...)                                                      \
  if (TryToServe(real, binding, handle, __VA_ARGS__)) return CUBLAS_STATUS_SUCCESS; \
  const Passing passing

#define ATTUNE_CUBLAS_GEMM(NAME, T, INT)                                                        \
  ATTUNE_CUBLAS_ENTRY NAME(cublasHandle_t handle, cublasOperation_t trans_a,                    \
                           cublasOperation_t trans_b, INT m, INT n, INT k, const T* alpha,      \
                           const T* a, INT lda, const T* b, INT ldb, const T* beta, T* c,       \
                           INT ldc) {                                                           \
    ATTUNE_CUBLAS_BIND(NAME);                                                                   \
    ATTUNE_CUBLAS_TRY(GemmCall{trans_a,                                                         \
                               trans_b,                                                         \
                               m,                                                               \
                               n,                                                               \
                               k,                                                               \
                               alpha,                                                           \
                               {a, kTypeOf<T>, lda, 0},                                         \
                               {b, kTypeOf<T>, ldb, 0},                                         \
                               beta,                                                            \
                               {c, kTypeOf<T>, ldc, 0},                                         \
                               1,                                                               \
                               kComputeOf<T>});                                                 \
    return binding.As<Gemm<T, INT>>()(handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, \
                                      beta, c, ldc);                                            \
  }

#define ATTUNE_CUBLAS_STRIDED(NAME, T, INT)                                                      \
  ATTUNE_CUBLAS_ENTRY NAME(cublasHandle_t handle, cublasOperation_t trans_a,                     \
                           cublasOperation_t trans_b, INT m, INT n, INT k, const T* alpha,       \
                           const T* a, INT lda, long long int stride_a, const T* b, INT ldb,     \
                           long long int stride_b, const T* beta, T* c, INT ldc,                 \
                           long long int stride_c, INT batch_count) {                            \
    ATTUNE_CUBLAS_BIND(NAME);                                                                    \
    ATTUNE_CUBLAS_TRY(GemmCall{trans_a,                                                          \
                               trans_b,                                                          \
                               m,                                                                \
                               n,                                                                \
                               k,                                                                \
                               alpha,                                                            \
                               {a, kTypeOf<T>, lda, stride_a},                                   \
                               {b, kTypeOf<T>, ldb, stride_b},                                   \
                               beta,                                                             \
                               {c, kTypeOf<T>, ldc, stride_c},                                   \
                               batch_count,                                                      \
                               kComputeOf<T>});                                                  \
    return binding.As<StridedGemm<T, INT>>()(handle, trans_a, trans_b, m, n, k, alpha, a, lda,   \
                                             stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, \
                                             batch_count);                                       \
  }

#define ATTUNE_CUBLAS_GEMM_EX(NAME, INT)                                                          \
  ATTUNE_CUBLAS_ENTRY NAME(                                                                       \
      cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, INT m, INT n,  \
      INT k, const void* alpha, const void* a, cudaDataType a_type, INT lda, const void* b,       \
      cudaDataType b_type, INT ldb, const void* beta, void* c, cudaDataType c_type, INT ldc,      \
      cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {                                  \
    ATTUNE_CUBLAS_BIND(NAME);                                                                     \
    ATTUNE_CUBLAS_TRY(GemmCall{trans_a,                                                           \
                               trans_b,                                                           \
                               m,                                                                 \
                               n,                                                                 \
                               k,                                                                 \
                               alpha,                                                             \
                               {a, a_type, lda, 0},                                               \
                               {b, b_type, ldb, 0},                                               \
                               beta,                                                              \
                               {c, c_type, ldc, 0},                                               \
                               1,                                                                 \
                               compute},                                                          \
                      algorithm);                                                                 \
    return binding.As<GemmEx<INT>>()(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, \
                                     b_type, ldb, beta, c, c_type, ldc, compute, algorithm);      \
  }

#define ATTUNE_CUBLAS_STRIDED_EX(NAME, INT)                                                        \
  ATTUNE_CUBLAS_ENTRY NAME(                                                                        \
      cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, INT m, INT n,   \
      INT k, const void* alpha, const void* a, cudaDataType a_type, INT lda,                       \
      long long int stride_a, const void* b, cudaDataType b_type, INT ldb, long long int stride_b, \
      const void* beta, void* c, cudaDataType c_type, INT ldc, long long int stride_c,             \
      INT batch_count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {                  \
    ATTUNE_CUBLAS_BIND(NAME);                                                                      \
    ATTUNE_CUBLAS_TRY(GemmCall{trans_a,                                                            \
                               trans_b,                                                            \
                               m,                                                                  \
                               n,                                                                  \
                               k,                                                                  \
                               alpha,                                                              \
                               {a, a_type, lda, stride_a},                                         \
                               {b, b_type, ldb, stride_b},                                         \
                               beta,                                                               \
                               {c, c_type, ldc, stride_c},                                         \
                               batch_count,                                                        \
                               compute},                                                           \
                      algorithm);                                                                  \
    return binding.As<StridedGemmEx<INT>>()(                                                       \
        handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb,        \
        stride_b, beta, c, c_type, ldc, stride_c, batch_count, compute, algorithm);                \
  }

ATTUNE_CUBLAS_GEMM(cublasSgemm_v2, float, int)
ATTUNE_CUBLAS_GEMM(cublasDgemm_v2, double, int)
ATTUNE_CUBLAS_GEMM(cublasSgemm_v2_64, float, int64_t)
ATTUNE_CUBLAS_GEMM(cublasDgemm_v2_64, double, int64_t)
ATTUNE_CUBLAS_STRIDED(cublasSgemmStridedBatched, float, int)
ATTUNE_CUBLAS_STRIDED(cublasDgemmStridedBatched, double, int)
ATTUNE_CUBLAS_STRIDED(cublasSgemmStridedBatched_64, float, int64_t)
ATTUNE_CUBLAS_STRIDED(cublasDgemmStridedBatched_64, double, int64_t)
ATTUNE_CUBLAS_GEMM_EX(cublasGemmEx, int)
ATTUNE_CUBLAS_GEMM_EX(cublasGemmEx_64, int64_t)
ATTUNE_CUBLAS_STRIDED_EX(cublasGemmStridedBatchedEx, int)
ATTUNE_CUBLAS_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
