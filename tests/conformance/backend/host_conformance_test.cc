#include "backends/host/host_backend.h"
#include "tests/conformance/backend/backend_suite.h"

namespace attune {
namespace {

// The version of oneDNN and the processor decide which implementations are inaccurate.
std::vector<KnownException> Exceptions() {
  std::vector<KnownException> exceptions;
  for (const char* softmax :
       {"softmax@2{outer=5,length=1000,log=1,type=f16}", "softmax@2{outer=3,length=4099,type=bf16}",
        "softmax@2{outer=3,length=130,inner=17,log=1,type=bf16}"}) {
    exceptions.push_back({"host.onednn-softmax", softmax,
                          "oneDNN rounds exponentials to 16 bits and the result again", true});
  }
  for (const char* norm : {"batch_norm@1{n=2,c=3,h=150,w=130,running=1,saved=1}",
                           "batch_norm@1{dir=bwd,n=2,c=3,h=150,w=130}"}) {
    exceptions.push_back({"host.onednn-batch_norm", norm,
                          "oneDNN adds thousands of values of f32 one after the other", true});
  }
  return exceptions;
}

BackendUnderTest Subject() {
  return {.backend = MakeHostBackend(), .device = "cpu", .exceptions = Exceptions()};
}

INSTANTIATE_TEST_SUITE_P(Host, BackendTest, testing::Values(Subject()));
INSTANTIATE_TEST_SUITE_P(Host, SolverTest, testing::ValuesIn(CasesOf(Subject())), CaseName);

}  // namespace
}  // namespace attune
