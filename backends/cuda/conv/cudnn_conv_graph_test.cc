// Graphs of cuDNN without a GPU, over a library that stands in for it.
#include "backends/cuda/conv/cudnn_conv_graph.h"

#include <set>
#include <utility>

#include <gmock/gmock.h>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_quick_engines.h"
#include "backends/cuda/cudnn/stand_in_cudnn_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kForward = "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,type=f16}";
constexpr const char* kStrict = "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3}";
constexpr const char* kLarger = "conv@1{dir=fwd,n=2,c=3,h=99,w=83,k=32,fh=7,fw=7,type=f16}";
constexpr const char* kBackward = "conv@1{dir=bwd_data,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3}";
constexpr const char* kWeights = "conv@1{dir=bwd_weights,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3}";
constexpr int64_t kManyBytes = int64_t{1} << 30;

const std::vector<CudnnEngineChoice> kChoices = {{45}, {70}, {23}};

Config Engine(int64_t index, const char* knobs = "none") {
  return {{"engine", index}, {"knobs", std::string(knobs)}};
}

class CudnnGraphTest : public testing::Test {
 protected:
  CudnnGraph GraphOf(const char* problem) {
    auto graph = MakeCudnnConvGraph(library_.cudnn(), nullptr, ConvOf(problem));
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }

  StandInCudnn library_{"9.14.0"};
};

// Its solvers accept operands of any alignment, because engines refuse those that they cannot read.
TEST_F(CudnnGraphTest, TheLibraryIsToldHowTheOperandsAreAligned) {
  GraphOf("conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,type=f16,align=2}");
  GraphOf("conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,type=f16}");

  EXPECT_THAT(library_.alignments_bytes, ElementsAre(2, 2, 2, 16, 16, 16));
}

TEST_F(CudnnGraphTest, AChosenKernelServesOnlyProblemsThatItWasVerifiedOn) {
  EXPECT_TRUE(ServesUntriedOfCudnn({}));
  EXPECT_TRUE(ServesUntriedOfCudnn(Engine(71)));
  EXPECT_TRUE(ServesUntriedOfCudnn(Engine(71, "k2:1")));
  EXPECT_FALSE(ServesUntriedOfCudnn(Engine(71, "k2:1.k24:7")));
  EXPECT_FALSE(ServesUntriedOfCudnn(Engine(71, "of another version")));
}

TEST_F(CudnnGraphTest, AnEngineThatCompilesIsNeverServedFirst) {
  library_.engines = {{45, true}, {70, true}, {23}};

  const auto plan = GraphOf(kForward).QuickPlan(kChoices);

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_THAT(library_.engines_made, ElementsAre(23));
}

TEST_F(CudnnGraphTest, WhereEveryEngineCompilesNonePlansFirst) {
  library_.engines = {{45, true}, {70, true}, {23, true}};

  const auto plan = GraphOf(kForward).QuickPlan(kChoices);

  EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(library_.engines_made, IsEmpty());
}

TEST_F(CudnnGraphTest, WhatServesFirstComputesWithTheNumbersThatWereAskedFor) {
  library_.engines = {{45, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
                      {70, false, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}},
                      {23}};

  const auto plan = GraphOf(kStrict).QuickPlan(kChoices);

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_THAT(library_.engines_made, ElementsAre(23));
}

TEST_F(CudnnGraphTest, WhatServesFirstNeedsLittleMemory) {
  library_.engines = {{45, false, {}, {}, true, kManyBytes}, {70, false, {}, {}, false}, {23}};

  const auto plan = GraphOf(kForward).QuickPlan(kChoices);

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_THAT(library_.engines_made, ElementsAre(45, 70, 23));
}

// No plan is begun for an engine that compiles, in any version.
TEST_F(CudnnGraphTest, WhatIsLearnedOfAnotherVersionCompilesNothing) {
  StandInCudnn library("9.19.0");
  library.engines = {{3, true}, {4}, {5, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}}, {6}};
  library.recommended = {{CUDNN_HEUR_MODE_A, {3, 5, 6}}, {CUDNN_HEUR_MODE_FALLBACK, {4}}};
  const auto graph = MakeCudnnConvGraph(library.cudnn(), nullptr, ConvOf(kStrict));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();

  const std::vector<CudnnEngineChoice> learned = graph->QuickRecommendations();
  const auto plan = graph->QuickPlan(learned);

  EXPECT_THAT(learned, ElementsAre(CudnnEngineChoice{6}, CudnnEngineChoice{4}));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_THAT(library.engines_made, ElementsAre(6));
}

