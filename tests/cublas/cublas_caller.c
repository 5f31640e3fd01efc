/* A program with cuBLAS, for tests of the preload library: cublas_caller STEP...
 *
 *   sgemm, lt       6 * 7 by cublasSgemm_v2 or cublasLtMatmul, checked
 *   every           the same under every name that the preload library has
 *   half            a product under a name that it does not have
 *   bias            cublasLtMatmul with a bias of 8 and a relu, checked
 *   gelu            cublasLtMatmul with an epilogue that attune does not compute
 *   empty           without depth
 *   int8            of a type that attune does not have
 *   algorithm       with an algorithm by its number
 *   null            with no handle, which has to be refused
 *   stream=N        sets the stream of the handle that the later steps use
 *   math=N          its math mode
 *   pointers=N      its pointer mode
 *   threads         the first in each of 16 threads, all before any ended
 *   fork            continues in a child; the parent waits and takes over its exit status
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The header has it for C++ alone. */
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const void*, const void*, int, const void*, int, const void*, void*,
                           int);

static cublasHandle_t handle;
static cudaStream_t stream;

static void Check(cublasStatus_t status, double c, double wanted) {
  if (status == CUBLAS_STATUS_SUCCESS && c == wanted) return;
  fprintf(stderr, "status %d, and the product is %g\n", (int)status, c);
  exit(3);
}

static void Sgemm(void) {
  const float a = 6, b = 7, one = 1, zero = 0;
  float c = -1;
  const cublasStatus_t status =
      cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
  Check(status, c, 42);
}

static void Every(void) {
  const float a = 6, b = 7, one = 1, zero = 0;
  const double da = 6, db = 7, done = 1, dzero = 0;
  const cublasOperation_t n = CUBLAS_OP_N;
  cublasStatus_t status;
  float c;
  double d;
#define CHECKED(C, CALL) C = -1, status = CALL, Check(status, C, 42)
#define PLAIN(NAME, A, B, ONE, ZERO, C) \
  CHECKED(C, NAME(handle, n, n, 1, 1, 1, &ONE, &A, 1, &B, 1, &ZERO, &C, 1))
#define STRIDED(NAME, A, B, ONE, ZERO, C) \
  CHECKED(C, NAME(handle, n, n, 1, 1, 1, &ONE, &A, 1, 1, &B, 1, 1, &ZERO, &C, 1, 1, 1))
#define EX(NAME)                                                                                \
  CHECKED(c, NAME(handle, n, n, 1, 1, 1, &one, &a, CUDA_R_32F, 1, &b, CUDA_R_32F, 1, &zero, &c, \
                  CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT))
#define STRIDED_EX(NAME)                                                                          \
  CHECKED(c, NAME(handle, n, n, 1, 1, 1, &one, &a, CUDA_R_32F, 1, 1, &b, CUDA_R_32F, 1, 1, &zero, \
                  &c, CUDA_R_32F, 1, 1, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT))
  PLAIN(cublasSgemm_v2, a, b, one, zero, c);
  PLAIN(cublasSgemm_v2_64, a, b, one, zero, c);
  PLAIN(cublasDgemm_v2, da, db, done, dzero, d);
  PLAIN(cublasDgemm_v2_64, da, db, done, dzero, d);
  STRIDED(cublasSgemmStridedBatched, a, b, one, zero, c);
  STRIDED(cublasSgemmStridedBatched_64, a, b, one, zero, c);
  STRIDED(cublasDgemmStridedBatched, da, db, done, dzero, d);
  STRIDED(cublasDgemmStridedBatched_64, da, db, done, dzero, d);
  EX(cublasGemmEx);
  EX(cublasGemmEx_64);
  STRIDED_EX(cublasGemmStridedBatchedEx);
  STRIDED_EX(cublasGemmStridedBatchedEx_64);
}

