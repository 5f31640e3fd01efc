#include "extensions/models/seer/collection.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/models/seer/grids.h"
#include "extensions/models/seer/synthetic.h"

namespace attune::seer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A device with 30 multiprocessors on which algorithm 3 does not exist, 7 is for filters of 3 and 5
// and channels above 512 do not fit.
class FakeProbe final : public LayerProbe {
 public:
  int64_t multiprocessors() const override { return kTitanXpProcessors; }

  Result<LayerRun> Run(const Layer& x, int algorithm) override {
    ++runs;
    if (is_lost) return Unavailable("The device is lost.");
    if (x.c > 512) return ResourceExhausted("Too large.");
    if (algorithm == 3 || (algorithm >= 6 && x.f != 3)) return Unsupported("It has no such one.");
    LayerRun run;
    run.time_ms = 1 + algorithm;
    if (algorithm == 7) run.kernels.push_back(Kernel("winogradForwardData4x4", 5000, 0.25));
    const double blocks = BlocksOf(
        *VariantsOf(algorithm == 4 || algorithm == 5 ? 0 : algorithm, x.f)[0], x, Rules::kFixed);
    run.kernels.push_back(Kernel("maxwell_sgemm", static_cast<int64_t>(blocks), 0.5));
    if (algorithm == 7) run.kernels.push_back(Kernel("winogradForwardOutput4x4", 5000, 0.125));
    return run;
  }
  Result<int> VendorPick(const Layer& x) override {
    if (x.c > 512) return ResourceExhausted("The pick is too large.");
    if (hides_picks) return Unsupported("It does not tell.");
    if (loses_picks) return Unavailable("The device is lost.");
    return 1;
  }
  Result<OperatorTime> RunOperator(std::string_view name, const Layer& layer) override {
    ++runs;
    return OperatorTime{std::string(name), layer, 2, IsGradientOfConv(name) ? 1.0 : 0.0};
  }

  LaunchedKernel Kernel(const char* name, int64_t blocks, double time_ms) const {
    LaunchedKernel kernel{name, blocks, 128, 4, std::nullopt};
    if (has_counters) kernel.counters = {time_ms, 1e6, 2e5, 1e5, 9, 3};
    return kernel;
  }

  bool has_counters = true;
  bool is_lost = false;
  bool hides_picks = false;
  bool loses_picks = false;
  int runs = 0;
};

const CollectionStep kGoOn = [](const CollectionCounts&) -> Result<bool> { return true; };

std::vector<Layer> Layers() {
  return *ReadGrid("N 64\nC 16 64 1024\nW 28 # and no other\nK 64\nf 1 3\np 1\n");
}

TEST(Grids, AFilesGridHasEveryCombinationWithAnOutput) {
  const std::vector<Layer> layers = *ReadGrid("# Small.\nC 3 16\nW 4 8\nK 8\nf 3 7\n");

  EXPECT_EQ(layers.size(), 6u);
  EXPECT_EQ(layers[0], (Layer{128, 3, 4, 8, 2, 3, 1, 0}));
}

TEST(Grids, WhatIsWrongInAGridIsNamedWithItsLine) {
  const auto message = [](std::string_view text) { return ReadGrid(text).status().message(); };

  EXPECT_THAT(message("C 3\nX 4\n"), HasSubstr("Line 2: 'X' is none of"));
  EXPECT_THAT(message("C 3\nC 4\n"), HasSubstr("Line 2: C has its values already"));
  EXPECT_THAT(message("C\n"), HasSubstr("Line 1: C has no values"));
  EXPECT_THAT(message("C 0\n"), HasSubstr("Line 1"));
  EXPECT_THAT(message("C 3.5\n"), HasSubstr("Line 1"));
  EXPECT_THAT(message("C 99999999\n"), HasSubstr("Line 1"));
  EXPECT_THAT(message("C 3\nW 8\nf 3\n"), HasSubstr("no line of K"));
  std::string many = "N";
  for (int i = 1; i <= 1100; ++i) many += " " + std::to_string(i);
  EXPECT_THAT(message(many + "\nC" + many.substr(1) + "\nW 8\nK 8\nf 1\n"),
              HasSubstr("1210000 layers"));
}

TEST(Grids, PoolingAndLayoutsKeepTheirChannelsAndAreThereOnce) {
  const std::vector<Layer> layers = *ReadGrid("N 2\nC 16\nW 28\nK 8 64\nf 1 3\ns 2\np 0\n");

  EXPECT_THAT(LayersOf("maxpool", layers),
              ElementsAre(Layer{2, 16, 28, 16, 14, 1, 2, 0}, Layer{2, 16, 28, 16, 13, 3, 2, 0}));
  EXPECT_THAT(LayersOf("layout", layers), ElementsAre(Layer{2, 16, 28, 16, 28, 1, 1, 0}));
  EXPECT_THAT(LayersOf("conv1x1", layers),
              ElementsAre(Layer{2, 16, 28, 8, 14, 1, 2, 0}, Layer{2, 16, 28, 64, 14, 1, 2, 0}));
  EXPECT_EQ(LayersOf("conv_grad_input", layers).size(), 4u);
}

TEST(Grids, OperatorsAreMeasuredOnWhatFitsIntoFourGib) {
  const std::vector<Layer> layers = OperatorGrid("layout");

  EXPECT_EQ(layers.size(), 26u);
  for (const Layer& x : layers) EXPECT_LE(8 * x.n * x.c * x.w * x.w, int64_t{4} << 30);
  EXPECT_GT(OperatorGrid("maxpool").size(), 300u);
}

