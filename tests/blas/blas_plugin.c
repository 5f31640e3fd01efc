/* Like an extension module in Python: an object opened RTLD_LOCAL. Only this object depends on
 * the BLAS. */
#include <stddef.h>
#include <stdint.h>

void cblas_sgemm(int, int, int, int32_t, int32_t, int32_t, float, const float*, int32_t,
                 const float*, int32_t, float, float*, int32_t);

float plugin_product(float a, float b) {
  float c = 0;
  cblas_sgemm(102, 111, 111, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
  return c;
}
