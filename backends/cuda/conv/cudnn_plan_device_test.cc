// Plans of cuDNN that are read out of the library's own text, on a GPU: label `gpu`.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/ops/conv/conv.h"
#include "attune/solver/state_keeper.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/conv/cudnn_graph_conv.h"
#include "backends/cuda/driver/cuda_device_test.h"

namespace attune::cuda {
namespace {

// Both layouts, because more engines that compile take channels last.
constexpr const char* kProblems[] = {
    "conv@1{dir=fwd,n=2,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=fwd,n=2,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}"};
constexpr size_t kMostEngines = 16;
constexpr double kNsPerUs = 1e3;

template <class Make>
auto Timed(double& us, const Make& make) {
  const int64_t begin_ns = SteadyNowNs();
  auto made = make();
  us = static_cast<double>(SteadyNowNs() - begin_ns) / kNsPerUs;
  return made;
}

class CudnnPlanDeviceTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!cudnn_.Get().available()) GTEST_SKIP() << cudnn_.Get().report().missing;
    ASSERT_TRUE(device_->Enter().ok());
  }

  // Each engine of the list once, as it comes first.
  std::vector<Config> EnginesOf(const CudnnGraph& graph) {
    const auto configs = graph.AllConfigs();
    EXPECT_TRUE(configs.ok()) << configs.status().ToString();
    std::map<int64_t, Config> engines;
    if (!configs.ok()) return {};
    for (const Config& config : *configs) engines.try_emplace(IntegerAt(config, "engine"), config);
    std::vector<Config> firsts;
    // Engines that compile are last.
    for (auto place = configs->rbegin(); place != configs->rend(); ++place) {
      const bool is_first = engines.at(IntegerAt(*place, "engine")) == *place;
      if (is_first && firsts.size() < kMostEngines) firsts.push_back(*place);
    }
    return firsts;
  }

  Result<CudnnGraph> GraphOf(const char* problem) {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device_->stream()));
    return MakeCudnnConvGraph(cudnn_.Get(), handle, ParseProblem(problem)->Get<Conv>());
  }

  // True if the library wrote a text of the plan of `config`; then reads that text back.
  bool TimeEngine(const CudnnGraph& graph, const Config& config) {
    double made_us = 0;
    double again_us = 0;
    double read_us = 0;
    const auto made = Timed(made_us, [&] { return graph.PlanOf(config); });
    if (!made.ok()) return false;
    const auto again = Timed(again_us, [&] { return graph.PlanOf(config); });
    const std::string json = JsonOf(*made);
    bool is_read = false;
    if (!json.empty()) {
      const auto read = Timed(read_us, [&] { return graph.PlanWith(json, config); });
      is_read = read.ok() && read->is_read;
    }
    fmt::print("{:<28} {:<9} {:>10.1f} us made, {:>10.1f} again, {:>10.1f} {} {} bytes\n",
               Text(config), made->is_compiled ? "compiles" : "quick", made_us, again_us, read_us,
               is_read        ? "read out of"
               : json.empty() ? "no text:"
                              : "refused:",
               json.size());
    return is_read;
  }

  const Lazy<Cudnn> cudnn_;
};

// Prints the two times that decide if plans are worth keeping: to make one, and to read one.
TEST_F(CudnnPlanDeviceTest, PlansAreReadOutOfTheirText) {
  int read = 0;
  for (const char* problem : kProblems) {
    const auto graph = GraphOf(problem);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    fmt::print("{}, cuDNN {}\n", problem, cudnn_.Get().report().version);
    for (const Config& config : EnginesOf(*graph)) read += TimeEngine(*graph, config) ? 1 : 0;
  }
  if (read == 0) GTEST_SKIP() << "This cuDNN reads no plan of these convolutions out of its text.";
}

TEST_F(CudnnPlanDeviceTest, APlanOutOfItsTextComputesTheSame) {
  const auto solver = MakeCudnnGraphConv(cudnn_);
  const auto* keeper = dynamic_cast<const StateKeeper*>(solver.get());
  ASSERT_NE(keeper, nullptr);
  const Artifact nothing;
  int verified = 0;
  for (const char* text : kProblems) {
    const Problem problem = *ParseProblem(text);
    const auto data = ProblemData::Create(problem, 1);
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    auto operands = BoundOperands::Create(*device_, problem, *data);
    ASSERT_TRUE(operands.ok()) << operands.status().ToString();
    const auto graph = GraphOf(text);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    for (const Config& config : EnginesOf(*graph)) {
      const BuiltCandidate built{nothing, problem, config};
      const auto first = keeper->LoadWith("", built, *device_);
      if (!first.ok() || first->state.empty()) continue;
      const auto second = keeper->LoadWith(first->state, built, *device_);
      ASSERT_TRUE(second.ok()) << Text(config) << second.status().ToString();
      EXPECT_EQ(second->executable->workspace_bytes(), first->executable->workspace_bytes());
      const Verdict made = Verify(*first->executable, *device_, *operands, *data, problem);
      const Verdict read = Verify(*second->executable, *device_, *operands, *data, problem);
      EXPECT_EQ(read.failure.has_value(), made.failure.has_value())
          << Text(config) << ": " << (read.failure ? read.failure->message : "right");
      verified += second->is_out_of_state ? 1 : 0;
    }
  }
  if (verified == 0) GTEST_SKIP() << "This cuDNN keeps no plan of these convolutions.";
}

TEST_F(CudnnPlanDeviceTest, ATextOfAnotherMakeIsRefusedAndThePlanIsMade) {
  const auto graph = GraphOf(kProblems[0]);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();

  for (const std::string& text : {std::string("{}"), std::string("no plan"), std::string("{\"")}) {
    const auto plan = graph->PlanWith(text, {});

    ASSERT_TRUE(plan.ok()) << text << plan.status().ToString();
    EXPECT_FALSE(plan->is_read) << text;
  }
}

}  // namespace
}  // namespace attune::cuda
