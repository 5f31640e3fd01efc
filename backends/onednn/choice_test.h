// For tests: verifies every choice of a solver of the plug-in against the reference.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/solver/plugin.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"
#include "backends/host/conv/candidate_check.h"
#include "backends/host/host_backend.h"

namespace attune::onednn {

// The errors of oneDNN's sums and logarithms exceed the tolerance for some data, by less than this
// factor. Wrong code exceeds it by orders of magnitude.
inline constexpr double kInaccurate = 8;

struct ChoiceOutcome {
  Config config;
  std::string wrong;     // Empty: right.
  double max_error = 0;  // In tolerances; 0 if it failed otherwise.
};

class ChoiceTest : public testing::Test {
 protected:
  explicit ChoiceTest(const std::string& solver) : target_(host::TestTarget(2)) {
    HostBackendOptions options;
    options.plugins.clear();
    backend_ = MakeHostBackend(options);
    // The threads of OpenMP otherwise spin, which takes minutes if other programs use the cores.
    ::setenv("OMP_WAIT_POLICY", "passive", 0);
    device_ = *backend_->Open("cpu");
    const auto plugin = LoadPlugin("onednn");
    EXPECT_TRUE(plugin.ok()) << plugin.status().ToString();
    solvers_ = (*plugin)->make_solvers();
    solver_ = FindSolver(solvers_, {solver, 1});
  }

  void SetUp() override { ASSERT_NE(solver_, nullptr); }

  void ExpectAllRight(const Problem& problem) {
    for (const ChoiceOutcome& outcome : VerifyAll(problem)) {
      EXPECT_EQ(outcome.wrong, "") << Text(problem) << " " << Text(outcome.config);
    }
  }

  // Expects that the errors of all choices are less than `most` tolerances, and prints those that
  // are more than one. Returns how many choices are right.
  int CountRight(const Problem& problem, double most = kInaccurate) {
    int right = 0;
    for (const ChoiceOutcome& outcome : VerifyAll(problem)) {
      if (outcome.wrong.empty()) {
        ++right;
        continue;
      }
      const std::string text = Text(problem) + " " + Text(outcome.config) + ": " + outcome.wrong;
      EXPECT_TRUE(outcome.max_error > 1 && outcome.max_error < most) << text;
      std::cout << "inaccurate: " << text << "\n";
    }
    return right;
  }

  // Every choice on `threads_` threads, the first one also on another number.
  std::vector<ChoiceOutcome> VerifyAll(const Problem& problem) {
    std::vector<ChoiceOutcome> outcomes;
    EXPECT_TRUE(Validate(problem).ok()) << Text(problem);
    const auto space = solver_->Space(problem, target_);
    const auto data = ProblemData::Create(problem, 5);
    EXPECT_TRUE(space.ok()) << space.status().ToString();
    EXPECT_TRUE(data.ok()) << Text(problem) << ": " << data.status().ToString();
    if (!space.ok() || !data.ok()) return outcomes;
    for (uint64_t i = 0; i < space->size(); ++i) {
      if (i > 1 && IntegerAt(space->At(i), "threads") != threads_) continue;
      outcomes.push_back(VerifyOne(problem, *data, space->At(i)));
    }
    EXPECT_FALSE(outcomes.empty()) << Text(problem);
    return outcomes;
  }

  ChoiceOutcome VerifyOne(const Problem& problem, const ProblemData& data, const Config& config) {
    auto executable = solver_->Load({}, problem, config, *device_);
    if (!executable.ok()) return {config, executable.status().ToString()};
    auto operands = BoundOperands::Create(*device_, problem, data);
    if (!operands.ok()) return {config, operands.status().ToString()};
    const Status reserved = operands->ReserveWorkspace((*executable)->workspace_bytes());
    if (!reserved.ok()) return {config, reserved.ToString()};
    const Verdict verdict = Verify(**executable, *device_, *operands, data, problem);
    if (verdict.failure) return {config, verdict.failure->message, verdict.max_error};
    if (!solver_->KeepsSpecialValues(problem)) return {config, ""};
    const auto lost = CheckSpecialValues(**executable, *device_, *operands, data, problem);
    return {config, lost ? lost->message : ""};
  }

  const Target target_;
  int threads_ = 1;
  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
  SolverList solvers_;
  const Solver* solver_ = nullptr;
};

}  // namespace attune::onednn
