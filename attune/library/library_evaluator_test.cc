#include "attune/library/library_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/library/sample_tool_test.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

class LibraryEvaluatorTest : public ::testing::Test {
 protected:
  void Use(std::string_view script) {
    tool_ = std::make_unique<SampleTool>(script);
    evaluator_ = MakeLibraryEvaluator(tool_->library(), "", cache_);
    ASSERT_TRUE(evaluator_->Begin(SampleTool::Vadd(1000), 1, {}, {}).ok());
  }

  MemoryKernelCache cache_;
  std::unique_ptr<SampleTool> tool_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(LibraryEvaluatorTest, CandidatesQualifyOrFailEachForItself) {
  Use("[ $1 = 64 ] && exit 9; echo TIME:$1,WS:32");
  const Candidate candidates[] = {SampleTool::WithBlock(64), SampleTool::WithBlock(128)};

  const auto results = evaluator_->Qualify(candidates, {}, nullptr);

  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 2U);
  ASSERT_NE((*results)[0].trial.failure(), nullptr);
  EXPECT_EQ((*results)[0].trial.failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ((*results)[1].trial.failure(), nullptr);
  EXPECT_EQ((*results)[1].quick_ns, 128e6);
  EXPECT_EQ((*results)[1].trial.workspace_bytes, 32);
  EXPECT_EQ(evaluator_->TakeBusyTime().intervals.size(), 2U);
}

TEST_F(LibraryEvaluatorTest, ABlockIsOneRunHoweverManyLaunchesAreAskedFor) {
  Use("echo x >> runs; echo TIME:$1");
  const Candidate candidates[] = {SampleTool::WithBlock(64), SampleTool::WithBlock(128)};
  const auto timer = evaluator_->StartTiming(candidates);
  ASSERT_TRUE(timer.ok());

  const auto time = (*timer)->TimeBlock(1, {.launches = 1000});

  ASSERT_TRUE(time);
  EXPECT_EQ(*time, 128e6);
  EXPECT_EQ(std::filesystem::file_size(tool_->folder() / "runs"), 2U);
  EXPECT_THAT((*timer)->TimeBlock(0, {.cache = CacheState::kCold}).error().message,
              HasSubstr("cannot be cold"));
}

TEST_F(LibraryEvaluatorTest, AFailureWhileTimingIsOneOfMeasuring) {
  Use("[ -e runs ] && exit 1; echo TIME:1; echo x > runs");
  const Candidate candidates[] = {SampleTool::WithBlock(64)};
  ASSERT_TRUE(evaluator_->Qualify(candidates, {}, nullptr).ok());
  const auto timer = evaluator_->StartTiming(candidates);
  ASSERT_TRUE(timer.ok());

  const auto time = (*timer)->TimeBlock(0, {});

  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().phase, Phase::kMeasure);
}

TEST_F(LibraryEvaluatorTest, OperandsThatAToolDoesNotHaveAreRefused) {
  Use("echo TIME:1");
  EvaluationTerms rotating;
  rotating.rotation_bytes = 1 << 20;
  const Status begun = evaluator_->Begin(SampleTool::Vadd(1000), 1, rotating, {});

  EXPECT_EQ(begun.code(), StatusCode::kUnsupported);
}

// Asked for {}, it finds {block=N}, of which the time is N ns.
class SearchingSolver final : public Solver {
 public:
  SearchingSolver() {
    traits_.compiles = true;
    traits_.searches = true;
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    return ConfigSpace::FromConfigs({Config()});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config& config, const Target&) const override {
    return BuildRecipe{"all", Text(config), "c", "t"};
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    if (!recipe.options.empty()) return Unavailable("Only a search makes it.");
    return Artifact{"built"};
  }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("A program.");
  }

 private:
  const SolverId id_ = {"tool.searching", 1};
  SolverTraits traits_;
};

class SearchingLibrary final : public Library {
 public:
  SearchingLibrary() { solvers_.push_back(std::make_unique<SearchingSolver>()); }

  std::string_view backend_name() const override { return "tool"; }
  std::string_view name() const override { return "searching"; }
  const SolverList& solvers() const override { return solvers_; }
  LibraryReport Report() const override {
    LibraryReport report;
    report.build_id = build_id;
    return report;
  }
  Target target() const override { return {}; }
  std::vector<LibraryDevice> Devices() const override { return {{}}; }
  tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const override {
    EXPECT_EQ(run.artifact.bytes, "found");
    return LibraryTime{static_cast<double>(IntegerAt(run.candidate.config, "block")), 0};
  }
  tl::expected<std::optional<FoundCandidate>, Failure> Search(
      const LibraryRun& run) const override {
    if (!run.candidate.config.empty()) return std::nullopt;
    EXPECT_EQ(run.artifact.bytes, "built");
    ++searches;
    return FoundCandidate{{run.candidate.solver, {{"block", found}}}, {"found"}};
  }

  std::string build_id = "1";
  int64_t found = 64;
  mutable int searches = 0;

 private:
  SolverList solvers_;
};

class LibrarySearchTest : public ::testing::Test {
 protected:
  Qualified Qualify(const Candidate& candidate) {
    evaluator_ = MakeLibraryEvaluator(library_, "", cache_);
    EXPECT_TRUE(evaluator_->Begin(SampleTool::Vadd(1000), 1, {}, {}).ok());
    const auto results = evaluator_->Qualify({&candidate, 1}, {}, nullptr);
    EXPECT_TRUE(results.ok() && results->size() == 1);
    return results.ok() && results->size() == 1 ? results->front() : Qualified();
  }

  const Candidate asked_ = {{"tool.searching", 1}, {}};
  const Candidate found_ = {{"tool.searching", 1}, {{"block", int64_t{64}}}};
  MemoryKernelCache cache_;
  SearchingLibrary library_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(LibrarySearchTest, WhatASearchFoundTakesThePlaceOfWhatWasAsked) {
  const Qualified result = Qualify(asked_);

  EXPECT_EQ(result.trial.failure(), nullptr);
  EXPECT_EQ(result.trial.candidate, found_);
  EXPECT_EQ(AskedOf(result), asked_);
  EXPECT_EQ(result.quick_ns, 64);
  const auto timer = evaluator_->StartTiming({&found_, 1});
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_EQ((*timer)->TimeBlock(0, {}), 64);
}

TEST_F(LibrarySearchTest, TheNextOneFindsTheSameWithoutASearchUntilTheLibraryIsAnother) {
  Qualify(asked_);
  library_.found = 128;

  EXPECT_EQ(Qualify(asked_).trial.candidate, found_);
  EXPECT_EQ(library_.searches, 1);
  library_.build_id = "2";
  EXPECT_EQ(Qualify(asked_).quick_ns, 128);
  EXPECT_EQ(library_.searches, 2);
}

TEST_F(LibrarySearchTest, WhatWasFoundBeforeIsRunAsItIs) {
  Qualify(asked_);

  const Qualified result = Qualify(found_);

  EXPECT_EQ(result.trial.failure(), nullptr);
  EXPECT_FALSE(result.asked.has_value());
  EXPECT_EQ(library_.searches, 1);
}

}  // namespace
}  // namespace attune
