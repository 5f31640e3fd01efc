/* A program that runs OpenMP regions of its own before, between and after its products. */
#include <omp.h>

#include "products.h"

void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int,
                 double, double*, int);

/* Sums 1 to 1000 on all threads. */
static int RegionIsRight(void) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
  for (int i = 1; i <= 1000; ++i) sum += i;
  return sum == 500500;
}

static int MultiplyFloat(int m, int n, int k, const float* a, const float* b, float* c) {
  if (!RegionIsRight()) return 1;
  cblas_sgemm(102, 111, 111, m, n, k, 1, a, m, b, k, 0, c, m);
  return RegionIsRight() ? 0 : 1;
}

static int MultiplyDouble(int m, int n, int k, const double* a, const double* b, double* c) {
  if (!RegionIsRight()) return 1;
  cblas_dgemm(102, 111, 111, m, n, k, 1, a, m, b, k, 0, c, m);
  return RegionIsRight() ? 0 : 1;
}

/* A library that is called in a parallel region gets one thread. */
static int ProductsInARegionAreRight(void) {
  int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    enum { kM = 130, kN = 65, kK = 70 };
    static float a[kM * kK], b[kK * kN];
    float* c = calloc(kM * kN, sizeof(float));
#pragma omp single
    {
      for (int i = 0; i < kM * kK; ++i) a[i] = 1;
      for (int i = 0; i < kK * kN; ++i) b[i] = 1;
    }
    cblas_sgemm(102, 111, 111, kM, kN, kK, 1, a, kM, b, kK, 0, c, kM);
    for (int i = 0; i < kM * kN; ++i) wrong += c[i] != kK;
    free(c);
  }
  return wrong == 0;
}

int main(void) {
  const int status = CheckInAllWays();
  return status == 0 && !ProductsInARegionAreRight() ? 5 : status;
}
