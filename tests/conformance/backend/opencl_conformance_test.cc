#include <memory>
#include <string>
#include <vector>

#include "attune/solver/plugin.h"
#include "tests/conformance/backend/backend_suite.h"

namespace attune {
namespace {

// The first usable device; none where there is no OpenCL platform, and then nothing is run.
std::vector<BackendUnderTest> Subjects() {
  const auto plugin = LoadPlugin("opencl");
  if (!plugin.ok() || (*plugin)->make_backend == nullptr) return {};
  const std::shared_ptr<const Backend> backend = (*plugin)->make_backend();
  for (const DeviceReport& report : backend->Devices()) {
    if (!report.reason.empty()) continue;
    // Compiling takes most of the time here: one more config than the default.
    return {{backend, report.spec, 1}};
  }
  return {};
}

std::vector<ConformanceCase> Cases() {
  const std::vector<BackendUnderTest> subjects = Subjects();
  return subjects.empty() ? std::vector<ConformanceCase>() : CasesOf(subjects.front());
}

TEST(OpenClConformance, HasADevice) {
  if (Subjects().empty()) GTEST_SKIP() << "No OpenCL device here: the suite was not run.";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackendTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SolverTest);
INSTANTIATE_TEST_SUITE_P(OpenCl, BackendTest, testing::ValuesIn(Subjects()));
INSTANTIATE_TEST_SUITE_P(OpenCl, SolverTest, testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace attune
