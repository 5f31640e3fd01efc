/* A program with a BLAS. The tests build it with other allocators and with sanitizers. */
#include "products.h"

void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);

static int MultiplyFloat(int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(102, 111, 111, m, n, k, 1, a, m, b, k, 0, c, m);
  return 0;
}

static int MultiplyDouble(int m, int n, int k, const double* a, const double* b, double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
  return 0;
}

int main(void) { return CheckInAllWays(); }
