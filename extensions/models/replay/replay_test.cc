#include "extensions/models/replay/replay.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/gzip.h"

namespace attune {
namespace {

// 400 configs of 1 to 400 ms in random order; one in ten fails.
RecordedSpace Scattered() {
  std::string csv = "a,b,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n";
  for (int i = 0; i < 400; ++i) {
    const bool failed = i % 10 == 3;
    csv += fmt::format("{},{},{},{},20,1,3,1\n", i / 20, i % 20, failed ? "failed" : "ok",
                       failed ? "" : std::to_string(1 + (i * 171 + 200) % 400));
  }
  return *ReadRecordedSpace(csv);
}

SearcherForRun Named(const RecordedSpace& recorded, const std::string& name) {
  return [&recorded, name](const SearcherOptions& options) {
    return MakeSearcher(name, recorded.space, options);
  };
}

TEST(ReplayTest, EveryEvaluationIsChargedAndLoggedFailuresToo) {
  const RecordedSpace recorded = Scattered();
  const auto searcher = *MakeSearcher("exhaustive", recorded.space, {});

  const auto log = Replay(recorded, *searcher, 100);

  ASSERT_TRUE(log.ok());
  ASSERT_EQ(log->size(), 4u);
  EXPECT_EQ((*log)[3], (ReplayedTrial{3, 100, 143.0}));
  EXPECT_EQ(recorded.trials[3].time_ms, std::nullopt);
}

TEST(ReplayTest, ASpaceThatIsExhaustedEndsTheRun) {
  const RecordedSpace recorded = Scattered();
  const auto searcher = *MakeSearcher("random", recorded.space, {.seed = 3});

  const auto log = Replay(recorded, *searcher, 1e12);

  ASSERT_TRUE(log.ok());
  std::set<uint64_t> asked;
  for (const ReplayedTrial& trial : *log) asked.insert(trial.index);
  EXPECT_EQ(asked.size(), 400u);
  EXPECT_EQ(log->size(), 400u);
}

class Repeating final : public Searcher {
 public:
  std::vector<uint64_t> Ask(size_t) override { return {7}; }
  void Tell(uint64_t, const Answer&) override {}
  bool Done() const override { return false; }
};

TEST(ReplayTest, AConfigThatIsAskedForTwiceIsAnError) {
  const RecordedSpace recorded = Scattered();
  Repeating searcher;

  EXPECT_EQ(Replay(recorded, searcher, 1e6).status().message(),
            "The searcher asked for config 7 of 400 again, or out of range.");
}

TEST(ReplayTest, AnotherPlaceTellsOfTheConfigsThatAreHere) {
  const std::string columns =
      ",status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n";
  const RecordedSpace here =
      *ReadRecordedSpace("a,b" + columns + "1,1,ok,5,,,,\n1,2,ok,6,,,,\n2,2,ok,7,,,,\n");
  const RecordedSpace there =
      *ReadRecordedSpace("a,b" + columns + "2,2,ok,0.5,,,,\n9,9,ok,1,,,,\n1,1,crashed,,,,,\n");

  const TimesElsewhere times = TimesOf(there, here.space);

  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].index, 2u);
  EXPECT_EQ(times[0].time_ns, 0.5e6);
  EXPECT_EQ(times[1].index, 0u);
  EXPECT_EQ(times[1].time_ns, std::nullopt);
}

TEST(ReplayTest, EqualSeedsGiveEqualResults) {
  const RecordedSpace recorded = Scattered();

  const auto first = ReplayRepeatedly(recorded, Named(recorded, "random"), 5);
  const auto second = ReplayRepeatedly(recorded, Named(recorded, "random"), 5);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->logs, second->logs);
  EXPECT_EQ(first->score, second->score);
}

TEST(ReplayTest, RandomSearchScoresAboutNothing) {
  const RecordedSpace recorded = Scattered();

  const auto result = ReplayRepeatedly(recorded, Named(recorded, "random"), 200);

  ASSERT_TRUE(result.ok());
  // The first of the 20 evaluations of the budget goes to the default, which is slow here.
  EXPECT_NEAR(result->score, -0.2, 0.25);
  EXPECT_NEAR(result->share_reaching_target, 0.5, 0.25);
}

// Published metrics of a recorded space, if the recordings are in ATTUNE_DATA_DIR.
TEST(RecordedSpacesTest, BudgetsAreThoseOfThePublishedMethodologyAndRandomScoresAboutNothing) {
  const char* const root = std::getenv("ATTUNE_DATA_DIR");
  const auto folder = std::filesystem::path(root == nullptr ? "../shared/data" : root) / "spaces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist.";
  const struct {
    const char* file;
    uint64_t evaluations;
    double budget_s;
  } kPublished[] = {{"convolution_milo-A100", 1050, 2526},
                    {"convolution_milo-MI250X", 51, 83},
                    {"dedispersion_milo-A4000", 265, 1667}};
  for (const auto& published : kPublished) {
    const auto packed = ReadFile(folder / (std::string(published.file) + ".csv.gz"));
    ASSERT_TRUE(packed.ok());
    const auto recorded = ReadRecordedSpace(*Gunzip(*packed));
    ASSERT_TRUE(recorded.ok()) << recorded.status().message();

    const auto result = ReplayRepeatedly(*recorded, Named(*recorded, "random"), 100);

    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->basis.evaluations, published.evaluations) << published.file;
    EXPECT_NEAR(result->basis.budget_ms / 1e3, published.budget_s, 0.6) << published.file;
    EXPECT_NEAR(result->score, 0, 0.2) << published.file;
  }
}

}  // namespace
}  // namespace attune
