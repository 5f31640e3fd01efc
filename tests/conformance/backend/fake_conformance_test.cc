#include "backends/fake/fake_backend.h"
#include "tests/conformance/backend/backend_suite.h"

namespace attune {
namespace {

BackendUnderTest Subject(const std::string& script) {
  return {MakeFakeBackend(*FakeScript::Parse(script)), "fake"};
}

// The suite must notice faults: here is a solver that is wrong, and reports it.
BackendUnderTest WrongSubject() {
  BackendUnderTest subject = Subject("fake.tiled fault=wrong_result");
  for (const ConformanceCase& tried : CasesOf(subject)) {
    if (tried.solver->id().name != "fake.tiled") continue;
    subject.exceptions.push_back({"fake.tiled", tried.problem, "Its script makes it wrong."});
  }
  return subject;
}

INSTANTIATE_TEST_SUITE_P(Fake, BackendTest,
                         testing::Values(Subject("device ieee_special_values=1")));
// Solvers that skip zeros and do not declare the trait.
INSTANTIATE_TEST_SUITE_P(SkippingFake, BackendTest,
                         testing::Values(Subject("* fault=skips_zeros")));
INSTANTIATE_TEST_SUITE_P(Fake, SolverTest, testing::ValuesIn(CasesOf(Subject(""))), CaseName);
INSTANTIATE_TEST_SUITE_P(WrongFake, SolverTest, testing::ValuesIn(CasesOf(WrongSubject())),
                         CaseName);

}  // namespace
}  // namespace attune