TEST(CudnnQuickEnginesTest, AVersionThatWasMeasuredIsAskedNothing) {
  const CudnnQuickEngines engines;
  const auto never = [](const Conv&) {
    ADD_FAILURE() << "Recommendations take milliseconds.";
    return std::vector<CudnnEngineChoice>();
  };

  EXPECT_THAT(engines.For(ConvOf(kForward), "9.14.0", never), Not(IsEmpty()));
  EXPECT_NE(engines.For(ConvOf(kForward), "9.14.0", never),
            engines.For(ConvOf(kBackward), "9.14.0", never));
}

TEST(CudnnQuickEnginesTest, LayersOfKindsThatWereNotMeasuredAreAskedForOnceOfAnyVersion) {
  const CudnnQuickEngines engines;
  int asked = 0;
  const auto recommend = [&](const Conv&) { return std::vector<CudnnEngineChoice>{{++asked}}; };
  constexpr const char* kKinds[] = {
      "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,g=64,type=f16}",
      "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,g=64,sh=2,sw=2,type=f16}",
      "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,g=8,type=f16}",
      "conv@1{dir=fwd,n=1,c=64,d=8,h=57,w=83,k=64,fd=3,fh=3,fw=3,type=f16}",
      "conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,layout=nhwc}"};

  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < std::ssize(kKinds); ++i) {
      Conv picture = ConvOf(kKinds[i]);
      picture.batch += round;
      picture.in[2] += round;
      EXPECT_THAT(engines.For(picture, "9.14.0", recommend), ElementsAre(CudnnEngineChoice{i + 1}))
          << kKinds[i];
    }
  }
}

TEST_F(CudnnGraphTest, NoEngineOfTensorCoresIsMadeForExactNumbers) {
  library_.engines = {{45, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}}, {70}, {23}};
  const CudnnQuickEngines engines;
  const auto choices = engines.For(ConvOf(kStrict), "9.14.0", nullptr);
  const CudnnGraph graph = GraphOf(kStrict);
  library_.descriptors_made = 0;

  const auto quick = graph.QuickPlan(choices);

  ASSERT_TRUE(quick.ok()) << quick.status().ToString();
  EXPECT_EQ(quick->choice, CudnnEngineChoice{70});
  // An engine, its config and a plan.
  EXPECT_EQ(library_.descriptors_made, 3);
}

TEST(CudnnQuickEnginesTest, AnotherVersionIsAskedOnceForEachKind) {
  const CudnnQuickEngines engines;
  int asked = 0;
  const auto recommend = [&](const Conv&) {
    ++asked;
    return std::vector<CudnnEngineChoice>(9, CudnnEngineChoice{asked, {{2, 1}}});
  };

  const auto first = engines.For(ConvOf(kForward), "9.19.0", recommend);
  const auto same_kind = engines.For(ConvOf(kLarger), "9.19.0", recommend);
  const auto other_kind = engines.For(ConvOf(kStrict), "9.19.0", recommend);

  EXPECT_THAT(first, SizeIs(CudnnQuickEngines::kMostLearned));
  EXPECT_EQ(same_kind, first);
  EXPECT_NE(other_kind, first);
  EXPECT_EQ(asked, 2);
}

TEST_F(CudnnGraphTest, AnEngineThatRefusesALayerIsAskedOnceForIt) {
  library_.engines = {{45, false, {}, {}, false}, {70}, {23}};
  const CudnnQuickEngines engines;
  const auto load = [&](const char* problem) {
    const auto choices = engines.For(ConvOf(problem), "9.14.0", nullptr);
    const auto quick = GraphOf(problem).QuickPlan(choices);
    ASSERT_TRUE(quick.ok()) << quick.status().ToString();
    engines.NoteTaken(ConvOf(problem), choices, quick->choice);
  };

  load(kForward);
  load("conv@1{dir=fwd,n=4,c=64,h=91,w=40,k=64,fh=3,fw=3,type=f16}");
  const auto same_layer = std::exchange(library_.engines_made, {});
  load("conv@1{dir=fwd,n=1,c=64,h=57,w=83,k=64,fh=3,fw=3,sh=2,sw=2,type=f16}");
  const auto other_stride = std::exchange(library_.engines_made, {});

  EXPECT_THAT(same_layer, ElementsAre(45, 70, 70));
  EXPECT_THAT(other_stride, ElementsAre(45, 70));
}

