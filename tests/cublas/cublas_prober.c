/* A program that looks whether there is a cuBLAS: cublas_prober LIBRARY asks dlsym() for names of
 * it, calls what it finds, opens the library and calls again. Prints the status of each call. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>

typedef cublasStatus_t (*Sgemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const float*, const float*, int, const float*, int, const float*,
                                float*, int);
typedef __typeof__(&cublasLtMatmul) Matmul;

static int multiply(cublasHandle_t handle) {
  const float one = 1, zero = 0, a = 6, b = 7;
  float c = 0;
  Sgemm sgemm;
  *(void**)&sgemm = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
  if (sgemm == NULL) return -1;
  const int status =
      (int)sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
  return status == 0 && c != 42 ? -2 : status;
}

static int multiply_lt(void) {
  Matmul matmul;
  *(void**)&matmul = dlsym(RTLD_DEFAULT, "cublasLtMatmul");
  if (matmul == NULL) return -1;
  return (int)matmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                     NULL, 0, NULL);
}

int main(int argc, char** argv) {
  printf("%d\n%d\n%d\n", multiply(NULL), multiply(NULL), multiply_lt());
  if (argc < 2) return 0;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  cublasStatus_t (*create)(cublasHandle_t*);
  *(void**)&create = dlsym(library, "cublasCreate_v2");
  cublasHandle_t handle = NULL;
  if (create == NULL || create(&handle) != CUBLAS_STATUS_SUCCESS) return 3;
  printf("%d\n", multiply(handle));
  return 0;
}
