// Records whose times are wrong: what is served may be slow, and is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

constexpr int kProblems = 200;

// How a broken timer orders `ranking`.
using Fault = void (*)(std::vector<RankedCandidate>& ranking, Random& random);

void Invert(std::vector<RankedCandidate>& ranking, Random&) {
  std::reverse(ranking.begin(), ranking.end());
  for (RankedCandidate& ranked : ranking) ranked.median_ns = 1e9 / ranked.median_ns;
}

void Shuffle(std::vector<RankedCandidate>& ranking, Random& random) {
  for (size_t i = ranking.size(); i > 1; --i) std::swap(ranking[i - 1], ranking[random.Below(i)]);
  for (RankedCandidate& ranked : ranking) ranked.median_ns = 1 + 1e6 * random.Uniform();
}

void Spoil(std::vector<RankedCandidate>& ranking, Random& random) {
  constexpr double kImpossible[] = {0, -1, std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
  for (RankedCandidate& ranked : ranking) {
    ranked.median_ns = kImpossible[random.Below(4)];
    ranked.load_ns = static_cast<int64_t>(random.Below(1'000'000)) - 500'000;
  }
}

class WrongTimesTest : public ::testing::TestWithParam<Fault> {
 protected:
  Problem RandomProduct() {
    return ProductOf(1 + static_cast<int64_t>(random_.Below(9)),
                     1 + static_cast<int64_t>(random_.Below(9)),
                     1 + static_cast<int64_t>(random_.Below(9)));
  }

  void AddRecord(const Problem& problem) {
    std::vector<Candidate> candidates;
    for (TestSolver* solver : {machine_.quick, machine_.plain, machine_.slow, machine_.compiled}) {
      for (int64_t variant = 0; variant < 2; ++variant) {
        candidates.push_back(solver->At((variant + static_cast<int64_t>(random_.Below(2))) % 3));
      }
    }
    IndexedChoice choice = ChoiceOf(candidates);
    GetParam()(choice.ranking, random_);
    machine_.choices->Add(problem, choice);
    machine_.choices->AddNeighbour(problem, random_.Uniform());
  }

  // Small integers, whose sums are exact in any order.
  std::vector<float> RandomMatrix(int64_t elements) {
    std::vector<float> matrix(static_cast<size_t>(elements));
    for (float& x : matrix) x = static_cast<float>(random_.Below(7)) - 3;
    return matrix;
  }

  bool Computes(Plan& plan, const Gemm& gemm) {
    const std::vector<float> a = RandomMatrix(gemm.m * gemm.k);
    const std::vector<float> b = RandomMatrix(gemm.k * gemm.n);
    std::vector<float> c(static_cast<size_t>(gemm.m * gemm.n), std::nanf(""));
    const BufferView operands[] = {
        {const_cast<float*>(a.data()), 0}, {const_cast<float*>(b.data()), 0}, {c.data(), 0}};
    Arguments arguments;
    arguments.operands = operands;
    if (!plan.failure().ok() || !plan.Run(arguments).ok()) return false;
    for (int64_t m = 0; m < gemm.m; ++m) {
      for (int64_t n = 0; n < gemm.n; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < gemm.k; ++k) {
          sum += a[static_cast<size_t>(m + k * gemm.m)] * b[static_cast<size_t>(k + n * gemm.k)];
        }
        if (c[static_cast<size_t>(m + n * gemm.m)] != sum) return false;
      }
    }
    return true;
  }

  TestMachine machine_;
  Random random_{7};
};

TEST_P(WrongTimesTest, WhatAWrongRankingServesComputesTheRightResult) {
  TestServerOptions options;
  options.server.policy = MissPolicy::kNever;
  TestServer server(machine_, options);
  for (int i = 0; i < kProblems; ++i) {
    const Problem problem = RandomProduct();
    if (random_.Below(2) == 0) AddRecord(problem);

    ASSERT_TRUE(Computes(*server.Call(problem), problem.Get<Gemm>())) << Text(problem);
    if (i % 10 == 0) server->Refresh();
    ASSERT_TRUE(server.WaitIdle());
    ASSERT_TRUE(Computes(*server.Call(problem), problem.Get<Gemm>())) << Text(problem);
  }

  EXPECT_EQ(server->counters().failures, 0U);
  EXPECT_GT(server->counters().misses_by_origin[static_cast<size_t>(Origin::kMeasured)], 0U);
  EXPECT_GT(server->counters().misses_by_origin[static_cast<size_t>(Origin::kNearest)], 0U);
}

std::string FaultName(const ::testing::TestParamInfo<Fault>& instance) {
  if (instance.param == Invert) return "Inverted";
  return instance.param == Shuffle ? "Random" : "Impossible";
}

INSTANTIATE_TEST_SUITE_P(Faults, WrongTimesTest, ::testing::Values(Invert, Shuffle, Spoil),
                         FaultName);

}  // namespace
}  // namespace attune
