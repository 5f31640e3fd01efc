// Graphs of batch norms without a GPU, over a library that stands in for cuDNN.
#include "backends/cuda/batch_norm/cudnn_batch_norm_graph.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/cuda/cudnn/stand_in_cudnn_test.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::_;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr auto kPointwiseOperation = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto kForwardOperation = CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR;
constexpr auto kBackwardOperation = CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR;

constexpr const char* kFusedTraining =
    "batch_norm@1{n=4,c=64,h=8,w=8,layout=nhwc,running=1,saved=1,fuse=add_relu,type=f16}";
constexpr const char* kUnsavedTraining = "batch_norm@1{n=4,c=64,h=8,w=8,layout=nhwc,type=f16}";
constexpr const char* kPlainBackward =
    "batch_norm@1{dir=bwd,n=4,c=64,h=8,w=8,layout=nhwc,saved=1,type=f16}";
constexpr const char* kFusedInference =
    "batch_norm@1{dir=infer,n=4,c=64,h=8,w=8,layout=nhwc,fuse=relu,type=f16}";
constexpr size_t kVectorBytes = 64 * sizeof(float);

BatchNorm NormOf(const std::string& text) { return ProblemOf(text).Get<BatchNorm>(); }

// Operands at made-up addresses.
class OperandsOfCall {
 public:
  explicit OperandsOfCall(const char* problem) {
    const size_t count = Operands(ProblemOf(problem)).size();
    for (size_t i = 0; i < count; ++i) {
      views_.push_back({reinterpret_cast<void*>((i + 1) << 20), 0});
    }
    arguments_.operands = views_;
    arguments_.workspace = {reinterpret_cast<void*>(uintptr_t{1} << 30), 0};
    arguments_.alpha = 0.25;
    arguments_.beta = 0.5;
  }

  const Arguments& arguments() const { return arguments_; }
  const void* At(int position) const { return views_.at(static_cast<size_t>(position)).handle; }

 private:
  std::vector<BufferView> views_;
  Arguments arguments_;
};

class CudnnBatchNormGraphTest : public testing::Test {
 protected:
  CudnnBatchNormGraphTest() {
    library_.engines = {{7}};
    library_.recommended = {{CUDNN_HEUR_MODE_A, {7}}};
  }

  CudnnBatchNormGraph GraphOf(const char* problem) {
    auto graph = CudnnBatchNormGraph::Create(library_.cudnn(), nullptr, NormOf(problem));
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }

  // Runs the first plan of the graph of `problem`. Returns the size of its workspace.
  size_t Launch(const char* problem, const OperandsOfCall& call) {
    const CudnnBatchNormGraph graph = GraphOf(problem);
    const auto plan = graph.graph().FirstPlan();
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    const Status launched = graph.Run(*plan, call.arguments(), nullptr);
    EXPECT_TRUE(launched.ok()) << launched.ToString();
    return graph.WorkspaceBytes(*plan);
  }

  const void* AddressOfTensor(cudnnBackendAttributeName_t name) const {
    return library_.addresses.at(library_.tensor_ids.at(name));
  }
  float ValueOfTensor(cudnnBackendAttributeName_t name) const {
    return library_.numbers.at(library_.tensor_ids.at(name));
  }

  StandInCudnn library_{"9.14.0"};
};

TEST_F(CudnnBatchNormGraphTest, TrainingPutsTheResidualAndTheReluBehindTheNorm) {
  GraphOf(kFusedTraining);

  EXPECT_THAT(library_.operations,
              ElementsAre(kForwardOperation, kPointwiseOperation, kPointwiseOperation));
  EXPECT_THAT(library_.pointwise_modes, ElementsAre(CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_RELU_FWD));
  EXPECT_THAT(library_.virtual_ids, SizeIs(2));
  EXPECT_TRUE(
      library_.virtual_ids.contains(library_.tensor_ids.at(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC)));
}

