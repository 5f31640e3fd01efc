/* A program that links libattune.so. */
#include <attune/attune.h>

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
  return Run((attune_gemm){.m = m, .n = n, .k = k, .type = ATTUNE_F32}, a, b, c);
}

static int MultiplyDouble(int m, int n, int k, const double* a, const double* b, double* c) {
  return Run((attune_gemm){.m = m, .n = n, .k = k, .type = ATTUNE_F64}, a, b, c);
}

int main(void) {
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.database = "";
  options.policy = ATTUNE_NEVER;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) {
    fprintf(stderr, "no run time: %s\n", attune_last_message());
    return 2;
  }
  const int status = CheckInAllWays();
  attune_runtime_destroy(runtime);
  return status;
}
