#include "runtime/background_choice.h"

#include <future>

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr int64_t kNoWaitNs = 0;
constexpr int64_t kLongNs = 60'000'000'000;

kernel::OwnSizes Elements(int64_t n) { return {{"n", n}}; }

ServedConfig Nearest(int64_t block) {
  return {{{"BLOCK", block}}, ServedBy::kNearest, Elements(1), {}};
}

TEST(BackgroundChoiceTest, WhoWaitsLongEnoughGetsWhatWasFound) {
  BackgroundChoice choice;

  const auto served = choice.Ask(
      Elements(5), [](const std::stop_token&) { return Nearest(8); }, kLongNs);

  ASSERT_TRUE(served.has_value());
  EXPECT_EQ(served->by, ServedBy::kNearest);
}

TEST(BackgroundChoiceTest, WhoDoesNotWaitIsAnsweredLaterAndBehindTheOthers) {
  BackgroundChoice choice;
  std::promise<void> go_on;
  const auto slow = [&](const std::stop_token&) {
    go_on.get_future().wait();
    return Nearest(8);
  };

  EXPECT_FALSE(choice.Ask(Elements(5), slow, kNoWaitNs).has_value());
  EXPECT_FALSE(choice.Ask(Elements(5), slow, kLongNs).has_value());
  go_on.set_value();
  const auto next = choice.Ask(
      Elements(6), [](const std::stop_token&) { return Nearest(4); }, kLongNs);

  EXPECT_TRUE(next.has_value());
  EXPECT_TRUE(choice.Ask(Elements(5), slow, kNoWaitNs).has_value());
}

TEST(BackgroundChoiceTest, WhatNeverEndsByItselfIsStopped) {
  BackgroundChoice choice;
  std::promise<void> has_begun;
  const auto endless = [&](const std::stop_token& stop) {
    has_begun.set_value();
    std::promise<void> stopped;
    const std::stop_callback tell(stop, [&] { stopped.set_value(); });
    stopped.get_future().wait();
    return ServedConfig();
  };
  EXPECT_FALSE(choice.Ask(Elements(5), endless, kNoWaitNs).has_value());
  has_begun.get_future().wait();

  choice.Stop();

  EXPECT_TRUE(choice
                  .Ask(
                      Elements(5), [](const std::stop_token&) { return Nearest(8); }, kLongNs)
                  .has_value());
}

TEST(BackgroundChoiceTest, NoMoreSizesWaitThanAreKept) {
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  const auto slow = [&](const std::stop_token&) {
    gone_on.wait();
    return Nearest(8);
  };
  // Its threads end before what they wait for goes.
  BackgroundChoice choice;

  for (size_t i = 0; i < BackgroundChoice::kMostSizes; ++i) {
    EXPECT_FALSE(choice.Ask(Elements(static_cast<int64_t>(i)), slow, kNoWaitNs).has_value());
  }
  EXPECT_FALSE(choice.Ask(Elements(1000), slow, kLongNs).has_value());
  go_on.set_value();
}

TEST(BackgroundChoiceTest, WhatNobodyTakesIsInNobodysWay) {
  BackgroundChoice choice;
  const auto quick = [](const std::stop_token&) { return Nearest(8); };

  for (size_t i = 0; i < 2 * BackgroundChoice::kMostSizes; ++i) {
    // Behind it all before it are found.
    (void)choice.Ask(Elements(static_cast<int64_t>(2 * i)), quick, kNoWaitNs);
    EXPECT_TRUE(choice.Ask(Elements(static_cast<int64_t>(2 * i + 1)), quick, kLongNs).has_value());
  }
}

}  // namespace
}  // namespace attune
