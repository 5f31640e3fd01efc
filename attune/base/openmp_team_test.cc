#include "attune/base/openmp_team.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

int dynamic = 0;
int active_level = 0;
int thread_limit = 8;

constexpr OpenMpFunctions kOpenMp = {[] { return dynamic; }, [](int value) { dynamic = value; },
                                     [] { return active_level; }, [] { return 1; },
                                     [] { return thread_limit; }};

TEST(FullTeamTest, OpenMpDoesNotAdjustTheNumberMeanwhile) {
  dynamic = 1;
  {
    const FullTeam team(kOpenMp);
    EXPECT_EQ(dynamic, 0);
  }
  EXPECT_EQ(dynamic, 1);
}

TEST(FullTeamTest, WhatTheProgramHasSetStays) {
  dynamic = 0;
  { const FullTeam team(kOpenMp); }
  EXPECT_EQ(dynamic, 0);
}

TEST(FullTeamTest, WithoutOpenMpNothingIsAsked) {
  const FullTeam team(OpenMpFunctions{});
  EXPECT_TRUE(GivesFullTeam({}, 64));
}

TEST(FullTeamTest, WithinARegionOfTheProgramOneThreadIsGiven) {
  EXPECT_TRUE(GivesFullTeam(kOpenMp, 2));
  active_level = 1;
  EXPECT_FALSE(GivesFullTeam(kOpenMp, 2));
  EXPECT_TRUE(GivesFullTeam(kOpenMp, 1));
  active_level = 0;
}

TEST(FullTeamTest, BeyondTheLimitThereIsNone) {
  EXPECT_TRUE(GivesFullTeam(kOpenMp, 8));
  EXPECT_FALSE(GivesFullTeam(kOpenMp, 9));
}

}  // namespace
}  // namespace attune
