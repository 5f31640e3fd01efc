// Serving a problem by the choice for a similar one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/dispatcher.h"
#include "attune/dispatch/test_solvers.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

class NeighboursTest : public ::testing::Test {
 protected:
  static Problem Aligned(int64_t k, int alignment_bytes) {
    Gemm gemm = PackedGemm(4, 4, k);
    gemm.alignment_bytes = alignment_bytes;
    return Normalized(gemm);
  }
  void Know(const Problem& problem, const Candidate& candidate, double distance) {
    machine_.choices->Add(problem, ChoiceOf({candidate}));
    machine_.choices->AddNeighbour(problem, distance);
  }
  // "" if nothing but the default serves.
  std::string NearestFor(const Problem& problem) {
    const Decision decision =
        Dispatcher(machine_.Parts(), {})
            .Decide(problem, *machine_.choices, kNoWorkspaceLimit, Breadth::kEnough)
            .value();
    const Option& first = decision.options.front();
    return first.origin == Origin::kNearest ? Text(first.candidate) : "";
  }

  TestMachine machine_;
};

TEST_F(NeighboursTest, OneOfBetterAlignedOperandsSaysNothing) {
  Know(Aligned(4, 64), machine_.quick->At(1), 0);
  Know(Aligned(8, 16), machine_.quick->At(1), 1);

  EXPECT_EQ(NearestFor(Aligned(4, 8)), "");
}

TEST_F(NeighboursTest, OneOfOperandsAlignedAsTheseOrWorseServes) {
  Know(Aligned(4, 64), machine_.quick->At(1), 0);
  Know(Aligned(8, 8), machine_.quick->At(2), 1);

  EXPECT_EQ(NearestFor(Aligned(4, 16)), "test.quick-gemm@1{variant=2}");
  EXPECT_EQ(NearestFor(Aligned(4, 8)), "test.quick-gemm@1{variant=2}");
  EXPECT_EQ(NearestFor(Aligned(8, 64)), "test.quick-gemm@1{variant=1}");
}

TEST_F(NeighboursTest, AConfigThatIsWrongForSomeProblemsDoesNotServe) {
  machine_.quick->first_variant_untried = 2;
  Know(Aligned(4, 64), machine_.quick->At(1), 0);
  EXPECT_EQ(NearestFor(Aligned(8, 64)), "");

  Know(Aligned(16, 64), machine_.quick->At(2), 1);
  EXPECT_EQ(NearestFor(Aligned(8, 64)), "test.quick-gemm@1{variant=2}");
}

}  // namespace
}  // namespace attune
