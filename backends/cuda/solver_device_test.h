// Solvers of libraries on a GPU: some of their configs, verified against the reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"
#include "backends/cuda/driver/cuda_device_test.h"

namespace attune::cuda {

struct HostileCase {
  const char* solver;
  const char* problem;
};

class SolverDeviceTest : public CudaDeviceTest {
 protected:
  void Keep(std::unique_ptr<const Solver> solver) {
    const std::string name = solver->id().name;
    solvers_[name] = std::move(solver);
  }

  // Checks that at least one config of the case's solver computes its problem, and none is wrong.
  void ExpectRight(const HostileCase& each) {
    const Solver& solver = *solvers_.at(each.solver);
    const auto problem = ParseProblem(each.problem);
    ASSERT_TRUE(problem.ok()) << each.problem << problem.status().ToString();
    const Status applicable = solver.IsApplicable(*problem, device_->target());
    ASSERT_TRUE(applicable.ok()) << each.problem << applicable.ToString();

    EXPECT_GT(RightConfigs(solver, *problem), 0) << each.solver << " for " << each.problem;
  }

  // Returns how many configs of the case's solver compute its problem; none does so wrongly. The
  // library may refuse the problem.
  int RightOrRefused(const HostileCase& each) {
    const auto problem = ParseProblem(each.problem);
    EXPECT_TRUE(problem.ok()) << each.problem << problem.status().ToString();
    const Solver& solver = *solvers_.at(each.solver);
    const Status applicable = solver.IsApplicable(*problem, device_->target());
    EXPECT_TRUE(applicable.ok()) << each.problem << applicable.ToString();
    return RightConfigs(solver, *problem);
  }

  std::map<std::string, std::unique_ptr<const Solver>> solvers_;

 private:
  static constexpr int kSampledConfigs = 4;
  static constexpr uint64_t kMostOfSpace = 8;

  // For libraries that are known to give wrong results without an error: tuning detects them.
  virtual bool MayBeWrong(const Solver&, const Problem&) const { return false; }

  // Configs from all over the space, the first listed one, and others from all over the list.
  Result<std::vector<Config>> ConfigsOf(const Solver& solver, const Problem& problem) {
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver.Space(problem, device_->target()));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> listed, solver.ListOn(*device_, problem));
    std::vector<Config> configs;
    const uint64_t count = std::min(space.size(), kMostOfSpace);
    for (uint64_t i = 0; i < count; ++i) configs.push_back(space.At(i * space.size() / count));
    if (listed.empty()) return configs;
    configs.push_back(listed.front());
    Random random(listed.size());
    for (int i = 0; i < kSampledConfigs; ++i) {
      configs.push_back(listed[random.Below(listed.size())]);
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> Load(const Solver& solver, const Problem& problem,
                                           const Config& config) {
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                            solver.Recipe(problem, config, device_->target()));
    Artifact artifact;
    if (!recipe.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(artifact, solver.Build(recipe));
    }
    return solver.Load(artifact, problem, config, *device_);
  }

  // The number of configs of the solver that computed the problem; an error of any is a failure of
  // the test. A library that does not compute the inner problem with its own answer is not.
  int RightConfigs(const Solver& solver, const Problem& problem) {
    const auto configs = ConfigsOf(solver, problem);
    EXPECT_TRUE(configs.ok()) << configs.status().ToString();
    const auto data = ProblemData::Create(problem, 1);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    if (!configs.ok() || !data.ok()) return 0;
    auto operands = BoundOperands::Create(*device_, problem, *data);
    EXPECT_TRUE(operands.ok()) << operands.status().ToString();
    if (!operands.ok()) return 0;
    int right = 0;
    for (const Config& config : *configs) {
      const std::string name = Text(Candidate{solver.id(), config}) + " for " + Text(problem);
      const auto executable = Load(solver, problem, config);
      EXPECT_TRUE(executable.ok() || executable.status().code() == StatusCode::kUnsupported)
          << name << ": " << executable.status().ToString();
      if (!executable.ok()) continue;
      const Verdict verdict = Verify(**executable, *device_, *operands, *data, problem);
      if (!verdict.failure.has_value()) {
        ++right;
      } else {
        const bool is_known = MayBeWrong(solver, problem) || !solver.ServesUntried(config);
        EXPECT_TRUE(is_known) << name << ": " << verdict.failure->message;
      }
    }
    return right;
  }
};

}  // namespace attune::cuda
