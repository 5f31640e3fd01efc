// A program with a run time of its own: multiplies once, or makes a plan for a problem, waits until
// its background is idle, and prints counters as "name value" lines, and of a PROBLEM whether
// records decide it. Its environment says the rest.
//
//   runtime_caller never|record|deferred|inline SIZE [PROBLEM]
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "attune/attune.h"
#include "tests/runtime/product_of_ones.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "runtime_caller: %s: %s\n", what, attune_last_message());
  return 1;
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
  std::vector<float> product;
  const attune_code served =
      argc == 4 ? attune_plan_text(runtime, argv[3], ATTUNE_NO_LIMIT, &plan)
                : attune::MultiplyOnes(runtime, std::strtol(argv[2], nullptr, 10), product);
  if (served != ATTUNE_OK) return Fail("serve");
  if (attune_wait_idle(runtime, 120'000) != ATTUNE_OK) return Fail("wait");
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  if (attune_get_counters(runtime, &counters) != ATTUNE_OK) return Fail("counters");
  std::printf("record %" PRIu64 "\ndefault %" PRIu64 "\ntunings %" PRIu64 "\nswaps %" PRIu64
              "\nbuilds_in_caller %" PRIu64 "\nbuilds_in_background %" PRIu64 "\n",
              counters.by_provenance[ATTUNE_FROM_RECORD],
              counters.by_provenance[ATTUNE_FROM_DEFAULT], counters.tunings, counters.swaps,
              counters.builds_in_caller, counters.builds_in_background);
  if (argc == 4) {
    char* explanation = nullptr;
    if (attune_explain(runtime, argv[3], &explanation) != ATTUNE_OK) return Fail("explain");
    std::printf("is_tuned %d\n", std::strstr(explanation, "\"is_tuned\": true") != nullptr ? 1 : 0);
    attune_free(explanation);
  }
  attune_plan_release(plan);
  attune_runtime_destroy(runtime);
  return 0;
}
