/* A program that links libattune.so. It prints each problem at its first call, with the candidate
 * that served it. WITHOUT_ATTUNE computes the products here, and makes no run time. LEAVE_RUNTIME
 * leaves the run time to the exit. */
#include "operators.h"

#include "products.h"

static attune_runtime* runtime;

static int Run(attune_gemm gemm, const void* a, const void* b, void* c) {
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = a;
  arguments.b = b;
  arguments.c = c;
  arguments.alpha = 1;
  if (attune_run_gemm(runtime, &gemm, &arguments) == ATTUNE_OK) return 0;
  fprintf(stderr, "no product: %s\n", attune_last_message());
  return 1;
}

static int MultiplyFloat(int m, int n, int k, const float* a, const float* b, float* c) {
  if (runtime == NULL) return ComputeFloat(m, n, k, a, b, c);
  return Run((attune_gemm){.m = m, .n = n, .k = k, .type = ATTUNE_F32}, a, b, c);
}

static int MultiplyDouble(int m, int n, int k, const double* a, const double* b, double* c) {
  if (runtime == NULL) return ComputeDouble(m, n, k, a, b, c);
  return Run((attune_gemm){.m = m, .n = n, .k = k, .type = ATTUNE_F64}, a, b, c);
}

static void CheckOperators(void) {
  if (runtime == NULL) return;
  CheckConvolution(runtime, 3);
  CheckConvolution(runtime, 1);
  CheckSoftmax(runtime);
  CheckBatchNorm(runtime);
}

static void ShowMiss(void* context, attune_event event, const char* problem, const char* candidate,
                     const char* message) {
  (void)context;
  (void)message;
  if (event == ATTUNE_EVENT_MISS) printf("miss: %s -> %s\n", problem, candidate);
}

int main(void) {
  if (getenv("WITHOUT_ATTUNE") == NULL) {
    if (attune_runtime_create(NULL, &runtime) != ATTUNE_OK) {
      fprintf(stderr, "no run time: %s\n", attune_last_message());
      return 2;
    }
    attune_set_listener(runtime, ShowMiss, NULL);
  }
  check_others = CheckOperators;
  const int status = CheckInAllWays();
  if (getenv("LEAVE_RUNTIME") == NULL) attune_runtime_destroy(runtime);
  return status;
}
