#include "attune/tuner/front_source.h"

#include <algorithm>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

using Values = std::optional<std::vector<double>>;

const Objective kError = {"error", Direction::kMinimize, ""};

class FrontSourceTest : public ::testing::Test {
 protected:
  // A source over `size` configs, p from 0 on.
  FrontSource Over(int64_t size, std::vector<Objective> objectives, int64_t max_candidates = 0) {
    solver_ = std::make_unique<const SpaceOnlySolver>("test.front", size);
    auto source = FrontSource::Create(
        PackedGemm(4, 4, 4), Target(), {solver_.get()},
        {{.searcher = "local", .seed = 3, .max_candidates = max_candidates}, std::move(objectives)},
        &notes_);
    EXPECT_TRUE(source.ok()) << source.status().message();
    return *std::move(source);
  }

  std::unique_ptr<const Solver> solver_;
  std::vector<std::string> notes_;
};

int64_t P(const Candidate& candidate) { return IntegerAt(candidate.config, "p"); }

TEST_F(FrontSourceTest, ASmallSpaceIsTriedWholeAndNothingTwice) {
  FrontSource source = Over(20, {TimeObjective(), kError});
  std::multiset<int64_t> asked;

  for (auto batch = source.Ask(16); !batch.empty(); batch = source.Ask(16)) {
    EXPECT_LE(batch.size(), 16u);
    for (const Candidate& candidate : batch) {
      asked.insert(P(candidate));
      const double p = static_cast<double>(P(candidate));
      source.Tell(candidate, Values({1 + p, 20 - p}));
    }
  }

  EXPECT_EQ(asked.size(), 20u);
  EXPECT_EQ(std::set<int64_t>(asked.begin(), asked.end()).size(), 20u);
}

TEST_F(FrontSourceTest, TheDefaultComesFirst) {
  FrontSource source = Over(500, {TimeObjective(), kError});

  const auto first = source.Ask(16);

  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(P(first[0]), 0);
}

TEST_F(FrontSourceTest, BothEndsAndTheMiddleOfALargeFrontAreFound) {
  constexpr double kSize = 1000;
  FrontSource source = Over(static_cast<int64_t>(kSize), {TimeObjective(), kError});
  std::vector<std::vector<double>> values;

  // Every third config is on the front; those between are worse in both objectives.
  while (values.size() < 200) {
    const auto batch = source.Ask(8);
    if (batch.empty()) break;
    for (const Candidate& candidate : batch) {
      const double p = static_cast<double>(P(candidate));
      const double penalty = P(candidate) % 3 == 0 ? 0 : 100;
      values.push_back({100 + p + penalty, 100 + kSize - p + penalty});
      source.Tell(candidate, values.back());
    }
  }

  const auto near = [&](double time, double error) {
    return std::any_of(values.begin(), values.end(), [&](const auto& each) {
      return each[0] <= 1.1 * time && each[1] <= 1.1 * error;
    });
  };
  EXPECT_TRUE(near(100, 1100));
  EXPECT_TRUE(near(1100, 100));
  EXPECT_TRUE(near(600, 600));
}

TEST_F(FrontSourceTest, FailuresAreToldToEverybodyWhoAsked) {
  FrontSource source = Over(60, {TimeObjective(), kError});
  size_t asked = 0;

  for (auto batch = source.Ask(16); !batch.empty(); batch = source.Ask(16)) {
    asked += batch.size();
    for (const Candidate& candidate : batch) {
      source.Tell(candidate, P(candidate) % 2 == 1 ? Values() : Values({1, 1}));
    }
  }

  EXPECT_EQ(asked, 60u);
}

TEST_F(FrontSourceTest, TheLimitIsOneOfAllSearchesTogether) {
  for (const int64_t limit : {1, 2, 30}) {
    FrontSource source = Over(1000, {TimeObjective(), kError}, limit);
    std::set<int64_t> asked;

    for (auto batch = source.Ask(8); !batch.empty(); batch = source.Ask(8)) {
      for (const Candidate& candidate : batch) {
        asked.insert(P(candidate));
        const double p = static_cast<double>(P(candidate));
        source.Tell(candidate, Values({1 + p, 1000 - p}));
      }
    }

    EXPECT_EQ(static_cast<int64_t>(asked.size()), limit);
  }
}

TEST_F(FrontSourceTest, OneObjectiveIsOneSearch) {
  FrontSource source = Over(300, {{"rate", Direction::kMaximize, ""}});
  int64_t best = 0;
  int asked = 0;

  for (auto batch = source.Ask(8); !batch.empty() && asked < 150; batch = source.Ask(8)) {
    for (const Candidate& candidate : batch) {
      ++asked;
      const double p = static_cast<double>(P(candidate));
      source.Tell(candidate, std::vector<double>(1, 1000 - (p - 170) * (p - 170)));
      if (std::abs(P(candidate) - 170) < std::abs(best - 170)) best = P(candidate);
    }
  }

  EXPECT_NEAR(static_cast<double>(best), 170, 25);
}

}  // namespace
}  // namespace attune
