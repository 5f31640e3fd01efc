// Known launches: the order of sources, and the use that models make of them.
#include "attune/model/launch_source.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/dry_run_launches.h"
#include "attune/compile/offline_launches.h"
#include "attune/index/fitting.h"
#include "attune/index/record_samples.h"
#include "attune/index/timed_products.h"
#include "attune/model/candidate_model.h"
#include "attune/model/launch_features.h"
#include "attune/model/shape_features.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::SizeIs;

const Target kGpu = {"cuda", "A", "sm_90", 132, {}};
const Problem kProduct = Normalized(PackedGemm(64, 64, 64));

// A dry run runs nothing: only the plan made before it counts.
class IdleExecutable final : public Executable {
 public:
  size_t workspace_bytes() const override { return 100; }
  Status Run(const Arguments&) override { return Unsupported("A dry run runs nothing."); }
};

class IdleSolver : public Solver {
 public:
  explicit IdleSolver(std::string name) : id_{std::move(name), 1} {
    traits_.operator_name = "gemm";
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config& config, const Target&) const override {
    if (!traits_.compiles) return BuildRecipe();
    return BuildRecipe{"source " + Text(config), "", "a compiler", "sm_90"};
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return Artifact{recipe.source};
  }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config& config,
                                           Device&) const override {
    if (config.contains("refused")) return Unsupported("It does not take this.");
    return std::make_unique<IdleExecutable>();
  }

  SolverTraits traits_;

 private:
  const SolverId id_;
};

// Plans 8 blocks of 128 threads, and reports 40 registers for built kernels.
class PlanningSolver final : public IdleSolver, public LaunchPlanner {
 public:
  explicit PlanningSolver(bool is_dynamic) : IdleSolver("cuda.own") {
    traits_.compiles = true;
    traits_.dynamic = is_dynamic;
  }
  Result<std::vector<ObservedLaunch>> PlanLaunches(const BuiltCandidate& built,
                                                   const Target&) const override {
    if (built.config.contains("refused")) return Unsupported("No launch can compute it.");
    const bool is_built = !built.artifact.bytes.empty();
    return std::vector<ObservedLaunch>{{"product", 8, 128, is_built ? 40 : 0, 512, 4}};
  }
};

class TellingDevice final : public Device, public LaunchObserver {
 public:
  class Memory final : public Buffer {
   public:
    explicit Memory(size_t size_bytes) : bytes_(size_bytes) {}
    void* handle() const override { return const_cast<std::byte*>(bytes_.data()); }
    size_t size_bytes() const override { return bytes_.size(); }

   private:
    std::vector<std::byte> bytes_;
  };

  const Target& target() const override { return kGpu; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    ++allocations;
    return std::make_unique<Memory>(size_bytes);
  }
  Status Upload(std::span<const std::byte>, BufferView) override { return Status::Ok(); }
  Status Download(BufferView, std::span<std::byte>) override { return Status::Ok(); }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    return Unsupported("It has no clock.");
  }
  Status AwaitQuiescence(int64_t) override { return Status::Ok(); }
  int64_t multiprocessors() const override { return 132; }
  Result<std::vector<ObservedLaunch>> DryRun(Executable&, const Arguments& arguments) override {
    operands = arguments.operands.size();
    return launches;
  }

  std::vector<ObservedLaunch> launches = {{"sm90_gemm", 12, 256, 90, 2048, 3}};
  size_t operands = 0;
  int allocations = 0;
};

Candidate Named(const char* text) { return *ParseCandidate(text); }

SolverList ListOf(std::unique_ptr<const Solver> first, std::unique_ptr<const Solver> second) {
  SolverList solvers;
  solvers.push_back(std::move(first));
  solvers.push_back(std::move(second));
  return solvers;
}

// Knows one candidate, with so many blocks for each row of the product.
class RowLaunches final : public LaunchSource {
 public:
  explicit RowLaunches(std::string name, int kernels = 1)
      : name_(std::move(name)), kernels_(kernels) {}
  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override {
    if (Text(candidate) != name_) return std::nullopt;
    LaunchProfile profile;
    profile.multiprocessors = 10;
    profile.needs_device = needs_device;
    for (int i = 0; i < kernels_; ++i) {
      profile.kernels.push_back({"rows", problem.Get<Gemm>().m, 64, 0, 0, 1});
    }
    return profile;
  }
  bool needs_device = false;

 private:
  const std::string name_;
  const int kernels_;
};