TEST(CollectKernels, ARowHasTheMainKernelAndItsCounters) {
  FakeProbe probe;
  KernelTables tables;

  const auto counts = CollectKernels(probe, 7, Layers(), kGoOn, tables);

  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->measured, 2u);
  EXPECT_EQ(counts->unsupported, 2u);
  EXPECT_EQ(counts->too_large, 2u);
  ASSERT_EQ(tables.records.size(), 2u);
  EXPECT_EQ(tables.records[0].time_ms, 0.5);
  EXPECT_EQ(tables.records[0].resident_blocks, 120);
  EXPECT_EQ(ClassOf(tables.records[0]), KernelClass::kCompute);
  ASSERT_EQ(tables.operators.size(), 2u);
  EXPECT_EQ(tables.operators[0].time_ms, 0.375);
  EXPECT_EQ(tables.operators[0].name, "algo7_128x64_3x3");
}

TEST(CollectKernels, WithoutCountersARowHasTheCallAndNoCounts) {
  FakeProbe probe;
  probe.has_counters = false;
  KernelTables tables;

  ASSERT_TRUE(CollectKernels(probe, 7, Layers(), kGoOn, tables).ok());

  EXPECT_EQ(tables.records[0].time_ms, 8);
  EXPECT_EQ(tables.records[0].instructions, 0);
  EXPECT_TRUE(tables.operators.empty());
}

TEST(CollectKernels, WhatIsKnownIsNotMeasuredAgainAndRowsReadBack) {
  FakeProbe probe;
  KernelTables tables;
  ASSERT_TRUE(CollectKernels(probe, 0, Layers(), kGoOn, tables).ok());
  tables.records = *ReadKernelRecords(Csv(tables.records), AlgorithmOrder::kCudnn);
  probe.runs = 0;

  const auto counts = CollectKernels(probe, 0, Layers(), kGoOn, tables);

  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->known, 4u);
  EXPECT_EQ(probe.runs, 2);  // Layers that did not fit are tried again.
  EXPECT_EQ(tables.records.size(), 4u);
}

TEST(CollectKernels, EndsWhenToldToAndWhenTheDeviceIsLost) {
  FakeProbe probe;
  KernelTables tables;
  const CollectionStep once = [](const CollectionCounts&) -> Result<bool> { return false; };

  const auto stopped = CollectKernels(probe, 0, Layers(), once, tables);
  probe.is_lost = true;
  const auto lost = CollectKernels(probe, 1, Layers(), kGoOn, tables);

  ASSERT_TRUE(stopped.ok());
  EXPECT_FALSE(stopped->is_complete);
  EXPECT_EQ(tables.records.size(), 1u);
  EXPECT_EQ(lost.status().code(), StatusCode::kUnavailable);
}

TEST(CollectTimes, EveryAlgorithmHasATimeOrSaysWhyNot) {
  FakeProbe probe;
  std::vector<AlgorithmTimes> times;

  ASSERT_TRUE(CollectTimes(probe, Layers(), kGoOn, times).ok());

  ASSERT_EQ(times.size(), 6u);
  EXPECT_THAT(times[1].times_ms, ElementsAre(1, 2, 3, -1, 5, 6, 7, 8));
  EXPECT_EQ(times[5].times_ms[0], -2);
  EXPECT_EQ(times[0].vendor_pick, 1);
  EXPECT_EQ(*ReadAlgorithmTimes(Csv(times), AlgorithmOrder::kCudnn), times);
}

TEST(CollectTimes, ARowWhosePickIsNotKnownHasItsTimesAndTheReasonIsNoted) {
  FakeProbe probe;
  probe.hides_picks = true;
  std::vector<AlgorithmTimes> times;

  const auto counts = CollectTimes(probe, Layers(), kGoOn, times);

  ASSERT_TRUE(counts.ok());
  ASSERT_EQ(times.size(), 6u);
  EXPECT_THAT(times[1].times_ms, ElementsAre(1, 2, 3, -1, 5, 6, 7, 8));
  EXPECT_EQ(times[1].vendor_pick, -1);
  EXPECT_EQ(counts->measured, 6u);
  EXPECT_EQ(counts->picks_unknown, 6u);
  EXPECT_EQ(counts->pick_failure, "It does not tell.");
}

TEST(CollectTimes, ADeviceThatIsLostWhileItIsAskedForAPickEndsIt) {
  FakeProbe probe;
  probe.loses_picks = true;
  std::vector<AlgorithmTimes> times;

  const auto counts = CollectTimes(probe, Layers(), kGoOn, times);

  EXPECT_EQ(counts.status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(times.empty());
}

TEST(CollectOperator, GradientsHaveTheirForwardTime) {
  FakeProbe probe;
  std::vector<OperatorTime> times;

  ASSERT_TRUE(CollectOperator(probe, "conv_grad_input", Layers(), kGoOn, times).ok());

  EXPECT_EQ(times.size(), 6u);
  EXPECT_EQ(*ReadOperatorTimes(Csv(times)), times);
}

TEST(RecordOf, NothingSeenAndNothingKnownOfResidencyAreReasons) {
  const Layer layer = {64, 16, 28, 64, 28, 3, 1, 1};

  EXPECT_THAT(RecordOf(layer, 0, {1, {}}, 30).status().message(), HasSubstr("no kernel"));
  EXPECT_THAT(RecordOf(layer, 0, {1, {{"sgemm", 5, 128, 0, std::nullopt}}}, 30).status().message(),
              HasSubstr("'sgemm'"));
}

}  // namespace
}  // namespace attune::seer
