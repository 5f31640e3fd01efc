// A program with a run time of its own: multiplies once, or makes a plan for a problem, waits until
// its background is idle, and prints counters as "name value" lines. Its environment says the rest.
//
//   runtime_caller never|record|deferred|inline SIZE [PROBLEM]
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "attune/attune.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "runtime_caller: %s: %s\n", what, attune_last_message());
  return 1;
}

attune_code Multiply(attune_runtime* runtime, long size) {
  const std::vector<float> ones(static_cast<size_t>(size * size), 1);
  std::vector<float> product(ones.size());
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  gemm.alignment_bytes = 4;
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = ones.data();
  arguments.b = ones.data();
  arguments.c = product.data();
  return attune_run_gemm(runtime, &gemm, &arguments);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  ::setenv("ATTUNE_POLICY", argv[1], 1);
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.per_problem_ms = 500;
  attune_runtime* runtime = nullptr;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return Fail("create");
  attune_plan* plan = nullptr;
  const attune_code served = argc == 4 ? attune_plan_text(runtime, argv[3], ATTUNE_NO_LIMIT, &plan)
                                       : Multiply(runtime, std::strtol(argv[2], nullptr, 10));
  if (served != ATTUNE_OK) return Fail("serve");
  if (attune_wait_idle(runtime, 120'000) != ATTUNE_OK) return Fail("wait");
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  if (attune_get_counters(runtime, &counters) != ATTUNE_OK) return Fail("counters");
  std::printf("record %" PRIu64 "\ndefault %" PRIu64 "\ntunings %" PRIu64 "\nswaps %" PRIu64
              "\nbuilds_in_caller %" PRIu64 "\n",
              counters.by_provenance[ATTUNE_FROM_RECORD],
              counters.by_provenance[ATTUNE_FROM_DEFAULT], counters.tunings, counters.swaps,
              counters.builds_in_caller);
  attune_plan_release(plan);
  attune_runtime_destroy(runtime);
  return 0;
}
