/* A program that cancels threads right before they multiply. The first one starts the run time. A
 * BLAS has no cancellation point, so each thread computes and leaves nothing locked. */
#include <pthread.h>
#include <stdio.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);

static int right = 0;

static void* Multiply(void* size) {
  static float a[100 * 100], b[100 * 100], c[100 * 100];
  const int n = *(int*)size;
  for (int i = 0; i < n * n; ++i) a[i] = b[i] = 1;
  pthread_cancel(pthread_self());
  cblas_sgemm(102, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
  right += c[0] == (float)n && c[n * n - 1] == (float)n;
  pthread_testcancel();
  return NULL;
}

int main(void) {
  int cancelled = 0;
  for (int n = 40; n <= 100; n += 20) {
    pthread_t thread;
    void* result = NULL;
    if (pthread_create(&thread, NULL, Multiply, &n) != 0) return 1;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("%d right, %d cancelled\n", right, cancelled);
  if (right == 4 && cancelled == 4) puts("all products are right");
  return 0;
}
