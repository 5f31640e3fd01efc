// Every config of every kernel file builds: label `long`.
#include <string>

#include <gtest/gtest.h>

#include "attune/kernel/covering_problems.h"
#include "backends/cuda/kernel_building_test.h"

namespace attune::cuda {
namespace {

// All configs for the plainest problem, the default for every other.
TEST_F(KernelBuildingTest, EveryConfigOfEveryFileBuilds) {
  for (const auto& solver : solvers_) {
    for (const char* arch : {"sm_80", "sm_90"}) {
      const Target target = TargetOf(arch);
      bool is_first = true;
      for (const Problem& problem : kernel::CoveringProblems(solver->traits().operator_name)) {
        if (!solver->IsApplicable(problem, target).ok()) continue;
        const auto space = solver->Space(problem, target);
        ASSERT_TRUE(space.ok()) << space.status().ToString();
        for (uint64_t i = 0; i < (is_first ? space->size() : 1); ++i) {
          EXPECT_EQ(MistakeOf(*solver, problem, space->At(i), arch), "");
        }
        is_first = false;
      }
    }
  }
}

}  // namespace
}  // namespace attune::cuda
