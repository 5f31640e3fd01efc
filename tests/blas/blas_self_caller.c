/* A BLAS that a run time opens for itself. Its functions call each other by names that other
 * libraries also define. Ends the process if such a call reaches another library. */
#include <stdint.h>
#include <stdlib.h>

static __thread int own_calls;

void sgemm_(const char* trans_a, const char* trans_b, const int32_t* m, const int32_t* n,
            const int32_t* k, const float* alpha, const float* a, const int32_t* lda,
            const float* b, const int32_t* ldb, const float* beta, float* c, const int32_t* ldc) {
  ++own_calls;
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      float sum = 0;
      for (int l = 0; l < *k; ++l) {
        sum += a[*trans_a == 'N' ? i + l * *lda : l + i * *lda] *
               b[*trans_b == 'N' ? l + j * *ldb : j + l * *ldb];
      }
      float* out = &c[i + j * *ldc];
      *out = *alpha * sum + (*beta == 0 ? 0 : *beta * *out);
    }
  }
}

void cblas_sgemm(int order, int trans_a, int trans_b, int32_t m, int32_t n, int32_t k, float alpha,
                 const float* a, int32_t lda, const float* b, int32_t ldb, float beta, float* c,
                 int32_t ldc) {
  (void)order;
  own_calls = 0;
  sgemm_(trans_a == 111 ? "N" : "T", trans_b == 111 ? "N" : "T", &m, &n, &k, &alpha, a, &lda, b,
         &ldb, &beta, c, &ldc);
  if (own_calls != 1) abort();
}
