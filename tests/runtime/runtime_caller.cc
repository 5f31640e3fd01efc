// A program with a run time of its own: multiplies once, waits until its background is idle, and
// prints counters as "name value" lines. Its environment says the rest.
//
//   runtime_caller never|record|deferred|inline SIZE
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ::setenv("ATTUNE_POLICY", argv[1], 1);
  const long size = std::strtol(argv[2], nullptr, 10);
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.per_problem_ms = 500;
  attune_runtime* runtime = nullptr;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return Fail("create");
  const std::vector<float> ones(static_cast<size_t>(size * size), 1);
  std::vector<float> product(ones.size());
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  gemm.alignment_bytes = 4;
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = ones.data();
  arguments.b = ones.data();
  arguments.c = product.data();
  if (attune_run_gemm(runtime, &gemm, &arguments) != ATTUNE_OK) return Fail("run");
  if (attune_wait_idle(runtime, 120'000) != ATTUNE_OK) return Fail("wait");
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  if (attune_get_counters(runtime, &counters) != ATTUNE_OK) return Fail("counters");
  std::printf("record %" PRIu64 "\ndefault %" PRIu64 "\ntunings %" PRIu64 "\nswaps %" PRIu64
              "\nbuilds_in_caller %" PRIu64 "\n",
              counters.by_provenance[ATTUNE_FROM_RECORD],
              counters.by_provenance[ATTUNE_FROM_DEFAULT], counters.tunings, counters.swaps,
              counters.builds_in_caller);
  attune_runtime_destroy(runtime);
  return 0;
}
