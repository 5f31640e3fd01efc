// Batch norms by cuDNN on a GPU: label `gpu`. The conformance suite has small ones for every
// solver.
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/solver/state_keeper.h"
#include "backends/cuda/batch_norm/cudnn_batch_norm.h"
#include "backends/cuda/batch_norm/cudnn_graph_batch_norm.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/solver_device_test.h"

namespace attune::cuda {
namespace {

constexpr const char* kGraphNorm = "cuda.cudnn-graph-batch-norm";
constexpr const char* kLegacyNorm = "cuda.cudnn-batch-norm";

// Batch norms that cuDNN documents as supported.
const HostileCase kDocumented[] = {
    {kGraphNorm, "batch_norm@1{n=32,c=64,h=28,w=28,layout=nhwc,running=1,saved=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{n=32,c=64,h=28,w=28,layout=nhwc,running=1,saved=1,type=bf16}"},
    {kGraphNorm, "batch_norm@1{n=32,c=64,h=28,w=28,layout=nhwc,running=1,saved=1}"},
    {kGraphNorm, "batch_norm@1{n=7,c=136,h=13,w=9,layout=nhwc,type=f16}"},
    {kGraphNorm, "batch_norm@1{n=16,c=256,h=14,w=14,layout=nhwc,saved=1,fuse=relu,type=f16}"},
    {kGraphNorm,
     "batch_norm@1{n=16,c=256,h=14,w=14,layout=nhwc,running=1,saved=1,fuse=add_relu,type=bf16}"},
    {kGraphNorm, "batch_norm@1{n=16,c=256,h=14,w=14,layout=nhwc,running=1,saved=1,det=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=bwd,n=32,c=64,h=28,w=28,layout=nhwc,saved=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=bwd,n=7,c=136,h=13,w=9,layout=nhwc,saved=1,type=bf16}"},
    {kGraphNorm, "batch_norm@1{dir=bwd,n=32,c=64,h=28,w=28,layout=nhwc,saved=1}"},
    {kLegacyNorm, "batch_norm@1{n=32,c=64,h=28,w=28,layout=nhwc,running=1,saved=1,type=f16}"},
    {kLegacyNorm, "batch_norm@1{dir=bwd,n=32,c=64,h=28,w=28,saved=1}"}};

// Batch norms that cuDNN 9.28 supports or refuses on an H200. Other versions may differ.
const HostileCase kOthers[] = {
    {kGraphNorm, "batch_norm@1{n=16,c=64,h=14,w=14,running=1,saved=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{n=16,c=64,h=14,w=14,running=1,saved=1,fuse=relu}"},
    {kGraphNorm, "batch_norm@1{n=4,c=64,d=5,h=14,w=14,layout=ndhwc,running=1,saved=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=bwd,n=16,c=64,h=14,w=14,saved=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=bwd,n=16,c=64,h=14,w=14,layout=nhwc,saved=1,det=1,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=64,h=14,w=14,layout=nhwc,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=64,h=14,w=14,layout=nhwc,fuse=relu}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=34,h=14,w=14,layout=nhwc,type=f16,align=4}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=64,h=14,w=14,layout=nhwc,fuse=add_relu,type=bf16}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=37,h=13,w=9,type=f16,align=4}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=64,h=14,w=14,fuse=relu}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=16,c=64,h=14,w=14,affine=0,fuse=add,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=infer,mode=act,n=16,c=64,h=7,w=7,layout=nhwc,type=f16}"},
    {kGraphNorm, "batch_norm@1{dir=infer,n=2,c=16,d=5,h=14,w=14,layout=ndhwc}"}};

class BatchNormSolverDeviceTest : public SolverDeviceTest {
 protected:
  void SetUp() override {
    SolverDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!cudnn_.Get().available()) GTEST_SKIP() << cudnn_.Get().report().missing;
    Keep(MakeCudnnBatchNorm(cudnn_));
    Keep(MakeCudnnGraphBatchNorm(cudnn_));
  }

  // Adds the gradients of gamma with a larger error than other kernels.
  bool MayBeWrong(const Solver& solver, const Problem& problem) const override {
    return solver.id().name == kLegacyNorm &&
           problem.Get<BatchNorm>().pass == BatchNormPass::kBackward;
  }

  const Lazy<Cudnn> cudnn_;
};

TEST_F(BatchNormSolverDeviceTest, NormsThatCudnnDocumentsAreComputedRightly) {
  for (const HostileCase& each : kDocumented) ExpectRight(each);
}

// Prints which are refused.
TEST_F(BatchNormSolverDeviceTest, OtherNormsAreComputedRightlyOrRefused) {
  for (const HostileCase& each : kOthers) {
    const int right = RightOrRefused(each);
    fmt::print("{}: {}\n", each.problem, right == 0 ? "refused" : fmt::format("{} right", right));
    if (right > 0) continue;
    const auto refused =
        solvers_.at(each.solver)->Load({}, *ParseProblem(each.problem), {}, *device_);
    fmt::print("  {}\n", refused.status().message());
  }
}

TEST_F(BatchNormSolverDeviceTest, APlanOutOfItsTextComputesTheSame) {
  const Solver& solver = *solvers_.at(kGraphNorm);
  const auto* keeper = dynamic_cast<const StateKeeper*>(&solver);
  ASSERT_NE(keeper, nullptr);
  const Problem problem = *ParseProblem(kDocumented[0].problem);
  const auto data = ProblemData::Create(problem, 1);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  auto operands = BoundOperands::Create(*device_, problem, *data);
  ASSERT_TRUE(operands.ok()) << operands.status().ToString();
  const auto configs = solver.ListOn(*device_, problem);
  ASSERT_TRUE(configs.ok()) << configs.status().ToString();
  ASSERT_FALSE(configs->empty());
  const Artifact nothing;
  const BuiltCandidate built{nothing, problem, configs->front()};

  const auto first = keeper->LoadWith("", built, *device_);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  if (first->state.empty()) GTEST_SKIP() << "This cuDNN keeps no plan of this batch norm.";
  const auto second = keeper->LoadWith(first->state, built, *device_);

  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(second->executable->workspace_bytes(), first->executable->workspace_bytes());
  const Verdict verdict = Verify(*second->executable, *device_, *operands, *data, problem);
  EXPECT_FALSE(verdict.failure.has_value()) << verdict.failure->message;
}

}  // namespace
}  // namespace attune::cuda
