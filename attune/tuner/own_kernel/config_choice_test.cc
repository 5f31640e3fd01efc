#include "attune/tuner/own_kernel/config_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;

kernel::OwnSizes Elements(int64_t n) { return {{"n", n}}; }
TunedSize Tuned(int64_t n, int64_t block) { return {Elements(n), {{"BLOCK", block}}, 1, 1}; }

TEST(ConfigChoiceTest, ConfigsAreTriedNearestFirstUntilOneServes) {
  std::vector<std::string> tried;

  const ServedConfig served =
      ChooseConfig({Tuned(1000, 1), Tuned(110, 2), Tuned(120, 2), Tuned(200, 3), Tuned(400, 4)},
                   Elements(100), [&](const Config& config, ServedBy by) {
                     tried.push_back(Text(config));
                     EXPECT_EQ(by, ServedBy::kNearest);
                     return tried.size() < 2 ? Unavailable("It crashed.") : Status::Ok();
                   });

  EXPECT_THAT(tried, ElementsAre("BLOCK=2", "BLOCK=3"));
  EXPECT_EQ(served.by, ServedBy::kNearest);
  EXPECT_EQ(served.tuned_for, Elements(200));
  EXPECT_THAT(served.passed_over, ElementsAre("BLOCK=2: It crashed."));
}

TEST(ConfigChoiceTest, OnlyTheNearestAreTriedAndThenItIsTheDefault) {
  std::vector<TunedSize> tuned;
  for (int64_t i = 1; i <= 10; ++i) tuned.push_back(Tuned(100 + i, i));
  size_t tried = 0;

  const ServedConfig served = ChooseConfig(tuned, Elements(100), [&](const Config&, ServedBy) {
    ++tried;
    return Unavailable("It is wrong.");
  });

  EXPECT_EQ(tried, kMostConfigsTried);
  EXPECT_EQ(served.by, ServedBy::kDefault);
  EXPECT_TRUE(served.config.empty());
  EXPECT_EQ(served.passed_over.size(), kMostConfigsTried);
}

}  // namespace
}  // namespace attune