static void Lt(uint32_t epilogue, double wanted) {
  const float a = 6, b = -7, bias = 8, minus_one = -1, zero = 0;
  const void* bias_pointer = &bias;
  float d = -1;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                 sizeof epilogue);
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_pointer,
                                 sizeof bias_pointer);
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
  const cublasStatus_t status =
      cublasLtMatmul((cublasLtHandle_t)handle, operation, &minus_one, &a, layout, &b, layout, &zero,
                     &d, layout, &d, layout, NULL, NULL, 0, stream);
  Check(status, d, wanted);
}

static void Half(void) {
  Check(
      cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, NULL, NULL, 1, NULL, 1, NULL, NULL, 1),
      0, 0);
}

/* A cublasGemmEx of which only the arrival is checked. */
static void Odd(int depth, cudaDataType type, cublasGemmAlgo_t algorithm) {
  const double a = 0, one = 1;
  double c = 0;
  const cublasStatus_t status =
      cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, depth, &one, &a, type, 1, &a, type, 1,
                   &one, &c, type, 1, CUBLAS_COMPUTE_32F, algorithm);
  Check(status, 0, 0);
}

static void Null(void) {
  const float one = 1;
  float c = -1;
  const cublasStatus_t status =
      cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1);
  if (status == CUBLAS_STATUS_NOT_INITIALIZED && c == -1) return;
  fprintf(stderr, "status %d without a handle\n", (int)status);
  exit(3);
}

static pthread_barrier_t barrier;

static void* ThreadMain(void* unused) {
  pthread_barrier_wait(&barrier);
  Sgemm();
  pthread_barrier_wait(&barrier);
  return unused;
}

static void Threads(void) {
  pthread_t threads[16];
  const int count = sizeof threads / sizeof threads[0];
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, ThreadMain, NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void Fork(void) {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

/* False if there is no such setting. */
static int Set(const char* step) {
  const char* sign = strchr(step, '=');
  if (sign == NULL) return 0;
  const long value = strtol(sign + 1, NULL, 10);
  if (strncmp(step, "stream=", 7) == 0) {
    stream = (cudaStream_t)(intptr_t)value;
    cublasSetStream_v2(handle, stream);
  } else if (strncmp(step, "math=", 5) == 0) {
    cublasSetMathMode(handle, (cublasMath_t)value);
  } else if (strncmp(step, "pointers=", 9) == 0) {
    cublasSetPointerMode_v2(handle, (cublasPointerMode_t)value);
  } else {
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  cublasCreate_v2(&handle);
  for (int i = 1; i < argc; ++i) {
    const char* step = argv[i];
    if (strcmp(step, "sgemm") == 0) {
      Sgemm();
    } else if (strcmp(step, "every") == 0) {
      Every();
      Lt(CUBLASLT_EPILOGUE_DEFAULT, 42);
    } else if (strcmp(step, "half") == 0) {
      Half();
    } else if (strcmp(step, "lt") == 0) {
      Lt(CUBLASLT_EPILOGUE_DEFAULT, 42);
    } else if (strcmp(step, "bias") == 0) {
      Lt(CUBLASLT_EPILOGUE_RELU_BIAS, 50);
    } else if (strcmp(step, "gelu") == 0) {
      Lt(CUBLASLT_EPILOGUE_GELU, 42);
    } else if (strcmp(step, "empty") == 0) {
      Odd(0, CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
    } else if (strcmp(step, "int8") == 0) {
      Odd(1, CUDA_R_8I, CUBLAS_GEMM_DEFAULT);
    } else if (strcmp(step, "algorithm") == 0) {
      Odd(1, CUDA_R_16BF, CUBLAS_GEMM_ALGO3);
    } else if (strcmp(step, "null") == 0) {
      Null();
    } else if (strcmp(step, "threads") == 0) {
      Threads();
    } else if (strcmp(step, "fork") == 0) {
      Fork();
    } else if (!Set(step)) {
      fprintf(stderr, "There is no step '%s'.\n", step);
      return 2;
    }
  }
  cublasDestroy_v2(handle);
  return 0;
}
