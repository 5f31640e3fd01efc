#include "attune/session/solver_table.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

SolverEntry Packed(int version, const char* build_id) {
  SolverEntry entry;
  entry.solver = {"host.packed-gemm", version};
  entry.operator_name = "gemm";
  entry.code = {{"library.packed.build_id", build_id}};
  return entry;
}

TEST(SolverTableTest, NothingIsStaleWhereNothingChanged) {
  SolverEntry again = Packed(3, "a");
  again.id = 77;
  EXPECT_EQ(ReasonStale(Packed(3, "a"), &again), "");
  EXPECT_TRUE(Packed(3, "a").SameAs(again));
}

TEST(SolverTableTest, AnotherVersionIsTheReason) {
  const SolverEntry now = Packed(4, "a");
  EXPECT_EQ(ReasonStale(Packed(3, "a"), &now), "host.packed-gemm had version 3 and has 4 now.");
}

TEST(SolverTableTest, OtherCodeIsTheReason) {
  const SolverEntry now = Packed(3, "b");
  EXPECT_EQ(ReasonStale(Packed(3, "a"), &now),
            "library.packed.build_id of host.packed-gemm was a and is b now.");
  SolverEntry bare = Packed(3, "a");
  bare.code.clear();
  EXPECT_EQ(ReasonStale(Packed(3, "a"), &bare),
            "library.packed.build_id of host.packed-gemm was a and is missing now.");
  EXPECT_EQ(ReasonStale(bare, &now),
            "library.packed.build_id of host.packed-gemm was missing and is b now.");
}

TEST(SolverTableTest, CodeThatNobodyCouldTellDiffersFromNothing) {
  SolverEntry elsewhere = Packed(3, "a");
  elsewhere.code = UnknownCode();
  const SolverEntry here = Packed(3, "b");
  EXPECT_EQ(ReasonStale(elsewhere, &here), "");
  EXPECT_EQ(ReasonStale(here, &elsewhere), "");
  elsewhere.solver.version = 4;
  EXPECT_NE(ReasonStale(here, &elsewhere), "");
}

TEST(SolverTableTest, ASolverThatIsGoneIsTheReason) {
  EXPECT_EQ(ReasonStale(Packed(3, "a"), nullptr), "There is no solver host.packed-gemm any more.");
}

TEST(SolverTableTest, ATableThatWasNeverMadeSaysNothing) {
  SolverTable table;
  EXPECT_EQ(ReasonStale(table, {"host.packed-gemm", 3}, {}), "");
  table.generation = 1;
  EXPECT_NE(ReasonStale(table, {"host.packed-gemm", 3}, {}), "");
  table.entries = {Packed(3, "a")};
  EXPECT_EQ(ReasonStale(table, {"host.packed-gemm", 3}, Packed(3, "a").code), "");
  EXPECT_NE(ReasonStale(table, {"host.packed-gemm", 3}, Packed(3, "b").code), "");
}

TEST(SolverTableTest, CodeIsOfTheLibrariesThatTheNameHas) {
  const Environment environment = {{"library.openblas", "0.3"},
                                   {"library.openblas.core", "Zen"},
                                   {"library.packed.build_id", "1"},
                                   {"policy.omp_wait", "passive"}};
  EXPECT_EQ(CodeOf("host.openblas-gemm", environment),
            (Environment{{"library.openblas", "0.3"}, {"library.openblas.core", "Zen"}}));
  EXPECT_TRUE(CodeOf("host.reference-gemm", environment).empty());
}

TEST(SolverTableTest, EntriesAreFoundByName) {
  SolverTable table;
  table.entries = {Packed(3, "a")};
  ASSERT_NE(FindEntry(table, "host.packed-gemm"), nullptr);
  EXPECT_EQ(FindEntry(table, "host.packed"), nullptr);
}

}  // namespace
}  // namespace attune
