// Kernel files of batch norm and softmax on a real device, against their references and the tests
// of special values. Each problem gets configs of its own.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/compile/builder.h"
#include "attune/kernel/kernel_library.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"
#include "backends/opencl/opencl_backend.h"

namespace attune::opencl {
namespace {

constexpr uint64_t kInputSeed = 5;

class OpenClVerifiedKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    backend_ = OpenClBackend(kernel::KernelFolders()).release();
    cache_ = new MemoryKernelCache();
    if (backend_->Devices().empty()) return;
    auto device = backend_->Open(backend_->Devices()[0].spec);
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = device->release();
  }
  static void TearDownTestSuite() {
    delete device_;
    delete cache_;
    delete backend_;
    device_ = nullptr;
  }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << backend_->Libraries()[0].missing;
  }

  // The dynamic solvers that compute `problem`.
  static std::vector<const Solver*> SolversOf(const Problem& problem) {
    std::vector<const Solver*> solvers;
    for (const auto& solver : backend_->solvers()) {
      if (!solver->traits().compiles || !solver->traits().dynamic) continue;
      if (solver->IsApplicable(problem, device_->target()).ok()) solvers.push_back(solver.get());
    }
    return solvers;
  }

  // Checks the default and `samples` other configs of each solver. Fails if none computes it.
  static void Check(const Problem& problem, int samples) {
    ASSERT_TRUE(Validate(problem).ok()) << Text(problem) << ": " << Validate(problem).message();
    const auto data = ProblemData::Create(problem, kInputSeed);
    ASSERT_TRUE(data.ok()) << data.error().message();
    const std::vector<const Solver*> solvers = SolversOf(problem);
    EXPECT_FALSE(solvers.empty()) << Text(problem);
    for (const Solver* solver : solvers) {
      EXPECT_TRUE(solver->traits().ieee_special_values) << Text(solver->id());
      const auto space = solver->Space(problem, device_->target());
      ASSERT_TRUE(space.ok()) << Text(problem) << ": " << space.status().ToString();
      CheckConfig(*solver, problem, *data, space->At(0));
      for (int i = 0; i < samples; ++i) {
        CheckConfig(*solver, problem, *data, space->At(space->Sample(random_)));
      }
    }
  }

  static void CheckConfig(const Solver& solver, const Problem& problem, const ProblemData& data,
                          const Config& config) {
    const std::string what = Text(Candidate{solver.id(), config}) + " " + Text(problem);
    const BuildOutcome built =
        Builder(*cache_).Build({&solver, problem, config}, device_->target());
    ASSERT_EQ(built.failure(), nullptr) << what << ": " << built.failure()->message;
    const auto executable = solver.Load(*built.artifact(), problem, config, *device_);
    ASSERT_TRUE(executable.ok()) << what << ": " << executable.status().ToString();
    auto operands = BoundOperands::Create(*device_, problem, data);
    ASSERT_TRUE(operands.ok()) << what;
    ASSERT_TRUE(operands->ReserveWorkspace((*executable)->workspace_bytes()).ok()) << what;
    const Verdict verdict = Verify(**executable, *device_, *operands, data, problem);
    EXPECT_FALSE(verdict.failure.has_value()) << what << ": " << verdict.failure->message;
    const auto lost = CheckSpecialValues(**executable, *device_, *operands, data, problem);
    EXPECT_FALSE(lost.has_value()) << what << ": " << lost->message;
    for (const auto& [name, value] : config) seen_.insert(NameOf(solver, name, value));
  }

  static std::string NameOf(const Solver& solver, const std::string& name,
                            const ParameterValue& value) {
    return fmt::format("{} {}={}", solver.id().name, name, attune::Text(value));
  }
  static bool HasNewValue(const Solver& solver, const Config& config) {
    return std::any_of(config.begin(), config.end(), [&](const auto& entry) {
      return !seen_.contains(NameOf(solver, entry.first, entry.second));
    });
  }

  static Problem Read(const std::string& text) {
    const auto problem = ParseProblem(text);
    EXPECT_TRUE(problem.ok()) << text << ": " << problem.status().message();
    return problem.ok() ? *problem : Problem();
  }

  // Pointers, because they must go before main ends.
  static const Backend* backend_;
  static Device* device_;
  static MemoryKernelCache* cache_;
  static Random random_;
  static std::set<std::string> seen_;  // Values of parameters that were checked.
};

const Backend* OpenClVerifiedKernelsTest::backend_ = nullptr;
Device* OpenClVerifiedKernelsTest::device_ = nullptr;
MemoryKernelCache* OpenClVerifiedKernelsTest::cache_ = nullptr;
Random OpenClVerifiedKernelsTest::random_(7);
std::set<std::string> OpenClVerifiedKernelsTest::seen_;

TEST_F(OpenClVerifiedKernelsTest, ContiguousLinesOfSoftmaxAreRight) {
  const char* const forms[] = {
      "outer=5,length=1",
      "outer=7,length=33,type=f16",
      "outer=3,length=1000,log=1",
      "outer=130,length=65,type=bf16,align=2",
      "outer=120,length=40,mask=causal,queries=60,scaled=1",
      "outer=120,length=65,mask=additive,queries=60,scaled=1,type=f16,align=2",
      "outer=60,length=17,mask=additive,queries=20,log=1,type=bf16",
      "outer=5,length=63,dir=bwd,type=bf16",
      "outer=33,length=31,dir=bwd,log=1,scaled=1,type=f16",
      "outer=2,length=5000,dir=bwd,align=4"};
  for (const char* form : forms) Check(Read(fmt::format("softmax@2{{{}}}", form)), 2);
}