TEST_F(CudnnBatchNormGraphTest, ANormWithoutAFusionIsOneOperation) {
  GraphOf(kUnsavedTraining);

  EXPECT_THAT(library_.operations, ElementsAre(kForwardOperation));
  EXPECT_THAT(library_.virtual_ids, IsEmpty());
  EXPECT_FALSE(library_.tensor_ids.contains(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC));
}

TEST_F(CudnnBatchNormGraphTest, RunningStatisticsAreUpdatedInPlace) {
  const BatchNormOperands at = OperandsOf(NormOf(kFusedTraining));
  const OperandsOfCall call(kFusedTraining);

  Launch(kFusedTraining, call);

  EXPECT_NE(library_.tensor_ids.at(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC),
            library_.tensor_ids.at(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC));
  for (const auto name : {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC,
                          CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC}) {
    EXPECT_EQ(AddressOfTensor(name), call.At(at.running_mean));
  }
  for (const auto name : {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC,
                          CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC}) {
    EXPECT_EQ(AddressOfTensor(name), call.At(at.running_variance));
  }
}

TEST_F(CudnnBatchNormGraphTest, EpsilonAndMomentumAreNumbersOfTheCall) {
  Launch(kFusedTraining, OperandsOfCall(kFusedTraining));

  EXPECT_EQ(ValueOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC), 0.25F);
  EXPECT_EQ(ValueOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC), 0.5F);
}

TEST_F(CudnnBatchNormGraphTest, SavedStatisticsAreOperands) {
  const BatchNormOperands at = OperandsOf(NormOf(kFusedTraining));
  const OperandsOfCall call(kFusedTraining);

  const size_t bytes = Launch(kFusedTraining, call);

  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC), call.At(at.mean));
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
            call.At(at.inverse_deviation));
}

TEST_F(CudnnBatchNormGraphTest, StatisticsThatAreNotSavedStandBehindTheWorkspaceOfThePlan) {
  library_.engines = {{7, false, {}, {}, true, 1000}};
  const OperandsOfCall call(kUnsavedTraining);
  const auto* const workspace = static_cast<const std::byte*>(call.arguments().workspace.handle);
  const size_t vector_bytes = ScratchBytes(kVectorBytes);

  const size_t bytes = Launch(kUnsavedTraining, call);

  EXPECT_EQ(bytes, ScratchBytes(1000) + 2 * vector_bytes);
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
            workspace + ScratchBytes(1000));
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
            workspace + ScratchBytes(1000) + vector_bytes);
}

TEST_F(CudnnBatchNormGraphTest, BackwardIsOneOperation) {
  const BatchNormOperands at = OperandsOf(NormOf(kPlainBackward));
  const OperandsOfCall call(kPlainBackward);

  Launch(kPlainBackward, call);

  EXPECT_THAT(library_.operations, ElementsAre(kBackwardOperation));
  EXPECT_THAT(library_.virtual_ids, IsEmpty());
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC), call.At(at.dy));
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC), call.At(at.dx));
}

TEST_F(CudnnBatchNormGraphTest, InferenceIsDifferencesAndProducts) {
  const BatchNormOperands at = OperandsOf(NormOf(kFusedInference));
  const OperandsOfCall call(kFusedInference);

  Launch(kFusedInference, call);

  EXPECT_THAT(library_.operations, Each(kPointwiseOperation));
  EXPECT_THAT(library_.pointwise_modes,
              ElementsAre(CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_RSQRT, CUDNN_POINTWISE_SUB,
                          CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_ADD,
                          CUDNN_POINTWISE_RELU_FWD));
  EXPECT_THAT(library_.numbers, ElementsAre(Pair(_, 0.25F)));
  EXPECT_EQ(AddressOfTensor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), call.At(at.y));
}

