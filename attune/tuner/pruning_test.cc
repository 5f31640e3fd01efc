// Pruning by a model: by itself, and in whole tunings on a fake clock.
#include "attune/tuner/pruning.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/candidate_models.h"
#include "attune/index/fitting.h"
#include "attune/index/timed_products.h"
#include "attune/measure/fake_clock.h"
#include "attune/model/model_file.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/candidate_times.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string NameOf(int64_t p) { return fmt::format("test.scripted@1{{p={}}}", p); }
Candidate At(int64_t p) { return *ParseCandidate(NameOf(p)); }
const Problem kProblem = Normalized(PackedGemm(64, 64, 64));

// A model of candidates with exactly the given ms for each unit of work.
CandidateModel ModelOf(const std::vector<std::pair<std::string, double>>& named) {
  const auto data = SamplesOf(TimedProducts(24, named), "gemm");
  const auto model = FitUsual(data->features, data->samples);
  EXPECT_TRUE(model.ok());
  const ModelOrigin origin = {"a", "b"};
  return *CandidateModel::Read(*ModelText(*model, origin, {}), origin, "gemm");
}

// The same of p = 0, 1, ...
CandidateModel ModelOf(const std::vector<double>& speeds) {
  std::vector<std::pair<std::string, double>> named;
  for (size_t p = 0; p < speeds.size(); ++p) {
    named.emplace_back(NameOf(static_cast<int64_t>(p)), speeds[p]);
  }
  return ModelOf(named);
}

bool MayAll(const Candidate&) { return true; }

TEST(Pruning, LeavesOutWhoseRangeBeginsAboveThatOfTheBest) {
  const CandidateModel model = ModelOf(std::vector<double>{1, 1.5, 3});
  const Pruning by_one(model, {1, 0}, kProblem, MayAll);
  const Pruning by_two(model, {2, 0}, kProblem, MayAll);

  EXPECT_FALSE(by_one.WhyNot(At(0)).has_value());
  EXPECT_TRUE(by_one.WhyNot(At(1)).has_value());
  EXPECT_FALSE(by_two.WhyNot(At(1)).has_value());
  EXPECT_THAT(*by_two.WhyNot(At(2)), AllOf(HasSubstr("a model fitted to 72 times expects"),
                                           HasSubstr("where the best takes")));
  EXPECT_NEAR(*by_two.ExpectedNs(At(2)) / *by_two.ExpectedNs(At(0)), 3, 0.1);
}

TEST(Pruning, WhoCannotBeTriedIsNoBoundAndWhoWasMeasuredIsOne) {
  const CandidateModel model = ModelOf(std::vector<double>{1, 10, 30});
  Pruning pruning(model, {2, 0}, kProblem, [](const Candidate& c) { return !(c == At(0)); });

  EXPECT_FALSE(pruning.WhyNot(At(1)).has_value());
  EXPECT_TRUE(pruning.WhyNot(At(2)).has_value());

  pruning.NoteMeasured(*pruning.ExpectedNs(At(1)) / 4);
  EXPECT_TRUE(pruning.WhyNot(At(1)).has_value());
}

TEST(Pruning, WhoIsNotKnownIsLeftOutOnlyWhereTheFirstFewAreRun) {
  const CandidateModel model = ModelOf(std::vector<double>{1, 2, 3});
  const Pruning by_time(model, {1, 0}, kProblem, MayAll);
  const Pruning by_place(model, {0, 2}, kProblem, MayAll);

  EXPECT_FALSE(by_time.WhyNot(At(5)).has_value());
  EXPECT_FALSE(by_time.ExpectedNs(At(5)).has_value());
  EXPECT_FALSE(by_place.WhyNot(At(1)).has_value());
  EXPECT_THAT(*by_place.WhyNot(At(2)), HasSubstr("among the 2 quickest"));
  EXPECT_TRUE(by_place.WhyNot(At(5)).has_value());
}

TEST(WasLeftOut, IsNoFailureThatAnybodyLearnsFrom) {
  const Trial trial = LeftOutTrial(At(0), "a model says so.");
  EXPECT_TRUE(WasLeftOut(trial));
  Trial refused = trial;
  refused.outcome = Failure{FailureKind::kNotApplicable, Phase::kBuild, "Too small for it."};
  EXPECT_FALSE(WasLeftOut(refused));

  CandidateTimes times;
  RecordedSet set;
  set.records = {{1, 0, trial}};
  AddTrials(set, times);
  EXPECT_TRUE(times.empty());
}

// A tuning of candidates p that take `times_us[p]`.
struct Tuned {
  TuneReport report;
  std::set<int64_t> ran;
  std::set<int64_t> left_out;
  Environment environment;
};

