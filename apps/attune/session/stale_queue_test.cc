#include "apps/attune/session/stale_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr JobStep kPerfCompile = {JobSearch::kPerf, JobWork::kCompile};
constexpr JobStep kPerfMeasure = {JobSearch::kPerf, JobWork::kMeasure};
constexpr JobStep kFindMeasure = {JobSearch::kFind, JobWork::kMeasure};

Problem ProblemOf(int order) {
  return *ParseProblem("gemm@1{m=" + std::to_string(order) + ",n=8,k=8}");
}

Job JobOf(int order, const std::string& solver, const JobStep& step) {
  Job job;
  job.problem = ProblemOf(order);
  job.solver = solver;
  job.step = step;
  return job;
}

// "8: a b": a problem and its solvers.
std::vector<std::string> Shown(const NewJobs& fresh) {
  std::vector<std::string> shown;
  for (const ProblemSolvers& problem : fresh.problems) {
    std::string& text = shown.emplace_back(Text(problem.problem));
    for (const std::string& solver : problem.solvers) text += " " + solver;
  }
  return shown;
}

TEST(StaleQueueTest, ANewProblemGetsTheStepsThatEachSolverHasJobsOf) {
  const std::vector<ProblemSolvers> problems = {{ProblemOf(1), {"tuned", "fixed", "unwanted"}},
                                                {ProblemOf(2), {"tuned", "fixed", "unwanted"}}};
  const std::vector<Job> jobs = {JobOf(1, "tuned", kPerfCompile), JobOf(1, "tuned", kPerfMeasure),
                                 JobOf(1, "tuned", kFindMeasure), JobOf(1, "fixed", kPerfMeasure)};

  const NewJobs fresh = PlanNewJobs(problems, jobs, {});

  EXPECT_THAT(Shown(fresh), ElementsAre(Text(ProblemOf(2)) + " tuned fixed"));
  EXPECT_THAT(fresh.steps, UnorderedElementsAre(kPerfCompile, kPerfMeasure, kFindMeasure));
  EXPECT_THAT(fresh.left_out,
              UnorderedElementsAre(Pair("fixed", kPerfCompile), Pair("fixed", kFindMeasure)));
}

TEST(StaleQueueTest, ASolverThatNobodyCouldLoadBeforeGetsEveryStep) {
  const std::vector<ProblemSolvers> problems = {{ProblemOf(1), {"small"}},
                                                {ProblemOf(2), {"small", "large"}}};
  const std::vector<Job> jobs = {JobOf(1, "small", kPerfMeasure)};

  const NewJobs fresh = PlanNewJobs(problems, jobs, {});

  EXPECT_THAT(Shown(fresh), ElementsAre(Text(ProblemOf(2)) + " small large"));
  EXPECT_THAT(fresh.steps, ElementsAre(kPerfMeasure));
  EXPECT_THAT(fresh.left_out, IsEmpty());
}

TEST(StaleQueueTest, WithoutJobsEverySolverIsCompiledAndSearched) {
  const std::vector<ProblemSolvers> problems = {{ProblemOf(1), {"a", "b"}}};

  const NewJobs fresh = PlanNewJobs(problems, {}, {});

  EXPECT_THAT(Shown(fresh), ElementsAre(Text(ProblemOf(1)) + " a b"));
  EXPECT_THAT(fresh.steps, UnorderedElementsAre(kPerfCompile, kPerfMeasure));
}

TEST(StaleQueueTest, WhatHasJobsOrIsDecidedOrHasNoSolverIsNotNew) {
  const std::vector<ProblemSolvers> problems = {{ProblemOf(1), {"a", "other"}},
                                                {ProblemOf(2), {"a"}},
                                                {ProblemOf(3), {}},
                                                {ProblemOf(4), {"other"}},
                                                {ProblemOf(5), {"a"}}};
  // Whatever came of its job.
  std::vector<Job> jobs = {JobOf(1, "a", kPerfMeasure)};
  jobs[0].state = JobState::kCancelled;

  const NewJobs fresh = PlanNewJobs(problems, jobs, {KeyOf(ProblemOf(2))});

  EXPECT_THAT(Shown(fresh), ElementsAre(Text(ProblemOf(5)) + " a"));
}

}  // namespace
}  // namespace attune
