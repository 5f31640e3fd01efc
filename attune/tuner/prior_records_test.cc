#include "attune/tuner/prior_records.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/own_kernel.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/recorded_trials.h"
#include "attune/tuner/space_only_solver.h"

namespace attune {
namespace {

const Target kHere{"opencl", "Device A", "a1", 4, {}};
const Target kThere{"opencl", "Device B", "b1", 8, {}};
const SolverId kScale{"opencl.scale", 1};

// The kernel `name` with the source of `revision`.
Problem Kernel(const std::string& name, int64_t n, const std::string& revision = "first") {
  OwnKernelProblem own;
  own.name = name;
  own.content = FingerprintOf(revision);
  own.sizes = {{"n", n}};
  own.buffers = {{"y", OperandRole::kOut, DataType::kF32, {n}, {}}};
  return ToProblem(own);
}

Trial Timed(const SolverId& solver, int64_t p, double time_ns, TrialRole role = TrialRole::kFinal) {
  return TimedTrial({solver, {{"p", p}}}, time_ns, role);
}

// "5:100 6:90" for each device context.
std::vector<std::string> Texts(const TimesOfPlaces& times) {
  std::vector<std::string> texts;
  for (const auto& [solver, places] : times) {
    for (const auto& place : places) {
      std::vector<std::string> tried;
      for (const ConfigTime& config : place) {
        tried.push_back(
            fmt::format("{}:{:.0f}", IntegerAt(config.config, "p"), config.time_ns.value_or(-1)));
      }
      texts.push_back(fmt::format("{}", fmt::join(tried, " ")));
    }
  }
  return texts;
}

std::vector<std::string> Found(RecordStore& store, const Problem& problem) {
  const std::vector<TaggedProblem> problems = {{problem}};
  const auto prior = PriorRecords::Read(store, "opencl", problems);
  EXPECT_TRUE(prior.ok());
  return prior.ok() ? Texts(prior->Find(problem)) : std::vector<std::string>();
}

using Strings = std::vector<std::string>;

TEST(PriorRecordsTest, OfAKernelEverySizeDeviceAndRevisionOfItsSourceTells) {
  MemoryStore store;
  RecordTrials(store, Kernel("scale", 4000), kThere, {Timed(kScale, 1, 10)});
  RecordTrials(store, Kernel("scale", 1000), kHere, {Timed(kScale, 2, 20)});
  RecordTrials(store, Kernel("scale", 1024, "edited"), kThere, {Timed(kScale, 3, 30)});
  RecordTrials(store, Kernel("other", 1024), kHere, {Timed(kScale, 4, 40)});

  // The nearest size first.
  EXPECT_EQ(Found(store, Kernel("scale", 1024)), (Strings{"3:30", "2:20", "1:10"}));
  EXPECT_EQ(Found(store, Kernel("third", 1024)), Strings{});
}

TEST(PriorRecordsTest, OfTheProblemItselfEverythingTellsAndOfOthersTheFinals) {
  MemoryStore store;
  const std::vector<Trial> trials = {Timed(kScale, 1, 10, TrialRole::kScreen), Timed(kScale, 2, 5)};
  RecordTrials(store, Kernel("scale", 1000), kThere, trials);
  RecordTrials(store, Kernel("scale", 2000), kThere, trials);

  EXPECT_EQ(Found(store, Kernel("scale", 1000)), (Strings{"1:10 2:5", "2:5"}));
}

TEST(PriorRecordsTest, OfAProductTheFamilyTellsOnAnyDeviceOfTheBackend) {
  MemoryStore store;
  const SolverId solver{"opencl.tiles", 1};
  const Target elsewhere{"cuda", "Device C", "c1", 8, {}};
  RecordTrials(store, PackedGemm(64, 64, 4096), kThere, {Timed(solver, 1, 10)});
  RecordTrials(store, PackedGemm(64, 64, 65), elsewhere, {Timed(solver, 2, 20)});
  Gemm transposed = PackedGemm(64, 64, 64);
  transposed.trans_a = Transpose::kYes;
  RecordTrials(store, Normalized(transposed), kThere, {Timed(solver, 3, 30)});

  EXPECT_EQ(Found(store, PackedGemm(64, 64, 64)), Strings{"1:10"});
}

TEST(PriorRecordsTest, NoMoreThanAFewPlacesTell) {
  MemoryStore store;
  for (int64_t n = 1; n < 20; ++n)
    RecordTrials(store, Kernel("scale", n), kHere, {Timed(kScale, n, 9)});

  const Strings found = Found(store, Kernel("scale", 1));

  ASSERT_EQ(found.size(), PriorRecords::kPlaces);
  EXPECT_EQ(found.front(), "1:9");
}

TEST(PriorRecordsTest, WhatHasOtherParametersIsNothingToTry) {
  const Problem problem = Kernel("scale", 1024);
  SolverList solvers;
  solvers.push_back(std::make_unique<SpaceOnlySolver>("opencl.scale", 100));
  const auto has = [&](const SolverId& solver, const Config& config) {
    const PriorRecords prior = PriorRecords::Of(problem, {{{solver, config}, 1.0}});
    return HasConfigOf(prior, problem, solvers, kHere);
  };

  EXPECT_TRUE(has(kScale, {{"p", 99}}));
  EXPECT_FALSE(has(kScale, {{"p", 100}}));
  EXPECT_FALSE(has(kScale, {{"q", 99}}));
  EXPECT_FALSE(has({"opencl.other", 1}, {{"p", 99}}));
}

// Number of questions until a random search of 4000 configs finds p = 2711.
int QuestionsToTheBest(const TimesOfPlaces& elsewhere) {
  const SpaceOnlySolver solver("opencl.scale", 4000);
  CandidateSource::Options options;
  options.searcher = "random";
  options.seed = 1;
  options.elsewhere = elsewhere;
  std::vector<std::string> notes;
  auto source = CandidateSource::Create(Kernel("scale", 1024), kHere, {&solver}, options, &notes);
  EXPECT_TRUE(source.ok());
  int asked = 0;
  for (auto batch = source->Ask(1); !batch.empty(); batch = source->Ask(1)) {
    ++asked;
    const int64_t p = IntegerAt(batch[0].config, "p");
    if (p == 2711) return asked;
    source->Tell(batch[0], {100.0 + static_cast<double>(std::abs(p - 2711))});
  }
  return asked;
}

TEST(PriorRecordsTest, WithAPriorTheBestConfigComesWithinAHandfulWhereRandomTakesHundreds) {
  MemoryStore store;
  std::vector<Trial> trials;
  for (const int64_t p : {0, 500, 1000, 2000, 2711, 3000}) {
    trials.push_back(Timed(kScale, p, 50.0 + static_cast<double>(std::abs(p - 2711))));
  }
  RecordTrials(store, Kernel("scale", 65536), kThere, trials);
  const std::vector<TaggedProblem> problems = {{Kernel("scale", 1024)}};
  const auto prior = PriorRecords::Read(store, "opencl", problems);
  ASSERT_TRUE(prior.ok());

  EXPECT_GT(QuestionsToTheBest({}), 100);
  EXPECT_LE(QuestionsToTheBest(prior->Find(problems[0].problem)), 3);
}

}  // namespace
}  // namespace attune
