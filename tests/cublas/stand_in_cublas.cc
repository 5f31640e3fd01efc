// A cuBLAS for tests without a GPU: the functions that the preload library stands in front of or
// asks, computing products of 1x1 matrices in host memory. Says at exit how often it computed, if
// STAND_IN_SAYS is set. Built twice, because a process may hold two versions: a handle of one means
// nothing to the other.

#include <cublasLt.h>
#include <cublas_v2.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct cublasContext {
  int library = STAND_IN_ID;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace {

constexpr int kMaxAttributes = 64;

// A descriptor of any kind: each attribute in a word of its own.
struct Descriptor {
  int library = STAND_IN_ID;
  uint64_t values[kMaxAttributes] = {};
};

std::atomic<int> calls = 0;
std::atomic<int> lt_calls = 0;

bool IsOurs(cublasHandle_t handle) { return handle != nullptr && handle->library == STAND_IN_ID; }

template <class T>
cublasStatus_t Compute(cublasHandle_t handle, const void* alpha, const void* a, const void* b,
                       const void* beta, void* c) {
  if (!IsOurs(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  ++calls;
  // As cuBLAS does; null descriptors are not for attune, should it see them.
  cublasLtMatmul(nullptr, nullptr, alpha, a, nullptr, b, nullptr, beta, c, nullptr, c, nullptr,
                 nullptr, nullptr, 0, nullptr);
  const auto read = [](const void* value) { return *static_cast<const T*>(value); };
  auto& out = *static_cast<T*>(c);
  out = read(alpha) * read(a) * read(b) + (read(beta) == 0 ? 0 : read(beta) * out);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t ComputeAs(cudaDataType type, cublasHandle_t handle, const void* alpha, const void* a,
                         const void* b, const void* beta, void* c) {
  if (type == CUDA_R_32F) return Compute<float>(handle, alpha, a, b, beta, c);
  if (type == CUDA_R_64F) return Compute<double>(handle, alpha, a, b, beta, c);
  if (!IsOurs(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  ++calls;  // For other types only the arrival matters.
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque>
cublasStatus_t Get(Opaque* opaque, int attribute, void* value, size_t size, size_t* written) {
  const auto* descriptor = reinterpret_cast<const Descriptor*>(opaque);
  if (descriptor == nullptr || descriptor->library != STAND_IN_ID) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(value, &descriptor->values[attribute], size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque>
cublasStatus_t Set(Opaque* opaque, int attribute, const void* value, size_t size) {
  auto* descriptor = reinterpret_cast<Descriptor*>(opaque);
  std::memcpy(&descriptor->values[attribute], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

__attribute__((destructor)) void SayCalls() {
  if (std::getenv("STAND_IN_SAYS") == nullptr) return;
  std::fprintf(stderr, "stand-in %d: %d products, %d by descriptors\n", STAND_IN_ID, calls.load(),
               lt_calls.load());
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (!IsOurs(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

#define STAND_IN_GEMM(NAME, T, INT)                                                               \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT, INT, INT, \
                      const T* alpha, const T* a, INT, const T* b, INT, const T* beta, T* c,      \
                      INT) {                                                                      \
    return Compute<T>(handle, alpha, a, b, beta, c);                                              \
  }
#define STAND_IN_STRIDED(NAME, T, INT)                                                            \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT, INT, INT, \
                      const T* alpha, const T* a, INT, long long int, const T* b, INT,            \
                      long long int, const T* beta, T* c, INT, long long int, INT) {              \
    return Compute<T>(handle, alpha, a, b, beta, c);                                              \
  }
#define STAND_IN_GEMM_EX(NAME, INT)                                                               \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT, INT, INT, \
                      const void* alpha, const void* a, cudaDataType, INT, const void* b,         \
                      cudaDataType, INT, const void* beta, void* c, cudaDataType type, INT,       \
                      cublasComputeType_t, cublasGemmAlgo_t) {                                    \
    return ComputeAs(type, handle, alpha, a, b, beta, c);                                         \
  }
#define STAND_IN_STRIDED_EX(NAME, INT)                                                            \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT, INT, INT, \
                      const void* alpha, const void* a, cudaDataType, INT, long long int,         \
                      const void* b, cudaDataType, INT, long long int, const void* beta, void* c, \
                      cudaDataType type, INT, long long int, INT, cublasComputeType_t,            \
                      cublasGemmAlgo_t) {                                                         \
    return ComputeAs(type, handle, alpha, a, b, beta, c);                                         \
  }

STAND_IN_GEMM(cublasSgemm_v2, float, int)
STAND_IN_GEMM(cublasDgemm_v2, double, int)
STAND_IN_GEMM(cublasSgemm_v2_64, float, int64_t)
STAND_IN_GEMM(cublasDgemm_v2_64, double, int64_t)
STAND_IN_STRIDED(cublasSgemmStridedBatched, float, int)
STAND_IN_STRIDED(cublasDgemmStridedBatched, double, int)
STAND_IN_STRIDED(cublasSgemmStridedBatched_64, float, int64_t)
STAND_IN_STRIDED(cublasDgemmStridedBatched_64, double, int64_t)
STAND_IN_GEMM_EX(cublasGemmEx, int)
STAND_IN_GEMM_EX(cublasGemmEx_64, int64_t)
STAND_IN_STRIDED_EX(cublasGemmStridedBatchedEx, int)
STAND_IN_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)

// A product that the preload library does not know, computed with the Lt one.
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int,
                           int, const __half* alpha, const __half* a, int, const __half* b, int,
                           const __half* beta, __half* c, int) {
  cublasLtMatmul(nullptr, nullptr, alpha, a, nullptr, b, nullptr, beta, c, nullptr, c, nullptr,
                 nullptr, nullptr, 0, nullptr);
  ++calls;
  return IsOurs(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                        cublasComputeType_t compute, cudaDataType_t scale_type) {
  auto* made = new Descriptor();
  made->values[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = compute;
  made->values[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = scale_type;
  made->values[CUBLASLT_MATMUL_DESC_FILL_MODE] = CUBLAS_FILL_MODE_FULL;
  made->values[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_DEFAULT;
  made->values[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] = UINT64_MAX;
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  return Set(descriptor, attribute, value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              size_t size, size_t* written) {
  return Get(descriptor, attribute, value, size, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  auto* made = new Descriptor();
  made->values[CUBLASLT_MATRIX_LAYOUT_TYPE] = type;
  made->values[CUBLASLT_MATRIX_LAYOUT_ROWS] = rows;
  made->values[CUBLASLT_MATRIX_LAYOUT_COLS] = columns;
  made->values[CUBLASLT_MATRIX_LAYOUT_LD] = static_cast<uint64_t>(leading);
  made->values[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void* value, size_t size, size_t* written) {
  return Get(layout, attribute, value, size, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t, const void* b,
                              cublasLtMatrixLayout_t, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  if (operation == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  ++lt_calls;
  const auto read = [](const void* value) { return *static_cast<const float*>(value); };
  *static_cast<float*>(d) =
      read(alpha) * read(a) * read(b) + (read(beta) == 0 ? 0 : read(beta) * read(c));
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
