/* Checks products of NaN, infinity and zero against IEEE 754. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void cblas_sgemm(int, int, int, int32_t, int32_t, int32_t, float, const float*, int32_t,
                 const float*, int32_t, float, float*, int32_t);
void dgemv_(const char*, const int32_t*, const int32_t*, const double*, const double*,
            const int32_t*, const double*, const int32_t*, const double*, double*, const int32_t*);

enum { kRows = 33, kColumns = 9, kDepth = 51, kNoTranspose = 111, kTranspose = 112 };

static void Fail(const char* what, int at, double value) {
  fprintf(stderr, "%s: element %d is %g\n", what, at, value);
  exit(3);
}

/* y = A x: the last column of A is special, the last element of x is 0. */
static void Vector(double special) {
  static double a[kRows * kDepth], x[kDepth], y[kRows];
  const double one = 1, zero = 0;
  const int32_t rows = kRows, depth = kDepth, step = 1;
  for (int i = 0; i < kRows * kDepth; ++i) a[i] = i < kRows * (kDepth - 1) ? 1 : special;
  for (int i = 0; i < kDepth; ++i) x[i] = i < kDepth - 1 ? 1 : 0;
  for (int i = 0; i < kRows; ++i) y[i] = NAN; /* beta is 0: must not be read. */
  dgemv_("N", &rows, &depth, &one, a, &rows, x, &step, &zero, y, &step);
  for (int i = 0; i < kRows; ++i) {
    if (!isnan(y[i])) Fail("a column times 0", i, y[i]);
  }
  for (int i = 0; i < kRows * kDepth; ++i) a[i] = 1;
  dgemv_("N", &rows, &depth, &one, a, &rows, x, &step, &zero, y, &step);
  for (int i = 0; i < kRows; ++i) {
    if (y[i] != kDepth - 1) Fail("y that held NaN", i, y[i]);
  }
}

/* C += A B: the last row of A is 0, and B has one special number. */
static void Matrix(float special, int trans_b) {
  static float a[kRows * kDepth], b[kDepth * kColumns], c[kRows * kColumns];
  for (int i = 0; i < kRows * kDepth; ++i) a[i] = i % kRows == kRows - 1 ? 0 : 1;
  for (int i = 0; i < kDepth * kColumns; ++i) b[i] = 1;
  const int last_row = kDepth - 1, column = 4, ldb = trans_b ? kColumns : kDepth;
  b[trans_b ? column + last_row * ldb : last_row + column * ldb] = special;
  for (int i = 0; i < kRows * kColumns; ++i) c[i] = 1;
  cblas_sgemm(102, kNoTranspose, trans_b ? kTranspose : kNoTranspose, kRows, kColumns, kDepth, 1, a,
              kRows, b, ldb, 1, c, kRows);
  for (int i = 0; i < kRows * kColumns; ++i) {
    const int zero_row = i % kRows == kRows - 1;
    const float right = zero_row ? 1 : 1 + kDepth;
    if (i / kRows != column ? c[i] != right : zero_row ? !isnan(c[i]) : isfinite(c[i])) {
      Fail("0 times a number of B", i, c[i]);
    }
  }
}

int main(void) {
  const double specials[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; ++i) {
    Vector(specials[i]);
    Matrix((float)specials[i], 0);
    Matrix((float)specials[i], 1);
  }
  return 0;
}
