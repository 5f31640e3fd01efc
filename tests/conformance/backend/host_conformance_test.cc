#include "backends/host/host_backend.h"
#include "tests/conformance/backend/backend_suite.h"

namespace attune {
namespace {

BackendUnderTest Subject() { return {MakeHostBackend(), "cpu"}; }

INSTANTIATE_TEST_SUITE_P(Host, BackendTest, testing::Values(Subject()));
INSTANTIATE_TEST_SUITE_P(Host, SolverTest, testing::ValuesIn(CasesOf(Subject())), CaseName);

}  // namespace
}  // namespace attune
