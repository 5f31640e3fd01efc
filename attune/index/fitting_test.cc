// The members of a model.
#include "attune/index/fitting.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/timed_products.h"
#include "attune/model/model_file.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The file of a model of that many problems, with that many candidates each.
std::string FileOf(int problems, int candidates) {
  std::vector<std::pair<std::string, double>> factors;
  for (int i = 0; i < candidates; ++i)
    factors.emplace_back(fmt::format("host.a@1{{i={}}}", i), 1 + i);
  const auto data = SamplesOf(TimedProducts(problems, factors), "gemm");
  EXPECT_TRUE(data.ok());
  const auto model = FitUsual(data->features, data->samples);
  EXPECT_TRUE(model.ok());
  return *ModelText(*model, {"a device", "a library"}, {});
}

TEST(FitUsual, OfFewTimesAllMembersAreFitted) {
  const std::string text = FileOf(20, 2);
  for (const char* member : {"roofline", "nearest", "nnls", "boosted_time", "boosted_residual"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("\nmember {}\n", member)));
  }
}

TEST(FitUsual, OfManyTimesOfFewProblemsNeighboursAreFittedBesideTrees) {
  const std::string text = FileOf(40, 130);
  EXPECT_THAT(text, HasSubstr("\nmember choice_2\n"));
  EXPECT_THAT(text, HasSubstr("\nmember nearest\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nmember nnls\n")));
}

TEST(FitUsual, OfManyProblemsTreesAloneAreFitted) {
  const std::string text = FileOf(260, 20);
  EXPECT_THAT(text, HasSubstr("\nmembers 1\nmember choice_2\n"));
}

}  // namespace
}  // namespace attune