TEST(LaunchSources, TheFirstThatKnowsAnswers) {
  const RowLaunches few("cuda.a@1{}", 1), many("cuda.a@1{}", 3), other("cuda.b@1{}");
  const LaunchSources sources({&other, &many, &few});

  EXPECT_THAT(sources.Find(kProduct, Named("cuda.a@1{}"))->kernels, SizeIs(3));
  EXPECT_THAT(sources.Find(kProduct, Named("cuda.b@1{}"))->kernels, SizeIs(1));
  EXPECT_FALSE(sources.Find(kProduct, Named("cuda.c@1{}")).has_value());
}

TEST(PlannedLaunches, OfADynamicKernelAreKnownOnceItsCodeIsInTheCache) {
  const SolverList solvers = ListOf(std::make_unique<const PlanningSolver>(true),
                                    std::make_unique<const IdleSolver>("cuda.library"));
  MemoryKernelCache cache;
  const PlannedLaunches launches(solvers, kGpu, cache);
  const Candidate own = Named("cuda.own@1{}");

  EXPECT_FALSE(launches.Find(kProduct, own).has_value());
  ASSERT_TRUE(cache.Store(*solvers[0]->Recipe(kProduct, {}, kGpu), {"code"}).ok());
  const auto known = launches.Find(kProduct, own);

  ASSERT_TRUE(known.has_value());
  const KernelLaunch expected = {"cuda.own@1 product", 8, 128, 40, 512, 4};
  EXPECT_THAT(known->kernels, ::testing::ElementsAre(expected));
  EXPECT_EQ(known->multiprocessors, 132);
  EXPECT_FALSE(known->needs_device);
  EXPECT_FALSE(launches.Find(kProduct, Named("cuda.library@1{}")).has_value());
  EXPECT_FALSE(launches.Find(kProduct, Named("cuda.gone@1{}")).has_value());
}

// Another size needs other code, so no cache holds the code of a shape never seen.
TEST(PlannedLaunches, OfAKernelThatIsBuiltForItsSizeAreKnownWithoutItsCode) {
  const SolverList solvers = ListOf(std::make_unique<const PlanningSolver>(false),
                                    std::make_unique<const IdleSolver>("cuda.library"));
  MemoryKernelCache cache;
  ASSERT_TRUE(cache.Store(*solvers[0]->Recipe(kProduct, {}, kGpu), {"code"}).ok());
  const PlannedLaunches launches(solvers, kGpu, cache);

  EXPECT_EQ(launches.Find(kProduct, Named("cuda.own@1{}"))->kernels[0].registers, 0);
  EXPECT_FALSE(launches.Find(kProduct, Named("cuda.own@1{refused=1}")).has_value());
}

TEST(TiledLaunches, AreThoseOfSeersFormulaForTheAlgorithmWhoseTileFollowsFromTheLayer) {
  const TiledLaunches launches(kGpu);
  const Candidate precomputed =
      Named("cuda.cudnn-conv@1{algorithm=implicit_precomp_gemm,math=fma}");
  Conv conv;
  conv.batch = 3;
  conv.in_channels = 16;
  conv.out_channels = 64;
  conv.in = {1, 30, 30};
  conv.filter = {1, 3, 3};

  const auto known = launches.Find(conv, precomputed);

  ASSERT_TRUE(known.has_value());
  ASSERT_THAT(known->kernels, SizeIs(1));
  EXPECT_EQ(known->kernels[0].signature, "algo1_128x64");
  EXPECT_EQ(known->kernels[0].blocks, (3 * 28 * 28 + 127) / 128);
  EXPECT_EQ(known->kernels[0].blocks_per_multiprocessor, 0);
  EXPECT_FALSE(
      launches.Find(conv, Named("cuda.cudnn-conv@1{algorithm=gemm,math=fma}")).has_value());
  EXPECT_FALSE(
      launches.Find(conv, Named("cuda.cudnn-conv@1{algorithm=implicit_precomp_gemm,math=tensor}"))
          .has_value());
  conv.type = DataType::kF16;
  EXPECT_FALSE(launches.Find(conv, precomputed).has_value());
  EXPECT_FALSE(launches.Find(kProduct, precomputed).has_value());
}

