// Candidates that share a child, as on a device that is costly to open, and what a device lists.

#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/tuner/child_evaluator.h"
#include "backends/fake/fake_backend.h"

namespace attune {
namespace {

class SharedChildrenTest : public testing::Test {
 protected:
  void Begin(const std::string& script) {
    ::setenv(kFakeScriptVariable, script.c_str(), 1);
    ChildOptions options;
    options.program = ATTUNE_FAKE_EVALUATOR;
    options.device = "fake";
    options.share_children = true;
    options.memory_limit_bytes = int64_t{512} << 20;
    options.run_deadline_ns = 1'500'000'000;
    evaluator_ = MakeChildEvaluator(options);
    ASSERT_TRUE(evaluator_->Begin(problem_, 1, {}, {}).ok());
  }

  // Kinds of failure of those that failed.
  std::map<std::string, FailureKind> FailuresOf(const std::vector<std::string>& texts) {
    std::vector<Candidate> candidates;
    for (const std::string& text : texts) candidates.push_back(*ParseCandidate(text));
    const auto results = evaluator_->Qualify(candidates, INT64_MAX);
    EXPECT_TRUE(results.ok()) << results.status().message();
    EXPECT_EQ(results->size(), candidates.size());
    std::map<std::string, FailureKind> failures;
    for (const Qualified& result : *results) {
      if (const Failure* failure = result.trial.failure()) {
        failures.emplace(Text(result.trial.candidate), failure->kind);
      }
    }
    return failures;
  }

  // Processes that this one has started and that have not ended.
  static std::set<pid_t> Children() {
    std::set<pid_t> children;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream list(task.path() / "children");
      for (pid_t pid = 0; list >> pid;) children.insert(pid);
    }
    return children;
  }

  const Problem problem_ = Normalized(PackedGemm(16, 16, 16));
  std::unique_ptr<Evaluator> evaluator_;
};

const std::vector<std::string> kFive = {
    "fake.library@1{threads=1}", "fake.tiled@1{threads=1,tile=8,unroll=1}",
    "fake.tiled@1{threads=2,tile=16,unroll=4}", "fake.tiled@1{threads=2,tile=8,unroll=2}",
    "fake.library@1{threads=2}"};

TEST_F(SharedChildrenTest, OneThatFailsTakesNobodyWithIt) {
  for (const auto& [fault, kind] :
       std::map<std::string, FailureKind>{{"crash", FailureKind::kCrashed},
                                          {"hang", FailureKind::kTimedOut},
                                          {"wrong_result", FailureKind::kWrongResult},
                                          {"write_past_end", FailureKind::kOutOfBounds},
                                          {"load_fails", FailureKind::kLoadFailed}}) {
    ASSERT_NO_FATAL_FAILURE(
        Begin(fmt::format("fake.tiled{{threads=2,tile=16,unroll=4}} fault={}", fault)));

    const auto failures = FailuresOf(kFive);

    EXPECT_EQ(failures, (std::map<std::string, FailureKind>{{kFive[2], kind}})) << fault;
  }
}

TEST_F(SharedChildrenTest, WhoFailsBehindOthersIsTriedAlone) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled fault=crash_behind_others"));

  EXPECT_TRUE(FailuresOf(kFive).empty());
}

TEST_F(SharedChildrenTest, OneChildListsAndQualifiesUntilOthersAreTimed) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=load_fails; device listed=3"));

  ASSERT_TRUE(evaluator_->List({"fake.listed", 1}).ok());
  const std::set<pid_t> first = Children();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(FailuresOf({kFive[0], kFive[1]}).empty());
  // No such config: refused, and nothing left behind.
  EXPECT_EQ(FailuresOf({"fake.unknown@1{}", kFive[3]}).size(), 1u);
  EXPECT_EQ(Children(), first);

  EXPECT_EQ(FailuresOf({kFive[2], kFive[4]}).size(), 1u);
  const std::set<pid_t> second = Children();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second, first);

  const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};
  const auto timer = evaluator_->StartTiming(timed);
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_FALSE(Children().contains(*second.begin()));
}

TEST_F(SharedChildrenTest, AListOfManyPagesArrivesWholeAndInOrder) {
  ASSERT_NO_FATAL_FAILURE(Begin("device listed=5000"));

  const auto configs = evaluator_->List({"fake.listed", 1});

  ASSERT_TRUE(configs.ok()) << configs.status().message();
  ASSERT_EQ(configs->size(), 5000u);
  for (int64_t i = 0; i < 5000; ++i) {
    const Config expected = {{"id", i % 16}, {"tile", i / 16}};
    ASSERT_EQ((*configs)[static_cast<size_t>(i)], expected);
  }
}

TEST_F(SharedChildrenTest, WhoCannotListSaysWhy) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));

  const auto configs = evaluator_->List({"fake.listed", 1});

  ASSERT_FALSE(configs.ok());
  EXPECT_EQ(configs.status().message(), "There is no solver fake.listed@1 here.");
}

}  // namespace
}  // namespace attune
