// A program that calls its BLAS under limits; steps.h lists the words of its command line.
#include "tests/e2e/limits/steps.h"

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);

// C is n x n of ones, and beta is 1: a product that starts twice is wrong.
static int square(int n) {
  const float one = 1;
  int wrong = 0;
  Memory memory = take_memory();
  float* a = bytes_of(&memory, sizeof(float) * (size_t)(n * n));
  float* b = bytes_of(&memory, sizeof(float) * (size_t)(n * n));
  float* c = bytes_of(&memory, sizeof(float) * (size_t)(n * n));
  for (int i = 0; i < n * n; ++i) {
    a[i] = (float)element(i % n, i / n, 1);
    b[i] = (float)element(i % n, i / n, 2);
    c[i] = 1;
  }
  sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      float sum = 1;
      for (int p = 0; p < n; ++p) sum += a[i + p * n] * b[p + j * n];
      wrong |= c[i + j * n] != sum;
    }
  }
  give_back(&memory);
  return wrong;
}

// A is transposed, and alpha and beta are neither 0 nor 1.
static int scaled(int m, int n, int k) {
  const double alpha = 2, beta = 0.5;
  int wrong = 0;
  Memory memory = take_memory();
  double* a = bytes_of(&memory, sizeof(double) * (size_t)(k * m));
  double* b = bytes_of(&memory, sizeof(double) * (size_t)(k * n));
  double* c = bytes_of(&memory, sizeof(double) * (size_t)(m * n));
  for (int i = 0; i < k * m; ++i) a[i] = element(i % k, i / k, 1);
  for (int i = 0; i < k * n; ++i) b[i] = element(i % k, i / k, 2);
  for (int i = 0; i < m * n; ++i) c[i] = 4;
  dgemm_("T", "N", &m, &n, &k, &alpha, a, &k, b, &k, &beta, c, &m);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += a[p + i * k] * b[p + j * k];
      wrong |= c[i + j * m] != 2 + 2 * sum;
    }
  }
  give_back(&memory);
  return wrong;
}

static int vector(int m, int n) {
  const float one = 1, zero = 0;
  const int step = 1;
  int wrong = 0;
  Memory memory = take_memory();
  float* a = bytes_of(&memory, sizeof(float) * (size_t)(m * n));
  float* x = bytes_of(&memory, sizeof(float) * (size_t)n);
  float* y = bytes_of(&memory, sizeof(float) * (size_t)m);
  for (int i = 0; i < m * n; ++i) a[i] = (float)element(i % m, i / m, 1);
  for (int i = 0; i < n; ++i) x[i] = (float)element(i, 0, 2);
  sgemv_("N", &m, &n, &one, a, &m, x, &step, &zero, y, &step);
  for (int i = 0; i < m; ++i) {
    float sum = 0;
    for (int j = 0; j < n; ++j) sum += a[i + j * m] * x[j];
    wrong |= y[i] != sum;
  }
  give_back(&memory);
  return wrong;
}

static int begin(void) { return 0; }

static int products(void) {
  return square(10) || square(200) || scaled(61, 47, 300) || vector(150, 220);
}

static int others(void) { return square(230) || scaled(31, 59, 200) || vector(90, 410); }

int main(int count, char** arguments) { return do_steps(count - 1, arguments + 1); }