TEST_F(OpenClVerifiedKernelsTest, StridedLinesOfSoftmaxAreRight) {
  const char* const forms[] = {"outer=3,length=19,inner=2",
                               "outer=1,length=300,inner=70,log=1,type=f16",
                               "outer=5,length=1,inner=17,type=bf16",
                               "outer=2,length=65,inner=130,scaled=1,align=4",
                               "outer=3,length=33,inner=16,dir=bwd,type=f16,align=2",
                               "outer=3,length=200,inner=9,dir=bwd,log=1"};
  for (const char* form : forms) Check(Read(fmt::format("softmax@2{{{}}}", form)), 2);
}

TEST_F(OpenClVerifiedKernelsTest, BatchNormOfContiguousImagesIsRight) {
  const char* const forms[] = {
      "n=2,c=9,h=7,w=7",
      "n=3,c=17,h=33,w=65,running=1,saved=1,fuse=add_relu,type=f16,align=4",
      "n=1,c=8,h=150,w=150,running=1,type=bf16,fuse=relu",
      "n=40,c=8,h=3,w=1,saved=1,affine=0,fuse=add",
      "n=5,c=3,d=2,h=5,w=3,layout=ncdhw,running=1,saved=1,align=4",
      "n=16,c=8,running=1",
      "dir=infer,n=3,c=9,h=8,w=5,type=f16,fuse=relu",
      "dir=infer,n=2,c=19,h=31,w=33,fuse=add_relu,type=bf16,align=4",
      "dir=infer,n=64,c=8,h=1,w=2,affine=0,fuse=add",
      "dir=bwd,n=2,c=9,h=7,w=7",
      "dir=bwd,n=3,c=17,h=33,w=65,saved=1,type=f16,fuse=relu,align=4",
      "dir=bwd,n=1,c=8,h=150,w=150,saved=1,fuse=add_relu,type=bf16",
      "dir=bwd,n=40,c=8,h=3,w=1,affine=0,fuse=add_relu"};
  for (const char* form : forms) Check(Read(fmt::format("batch_norm@1{{{}}}", form)), 2);
}

TEST_F(OpenClVerifiedKernelsTest, BatchNormOfNeighboursIsRight) {
  const char* const forms[] = {
      "n=2,c=9,h=7,w=7,layout=nhwc",
      "n=3,c=130,h=33,w=15,layout=nhwc,running=1,saved=1,fuse=add_relu,type=f16,align=4",
      "n=1,c=8,h=150,w=150,layout=nhwc,running=1,type=bf16,fuse=relu",
      "n=5,c=3,d=2,h=5,w=3,layout=ndhwc,saved=1,affine=0,fuse=add",
      "mode=act,n=2,c=9,h=7,w=7,running=1,saved=1",
      "mode=act,n=70,c=3,h=5,w=5,layout=nhwc,type=f16,fuse=relu,align=4",
      "dir=infer,n=3,c=33,h=8,w=5,layout=nhwc,type=f16,fuse=relu",
      "dir=infer,mode=act,n=3,c=9,h=8,w=5,fuse=add_relu,type=bf16,align=4",
      "dir=bwd,n=2,c=9,h=7,w=7,layout=nhwc",
      "dir=bwd,n=3,c=130,h=33,w=15,layout=nhwc,saved=1,type=f16,fuse=relu,align=4",
      "dir=bwd,n=1,c=8,h=150,w=150,layout=nhwc,saved=1,fuse=add_relu,type=bf16",
      "dir=bwd,mode=act,n=33,c=3,h=5,w=5,affine=0,fuse=add_relu"};
  for (const char* form : forms) Check(Read(fmt::format("batch_norm@1{{{}}}", form)), 2);
}

// Values that the samples above missed.
TEST_F(OpenClVerifiedKernelsTest, EveryValueOfEveryParameterIsRight) {
  const char* const problems[] = {
      "softmax@2{outer=9,length=99}", "softmax@2{outer=9,length=9,inner=9}",
      "batch_norm@1{n=9,c=9,h=9,w=9}", "batch_norm@1{n=9,c=9,h=9,w=9,layout=nhwc}"};
  for (const char* text : problems) {
    const Problem problem = Read(text);
    const auto data = ProblemData::Create(problem, kInputSeed);
    ASSERT_TRUE(data.ok());
    for (const Solver* solver : SolversOf(problem)) {
      const auto space = solver->Space(problem, device_->target());
      ASSERT_TRUE(space.ok());
      EXPECT_GE(space->size(), 100u) << Text(solver->id());
      for (uint64_t i = 0; i < space->size(); ++i) {
        const Config config = space->At(i);
        if (HasNewValue(*solver, config)) CheckConfig(*solver, problem, *data, config);
      }
    }
  }
}

}  // namespace
}  // namespace attune::opencl
