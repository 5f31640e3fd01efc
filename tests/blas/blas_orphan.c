/* A program that calls a BLAS product and has none but the preload library. */
#include <stdint.h>

void cblas_sgemm(int, int, int, int32_t, int32_t, int32_t, float, const float*, int32_t,
                 const float*, int32_t, float, float*, int32_t);

int main(void) {
  const float a = 6, b = 7;
  float c = 0;
  cblas_sgemm(102, 111, 111, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
  return c == 42 ? 0 : 1;
}