TEST(CudnnQuickEnginesTest, WhatTookALayerComesFirstAndTheOthersStayInTheirOrder) {
  const CudnnQuickEngines engines;
  const auto listed = engines.For(ConvOf(kForward), "9.14.0", nullptr);
  ASSERT_EQ(listed.size(), 3U);

  engines.NoteTaken(ConvOf(kForward), listed, listed[2]);
  const auto next = engines.For(ConvOf(kForward), "9.14.0", nullptr);
  engines.NoteTaken(ConvOf(kForward), next, next[1]);

  EXPECT_THAT(next, ElementsAre(listed[2], listed[0], listed[1]));
  EXPECT_EQ(engines.For(ConvOf(kForward), "9.14.0", nullptr), listed);
  EXPECT_EQ(engines.For(ConvOf(kLarger), "9.14.0", nullptr), listed);
}

TEST(CudnnQuickEnginesTest, OfNoMoreLayersThanIsSaidAnythingIsRemembered) {
  constexpr size_t kMostLayers = LayerMemory<CudnnEngineChoice>::kMostLayers;
  const CudnnQuickEngines engines;
  const auto layer = [](size_t i) {
    Conv conv = ConvOf(kForward);
    conv.out_channels = static_cast<int64_t>(1 + i);
    return conv;
  };
  const auto listed = engines.For(layer(0), "9.14.0", nullptr);

  for (size_t i = 0; i <= kMostLayers; ++i) {
    engines.NoteTaken(layer(i), listed, listed[1]);
  }

  EXPECT_NE(engines.For(layer(kMostLayers - 1), "9.14.0", nullptr), listed);
  EXPECT_EQ(engines.For(layer(kMostLayers), "9.14.0", nullptr), listed);
}

// A candidate must be the same in the process that measures it and in those that use it.
TEST(CudnnQuickEnginesTest, WhatIsAskedForDependsOnTheKindOrTheLayerAlone) {
  EXPECT_EQ(TypicalOf(ConvOf(kForward)), TypicalOf(ConvOf(kLarger)));
  EXPECT_NE(TypicalOf(ConvOf(kForward)), TypicalOf(ConvOf(kStrict)));
  EXPECT_NE(TypicalOf(ConvOf(kStrict)), TypicalOf(ConvOf(kBackward)));
  for (const char* text :
       {kForward, kBackward, "conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,g=8,layout=nhwc}",
        "conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,g=2,det=1}",
        "conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,ph=60,pw=60,dh=40,dw=40,g=2}",
        "conv@1{dir=fwd,n=2,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,pd=1,type=bf16,align=2}"}) {
    const Conv conv = ConvOf(text);
    const std::string typical = Text(Problem(TypicalOf(conv)));
    EXPECT_TRUE(ParseProblem(typical).ok()) << typical;
    EXPECT_EQ(TypicalOf(conv).groups, conv.groups);
    EXPECT_EQ(LayerOf(TypicalOf(conv)) == LayerOf(conv), !IsMeasuredKind(conv)) << typical;
  }
}

// Otherwise every shape would wait for the same answer.
TEST(CudnnQuickEnginesTest, NoAnswerIsAnAnswer) {
  const CudnnQuickEngines engines;
  int asked = 0;
  const auto recommend = [&](const Conv&) {
    ++asked;
    return std::vector<CudnnEngineChoice>();
  };

  EXPECT_THAT(engines.For(ConvOf(kForward), "9.19.0", recommend), IsEmpty());
  EXPECT_THAT(engines.For(ConvOf(kLarger), "9.19.0", recommend), IsEmpty());

  EXPECT_EQ(asked, 1);
}

TEST(CudnnQuickEnginesTest, GradientsOfWeightsAreLeftToTheImplicitProduct) {
  const CudnnQuickEngines engines;
  const auto recommend = [](const Conv&) { return std::vector<CudnnEngineChoice>{{1}}; };

  EXPECT_THAT(engines.For(ConvOf(kWeights), "9.14.0", recommend), IsEmpty());
  EXPECT_THAT(engines.For(ConvOf(kWeights), "9.19.0", recommend), IsEmpty());
}

TEST_F(CudnnGraphTest, RecommendationsOfEveryModeComeFirstAndWhatCompilesComesLast) {
  library_.engines = {{0, true}, {1}, {2}, {3}, {4}};
  library_.recommended = {
      {CUDNN_HEUR_MODE_A, {3, 0}}, {CUDNN_HEUR_MODE_B, {3, 4}}, {CUDNN_HEUR_MODE_FALLBACK, {1}}};

  const auto configs = GraphOf(kForward).AllConfigs();

  ASSERT_TRUE(configs.ok()) << configs.status().ToString();
  EXPECT_THAT(*configs, ElementsAre(Engine(3), Engine(4), Engine(1), Engine(2), Engine(0)));
}