TEST_F(CudnnBatchNormGraphTest, InferenceTakesAnyModeAndNoGamma) {
  for (const char* problem : {"batch_norm@1{dir=infer,mode=act,n=3,c=5,h=3,w=4}",
                              "batch_norm@1{dir=infer,n=3,c=5,h=3,w=4,affine=0,fuse=add}"}) {
    ASSERT_TRUE(CheckCudnnNormGraph(NormOf(problem)).ok()) << problem;
    Launch(problem, OperandsOfCall(problem));
  }
}

TEST_F(CudnnBatchNormGraphTest, TheLibraryIsToldHowTheOperandsAreAligned) {
  GraphOf("batch_norm@1{dir=infer,n=4,c=64,h=8,w=8,layout=nhwc,affine=0,type=f16,align=4}");

  // x, mean, variance; epsilon and three tensors between operations; y.
  EXPECT_THAT(library_.alignments_bytes, ElementsAre(4, 4, 4, 16, 16, 16, 16, 4));
}

TEST_F(CudnnBatchNormGraphTest, ADeterministicProblemHasNoEngineWhoseSumsChange) {
  library_.engines = {{3, false, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}, {4}};
  library_.recommended = {{CUDNN_HEUR_MODE_A, {3}}};
  const std::string problem = "batch_norm@1{n=4,c=64,h=8,w=8,layout=nhwc,type=f16,det=1}";

  const auto configs = GraphOf(problem.c_str()).graph().AllConfigs();

  ASSERT_TRUE(configs.ok()) << configs.status().ToString();
  ASSERT_THAT(*configs, SizeIs(1));
  EXPECT_EQ(IntegerAt(configs->front(), "engine"), 4);
}

TEST_F(CudnnBatchNormGraphTest, AGraphThatTheLibraryRefusesIsUnsupported) {
  for (const auto type : {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, kForwardOperation}) {
    library_.refused = {type};

    const auto graph =
        CudnnBatchNormGraph::Create(library_.cudnn(), nullptr, NormOf(kFusedTraining));

    EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
    EXPECT_THAT(graph.status().message(), HasSubstr("refused"));
  }
}

TEST_F(CudnnBatchNormGraphTest, WithoutAnEngineTheReasonIsTheLibrarys) {
  library_.engines = {{7, false, {}, {}, false}};

  const auto plan = GraphOf(kFusedTraining).graph().FirstPlan();

  EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(plan.status().message(), HasSubstr("refused"));
}

TEST(CheckCudnnNormGraph, RefusesWhatTheNormOperationHasNoWordsFor) {
  for (const char* problem :
       {"batch_norm@1{mode=act,n=6,c=8,h=3,w=4}", "batch_norm@1{n=6,c=8,h=3,w=4,affine=0}",
        "batch_norm@1{dir=bwd,n=6,c=8,h=3,w=4,saved=1,fuse=relu}",
        "batch_norm@1{dir=bwd,n=6,c=8,h=3,w=4}", "batch_norm@1{n=6,c=6,h=3,w=4}",
        "batch_norm@1{n=6,c=12,h=3,w=4,type=bf16}", "batch_norm@1{n=6,c=8,h=3,w=4,align=8}",
        "batch_norm@1{n=6,c=8,h=3,w=4,fuse=add}",
        "batch_norm@1{dir=infer,n=4096,c=1024,h=32,w=16}"}) {
    EXPECT_EQ(CheckCudnnNormGraph(NormOf(problem)).code(), StatusCode::kUnsupported) << problem;
  }
  for (const char* problem :
       {kFusedTraining, kUnsavedTraining, kPlainBackward, kFusedInference,
        "batch_norm@1{n=6,c=12,h=3,w=4}", "batch_norm@1{dir=infer,n=6,c=7,h=3,w=4,type=bf16}"}) {
    EXPECT_TRUE(CheckCudnnNormGraph(NormOf(problem)).ok()) << problem;
  }
}

}  // namespace
}  // namespace attune::cuda
