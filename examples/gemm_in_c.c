/* A matrix product in C: create a run time, call by shape, look at what happened. */
#include <attune/attune.h>
#include <stdio.h>
#include <stdlib.h>

enum { kM = 200, kN = 3, kK = 500 };

static int Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, attune_last_message());
  return 1;
}

int main(void) {
  static float a[kM * kK], b[kK * kN], c[kM * kN];
  for (int i = 0; i < kM * kK; ++i) a[i] = (float)(i % 7) - 3;
  for (int i = 0; i < kK * kN; ++i) b[i] = (float)(i % 5) - 2;

  /* No database and no tuning: the best that is known at once. */
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.database = "";
  options.policy = ATTUNE_NEVER;
  attune_runtime* runtime = NULL;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return Fail("No run time");

  const attune_gemm gemm = {.m = kM, .n = kN, .k = kK}; /* Column-major, packed, f32. */
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = a;
  arguments.b = b;
  arguments.c = c;
  arguments.alpha = 1;
  for (int call = 0; call < 3; ++call) {
    if (attune_run_gemm(runtime, &gemm, &arguments) != ATTUNE_OK) return Fail("No product");
  }

  float expected = 0;
  for (int k = 0; k < kK; ++k) expected += a[k * kM] * b[k];
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  if (attune_get_counters(runtime, &counters) != ATTUNE_OK) return Fail("No counters");
  printf("c[0] = %g, expected %g; %llu misses, %llu hits\n", c[0], expected,
         (unsigned long long)counters.misses, (unsigned long long)counters.hits);
  attune_runtime_destroy(runtime);
  return c[0] == expected ? 0 : 1;
}