TEST_F(CudnnGraphTest, AnEngineIsListedWithItsKnobs) {
  library_.engines = {{6, false, {}, {{2, 0, 20, 1}, {17, 1, 9, 2}}}};

  const auto configs = GraphOf(kForward).Enumeration();

  ASSERT_TRUE(configs.ok()) << configs.status().ToString();
  const std::set<Config> listed(configs->begin(), configs->end());
  EXPECT_EQ(listed.size(), configs->size());
  EXPECT_EQ(configs->front(), Engine(6));
  EXPECT_TRUE(listed.contains(Engine(6, "k2:20")));
  EXPECT_TRUE(listed.contains(Engine(6, "k17:9")));
}

TEST_F(CudnnGraphTest, APlanThatWasCompiledIsReadTheNextTime) {
  library_.engines = {{7, true}};
  const CudnnGraph graph = GraphOf(kForward);
  const auto made = graph.PlanWith("", Engine(7));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_FALSE(made->is_read);
  ASSERT_THAT(made->json, Not(IsEmpty()));

  const auto read = graph.PlanWith(made->json, Engine(7));

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(read->is_read);
  EXPECT_THAT(read->json, IsEmpty());
  EXPECT_THAT(library_.engines_made, ElementsAre(7));
  EXPECT_EQ(library_.plans_read, 1);
}

TEST_F(CudnnGraphTest, ATextThatTheLibraryRefusesCostsACompilationAndNothingElse) {
  library_.engines = {{7, true}};
  const CudnnGraph graph = GraphOf(kForward);
  const std::string json = graph.PlanWith("", Engine(7))->json;

  const auto damaged = graph.PlanWith("{\"engine\":", Engine(7));
  library_.takes_json = false;
  const auto refused = graph.PlanWith(json, Engine(7));

  for (const auto* plan : {&damaged, &refused}) {
    ASSERT_TRUE(plan->ok()) << plan->status().ToString();
    EXPECT_FALSE((*plan)->is_read);
    EXPECT_EQ((*plan)->json, json);
  }
  EXPECT_THAT(library_.engines_made, ElementsAre(7, 7, 7));
}

TEST_F(CudnnGraphTest, APlanThatIsMadeQuicklyIsNotKept) {
  library_.engines = {{7}};

  const auto made = GraphOf(kForward).PlanWith("", Engine(7));

  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_THAT(made->json, IsEmpty());
}

TEST_F(CudnnGraphTest, TheFirstRecommendationThatHasAPlanIsKeptLikewise) {
  library_.engines = {{7, false, {}, {}, false}, {8, true}};
  library_.recommended = {{CUDNN_HEUR_MODE_A, {7, 8}}};

  const auto made = GraphOf(kForward).PlanWith("", {});

  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_THAT(library_.engines_made, ElementsAre(7, 8));
  EXPECT_THAT(made->json, Not(IsEmpty()));
}

TEST(CudnnPlanKeyTest, ATextIsOfOneProblemCandidateBuildAndDevice) {
  const Problem problem = ProblemOf(kForward);
  const Candidate candidate{{"cuda.cudnn-graph-conv", 1}, Engine(7)};
  LibraryReport library;
  library.version = "9.14.0";
  library.build_id = "abc";
  Target target;
  target.device = "NVIDIA H200";
  const BuildRecipe key = PlanKey(library, problem, candidate, target);
  EXPECT_FALSE(key.empty());
  EXPECT_EQ(PlanKey(library, problem, candidate, target), key);

  Candidate other_candidate = candidate;
  other_candidate.config = Engine(7, "k2:1");
  LibraryReport other_build = library;
  other_build.build_id = "abd";
  LibraryReport other_version = library;
  other_version.version = "9.15.0";
  Target other_target = target;
  other_target.device = "NVIDIA H100";

  EXPECT_NE(PlanKey(library, ProblemOf(kStrict), candidate, target), key);
  EXPECT_NE(PlanKey(library, problem, other_candidate, target), key);
  EXPECT_NE(PlanKey(other_build, problem, candidate, target), key);
  EXPECT_NE(PlanKey(other_version, problem, candidate, target), key);
  EXPECT_NE(PlanKey(library, problem, candidate, other_target), key);
}

}  // namespace
}  // namespace attune::cuda
