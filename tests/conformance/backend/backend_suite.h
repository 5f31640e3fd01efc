// The contract of every backend, as one suite: backend_suite.cc has the tests, and a file for each
// backend selects the devices to run them on.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/solver/backend.h"

namespace attune {

// Something that a backend is known not to do. A case that is listed and passes fails the suite, so
// that the list stays true, unless its results differ from run to run.
struct KnownException {
  std::string solver;   // Name without version.
  std::string problem;  // Canonical text.
  std::string reason;
  bool may_pass = false;
};

struct BackendUnderTest {
  // Shared: every case of the suite refers to it, and the last one to go frees it.
  std::shared_ptr<const Backend> backend;
  std::string device;          // Spec for Backend::Open.
  size_t sampled_configs = 4;  // Beside the default, for each solver and problem.
  std::vector<KnownException> exceptions = {};
};

// One solver on one small problem that it says it can solve.
struct ConformanceCase {
  BackendUnderTest subject;
  const Solver* solver = nullptr;
  std::string problem;
};
void PrintTo(const ConformanceCase& tried, std::ostream* out);
void PrintTo(const BackendUnderTest& subject, std::ostream* out);

// Every applicable pair. Empty if the device cannot be opened, which BackendTest reports.
std::vector<ConformanceCase> CasesOf(const BackendUnderTest& subject);

std::string CaseName(const testing::TestParamInfo<ConformanceCase>& info);

// Instantiate both with the backend's name as prefix:
//   INSTANTIATE_TEST_SUITE_P(Fake, BackendTest, testing::Values(Subject()));
//   INSTANTIATE_TEST_SUITE_P(Fake, SolverTest, testing::ValuesIn(CasesOf(Subject())), CaseName);
class BackendTest : public testing::TestWithParam<BackendUnderTest> {};
class SolverTest : public testing::TestWithParam<ConformanceCase> {};

}  // namespace attune
