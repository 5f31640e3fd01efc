/* Like an extension module in Python: an object opened RTLD_LOCAL. Only this object depends on
 * cuBLAS. */
#include <cublas_v2.h>

float plugin_product(float a, float b) {
  const float one = 1, zero = 0;
  float c = -1;
  cublasHandle_t handle;
  if (cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) return -2;
  const cublasStatus_t status =
      cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
  cublasDestroy_v2(handle);
  return status == CUBLAS_STATUS_SUCCESS ? c : -3;
}