class DryRunTest : public ::testing::Test {
 protected:
  std::unique_ptr<DryRunLaunches> Make() {
    auto made = DryRunLaunches::Create(solvers_, device_, cache_);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  const SolverList solvers_ = ListOf(std::make_unique<const PlanningSolver>(true),
                                     std::make_unique<const IdleSolver>("cuda.library"));
  TellingDevice device_;
  MemoryKernelCache cache_;
};

TEST_F(DryRunTest, TheDeviceTellsWhatALibraryWouldLaunch) {
  const auto launches = Make();

  const auto known = launches->Find(kProduct, Named("cuda.library@1{}"));
  const auto again = launches->Find(kProduct, Named("cuda.library@1{}"));

  ASSERT_TRUE(known.has_value());
  const KernelLaunch expected = {"sm90_gemm", 12, 256, 90, 2048, 3};
  EXPECT_THAT(known->kernels, ::testing::ElementsAre(expected));
  EXPECT_TRUE(known->needs_device);
  EXPECT_EQ(known, again);
  EXPECT_EQ(device_.operands, 3u);
  EXPECT_EQ(device_.allocations, 4);  // The workspace, too, and none twice.
}

TEST_F(DryRunTest, WhatCannotBeLoadedOrTellsByItselfIsNotKnown) {
  const auto launches = Make();

  EXPECT_FALSE(launches->Find(kProduct, Named("cuda.library@1{refused=1}")).has_value());
  EXPECT_FALSE(launches->Find(kProduct, Named("cuda.own@1{}")).has_value());
  EXPECT_FALSE(launches->Find(kProduct, Named("cuda.gone@1{}")).has_value());
  device_.launches.clear();
  EXPECT_FALSE(FindOneKernel(*launches, kProduct, Named("cuda.library@1{}")).has_value());
}

TEST(SamplesOf, HaveTheLaunchesOfWhatIsOneKernelAndAreOfShapesWhereNobodyKnowsAny) {
  const auto timed = TimedProducts(3, {{"cuda.a@1{}", 1}, {"cuda.b@1{}", 2}});
  const RowLaunches one("cuda.a@1{}"), two("cuda.a@1{}", 2);

  const auto with = SamplesOf(timed, "gemm", &one);
  const auto without = SamplesOf(timed, "gemm", &two);

  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->features, *LaunchFeatures("gemm"));
  EXPECT_THAT(with->samples, SizeIs(6));
  EXPECT_THAT(with->samples[0].row.kernels, SizeIs(1));
  EXPECT_EQ(with->samples[0].kernel_times_ms, std::vector<double>{with->samples[0].time_ms});
  EXPECT_THAT(with->samples[1].row.kernels, SizeIs(0));
  EXPECT_EQ(without->features, *ShapeFeatures("gemm"));
  EXPECT_THAT(without->samples[0].row.kernels, SizeIs(0));
}

TEST(SamplesOf, WhatOnlyADeviceTellsIsLearntWithItAndWithoutIt) {
  const auto timed = TimedProducts(3, {{"cuda.a@1{}", 1}, {"cuda.b@1{}", 2}});
  RowLaunches told("cuda.a@1{}");
  told.needs_device = true;

  const auto data = SamplesOf(timed, "gemm", &told);

  ASSERT_TRUE(data.ok());
  ASSERT_THAT(data->samples, SizeIs(9));
  EXPECT_THAT(data->samples[0].row.kernels, SizeIs(0));
  EXPECT_THAT(data->samples[1].row.kernels, SizeIs(1));
  EXPECT_EQ(data->samples[0].configuration, data->samples[1].configuration);
}

TEST(CandidateModel, AsksForTheLaunchesThatItWasFittedTo) {
  const ModelOrigin origin = {"cuda:A", "none"};
  auto timed = TimedProducts(60, {{"cuda.a@1{}", 1}, {"cuda.b@1{}", 1}});
  for (TimedCandidate& one : timed) {
    // Waves of ten blocks of a row each.
    const auto rows = static_cast<double>(one.problem.Get<Gemm>().m);
    if (one.algorithm == "cuda.a@1{}") one.time_ms = std::ceil(rows / 10);
  }
  const auto launches = std::make_shared<const RowLaunches>("cuda.a@1{}");
  const auto data = SamplesOf(timed, "gemm", launches.get());
  const auto fitted = FitUsual(data->features, data->samples);
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  auto model = CandidateModel::Read(*ModelText(*fitted, origin, {}), origin, "gemm");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Problem problem = Normalized(PackedGemm(51, 40, 40));
  const std::vector<size_t> both = {0, 1};

  const std::vector<Prediction> alone = model->OfKnown(problem, both);
  model->AskForLaunches(launches);
  const std::vector<Prediction> asked = model->OfKnown(problem, both);

  EXPECT_NEAR(asked[0].median_ms, 6, 0.6);
  EXPECT_EQ(asked[1], alone[1]);  // The source does not know it.
  EXPECT_GT(alone[0].median_ms, 0);
}

}  // namespace
}  // namespace attune