Tuned Tune(const CandidateModels* models, const PruneTerms& terms,
           const std::vector<double>& times_us) {
  FakeClock clock;
  ScriptedEvaluator evaluator([&](int64_t p) { return 1e3 * times_us[static_cast<size_t>(p)]; }, 1,
                              clock);
  MemoryStore store;
  SolverList solvers;
  solvers.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted",
                                                            static_cast<int64_t>(times_us.size())));
  TunerParts parts;
  parts.solvers = &solvers;
  parts.store = &store;
  parts.evaluator = &evaluator;
  parts.clock = &clock;
  parts.models = models;
  TuneOptions options;
  options.prune = terms;
  auto report = Tuner(parts, options).Tune(kProblem);
  EXPECT_TRUE(report.ok()) << report.status().message();
  Tuned tuned;
  if (report.ok()) tuned.report = *std::move(report);
  EXPECT_TRUE(store
                  .Visit({},
                         [&](const RecordedSet& set) {
                           tuned.environment = set.set.environment;
                           for (const Record& record : set.records) {
                             const int64_t p = IntegerAt(record.trial.candidate.config, "p");
                             (WasLeftOut(record.trial) ? tuned.left_out : tuned.ran).insert(p);
                           }
                           return Status::Ok();
                         })
                  .ok());
  return tuned;
}

std::vector<CandidateModel> OneModel(const std::vector<double>& speeds) {
  std::vector<CandidateModel> models;
  models.push_back(ModelOf(speeds));
  return models;
}

TEST(PrunedTuning, WhatIsFarSlowerIsNotRunAndIsRecordedWithTheReason) {
  const CandidateModels models(OneModel({4, 1, 1.5, 3, 5}));  // The last one is unknown.

  const Tuned tuned = Tune(&models, {kFarSlower, 0}, {40, 10, 15, 30, 50, 60});

  EXPECT_THAT(tuned.ran, UnorderedElementsAre(0, 1, 2, 5));  // The default as well.
  EXPECT_THAT(tuned.left_out, UnorderedElementsAre(3, 4));
  EXPECT_EQ(tuned.report.pruned, 2);
  EXPECT_TRUE(tuned.report.failures.empty());
  ASSERT_TRUE(tuned.report.choice.has_value());
  EXPECT_EQ(tuned.report.choice->candidate, At(1));
  EXPECT_EQ(tuned.environment.at("tuning.pruned_above"), "2");
}

TEST(PrunedTuning, OnlyTheFirstFewAreRunBesideTheDefault) {
  const CandidateModels models(OneModel({4, 1, 1.5, 3, 5}));

  const Tuned tuned = Tune(&models, {0, 2}, {40, 10, 15, 30, 50, 60});

  EXPECT_THAT(tuned.ran, UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(tuned.report.pruned, 3);
  EXPECT_EQ(tuned.environment.at("tuning.top"), "2");
}

TEST(PrunedTuning, TheSearchOfALargeSpaceBeginsWithTheFirstFew) {
  std::vector<double> times(400, 20);
  times[300] = 10;
  const std::vector<std::pair<std::string, double>> speeds = {{NameOf(0), 2}, {NameOf(300), 1}};
  std::vector<CandidateModel> one;
  one.push_back(ModelOf(speeds));
  const CandidateModels models(std::move(one));

  const Tuned tuned = Tune(&models, {0, 1}, times);

  EXPECT_THAT(tuned.ran, UnorderedElementsAre(0, 300));
  EXPECT_EQ(tuned.report.pruned, 398);
}

TEST(PrunedTuning, AModelThatIsWrongCostsTheWinnerAndNeverTheDefault) {
  const CandidateModels models(OneModel({9, 1, 9, 9, 9, 9}));

  const Tuned tuned = Tune(&models, {1, 0}, {10, 40, 5, 5, 5, 5});

  EXPECT_THAT(tuned.ran, UnorderedElementsAre(0, 1));
  ASSERT_TRUE(tuned.report.choice.has_value());
  EXPECT_EQ(tuned.report.choice->candidate, At(0));
}

TEST(PrunedTuning, WithoutAModelOfTheOperatorEverythingRunsAndANoteSaysSo) {
  const CandidateModels none;

  const Tuned tuned = Tune(&none, {1, 1}, {40, 10, 15, 30, 50, 60});

  EXPECT_EQ(tuned.ran.size(), 6u);
  EXPECT_EQ(tuned.report.pruned, 0);
  EXPECT_THAT(tuned.report.notes, ::testing::Contains(HasSubstr("no model of gemm")));
  EXPECT_FALSE(tuned.environment.contains("tuning.pruned_above"));
}

}  // namespace
}  // namespace attune
