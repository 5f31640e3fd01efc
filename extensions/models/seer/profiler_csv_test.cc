#include "extensions/models/seer/profiler_csv.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune::seer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSamples[] = {"nvprof_gpu_trace", "nvprof_metrics", "nvprof_metric_trace",
                                    "nvprof_summary",   "ncu_details",    "ncu_metrics",
                                    "ncu_raw",          "ncu_summary"};

std::string Sample(std::string_view name) {
  return *ReadFile(std::string(ATTUNE_PROFILER_SAMPLES "/") + std::string(name) + ".csv");
}

std::vector<ProfiledLaunch> Launches(std::string_view name) {
  auto launches = ReadProfilerCsv(Sample(name));
  EXPECT_TRUE(launches.ok()) << name << ": " << launches.status().message();
  return launches.ok() ? *std::move(launches) : std::vector<ProfiledLaunch>(2);
}

std::string ErrorOf(std::string_view text) { return ReadProfilerCsv(text).status().message(); }

TEST(ProfilerCsvTest, ATraceOfNvprofHasTimesAndShapes) {
  const auto launches = Launches("nvprof_gpu_trace");

  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0].kernel,
              StartsWith("void implicit_convolve_sgemm<float, float, int=1024"));
  EXPECT_THAT(launches[0].kernel, testing::EndsWith("float*)"));
  EXPECT_EQ(launches[0].grid, (std::array<int64_t, 3>{98, 2, 1}));
  EXPECT_EQ(launches[0].block, (std::array<int64_t, 3>{256, 1, 1}));
  EXPECT_EQ(launches[0].registers, 79);
  EXPECT_EQ(launches[0].shared_bytes, 8192);
  EXPECT_EQ(launches[0].time_ms, 1.251011);
  EXPECT_EQ(launches[0].instructions, std::nullopt);
  EXPECT_EQ(launches[1].kernel, "maxwell_scudnn_128x64_relu_interior_nn");
  EXPECT_EQ(launches[1].shared_bytes, 4224 + 1024);
  EXPECT_EQ(launches[1].time_ms, 2.502342);
}

TEST(ProfilerCsvTest, MetricsOfNvprofAreReadInBothLayouts) {
  const auto summary = Launches("nvprof_metrics");

  ASSERT_EQ(summary.size(), 2u);
  EXPECT_EQ(summary[1].instructions, 925344768);
  EXPECT_EQ(summary[1].read_sectors, 412345);
  EXPECT_EQ(summary[1].write_sectors, 401408);
  EXPECT_EQ(summary[1].fp_utilisation, 6);
  EXPECT_EQ(summary[1].dram_utilisation, 10);
  EXPECT_EQ(summary[1].time_ms, std::nullopt);
  EXPECT_EQ(Launches("nvprof_metric_trace"), summary);
}

TEST(ProfilerCsvTest, ASummaryOfNvprofHasAverageTimesOfKernels) {
  const auto launches = Launches("nvprof_summary");

  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "maxwell_scudnn_128x64_relu_interior_nn");
  EXPECT_EQ(launches[0].launches, 5);
  EXPECT_DOUBLE_EQ(*launches[0].time_ms, 2.502342);
}

TEST(ProfilerCsvTest, MetricsOfNcuAreReadWithTheirUnitsAndThousands) {
  const auto metrics = Launches("ncu_metrics");

  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].grid, (std::array<int64_t, 3>{98, 2, 1}));
  EXPECT_EQ(metrics[0].instructions, 231211008);
  EXPECT_EQ(metrics[0].read_sectors, 301120);
  EXPECT_DOUBLE_EQ(*metrics[0].time_ms, 0.412352);
  EXPECT_EQ(metrics[0].fp_utilisation, 8);
  EXPECT_EQ(metrics[0].dram_utilisation, 2);
  EXPECT_EQ(metrics[1].dram_utilisation, 9);
  EXPECT_EQ(metrics[1].registers, std::nullopt);
}

TEST(ProfilerCsvTest, TheDetailsPageOfNcuHasShapesAndTimes) {
  const auto details = Launches("ncu_details");

  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details[0].registers, 79);
  EXPECT_EQ(details[0].shared_bytes, 8190);
  EXPECT_DOUBLE_EQ(*details[0].time_ms, 0.41235);
  EXPECT_EQ(details[1].shared_bytes, 12290);
  EXPECT_DOUBLE_EQ(*details[1].time_ms, 1.02);
  EXPECT_EQ(details[1].block, (std::array<int64_t, 3>{128, 1, 1}));
}

TEST(ProfilerCsvTest, TheRawPageOfNcuHasARowOfUnits) {
  const auto raw = Launches("ncu_raw");

  ASSERT_EQ(raw.size(), 2u);
  EXPECT_EQ(raw[0].instructions, 231211008);
  EXPECT_DOUBLE_EQ(*raw[0].read_sectors, 301120);
  EXPECT_DOUBLE_EQ(*raw[0].write_sectors, 200704);
  EXPECT_EQ(raw[0].shared_bytes, 8192);
  EXPECT_DOUBLE_EQ(*raw[1].time_ms, 1.02042);
  EXPECT_EQ(raw[1].fp_utilisation, std::nullopt);
  EXPECT_EQ(raw[1].registers, 122);
}

TEST(ProfilerCsvTest, ASummaryOfNcuHasAverages) {
  const auto summary = Launches("ncu_summary");

  ASSERT_EQ(summary.size(), 2u);
  EXPECT_EQ(summary[0].launches, 5);
  EXPECT_EQ(summary[0].read_sectors, 301120);
  EXPECT_DOUBLE_EQ(*summary[1].time_ms, 1.02);
}

TEST(ProfilerCsvTest, OldVersionsHaveTheShapeAmongTheMetrics) {
  const auto old = ReadProfilerCsv(
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel "
      "Time\",\"Context\","
      "\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"1\",\"p\",\"h\",\"k\",\"t\",\"1\",\"7\",\"Launch Statistics\",\"Grid "
      "Size\",\"\",\"2,304\"\n"
      "\"0\",\"1\",\"p\",\"h\",\"k\",\"t\",\"1\",\"7\",\"Launch Statistics\",\"Block "
      "Size\",\"\",\"256\"\r\n");

  ASSERT_TRUE(old.ok()) << old.error().message();
  EXPECT_EQ((*old)[0].grid, (std::array<int64_t, 3>{2304, 1, 1}));
  EXPECT_EQ((*old)[0].block, (std::array<int64_t, 3>{256, 1, 1}));
}

TEST(ProfilerCsvTest, LaunchesOfSeveralOutputsBecomeOne) {
  const std::vector<std::vector<ProfiledLaunch>> outputs = {Launches("nvprof_gpu_trace"),
                                                            Launches("nvprof_metrics")};

  const auto merged = MergeLaunches(outputs);

  ASSERT_TRUE(merged.ok()) << merged.error().message();
  EXPECT_EQ((*merged)[0].time_ms, 1.251011);
  EXPECT_EQ((*merged)[0].instructions, 231211008);
  const std::vector<std::vector<ProfiledLaunch>> others = {Launches("nvprof_gpu_trace"),
                                                           Launches("ncu_metrics")};
  EXPECT_THAT(MergeLaunches(others).status().message(), HasSubstr("launch 1 is 'void implicit"));
  const std::vector<std::vector<ProfiledLaunch>> shorter = {outputs[0], {outputs[0][0]}};
  EXPECT_EQ(MergeLaunches(shorter).status().message(),
            "output 1 has 2 launches, and output 2 has 1.");
}

TEST(ProfilerCsvTest, DamageIsNamedWithLineAndColumn) {
  const auto damaged = [](std::string_view sample, std::string_view from, std::string_view to) {
    std::string text = Sample(sample);
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return ErrorOf(text.replace(text.find(from), from.size(), to));
  };

  EXPECT_EQ(damaged("nvprof_gpu_trace", "1.251011", "1.25x"),
            "line 8, column 10: Duration is '1.25x', and has to be a number of 0 or more.");
  EXPECT_EQ(damaged("nvprof_gpu_trace", "s,ms,,", "0.5,0.5,,"),
            "line 6, column 1: '0.5' is no unit, and the row of units belongs here.");
  EXPECT_EQ(damaged("nvprof_gpu_trace", "s,ms,,", "s,weeks,,"),
            "line 8, column 10: the unit 'weeks' of Duration is not known.");
  EXPECT_THAT(damaged("nvprof_gpu_trace", "98,2,1", "98,0,1"),
              StartsWith("line 8, column 22: Grid Y"));
  EXPECT_THAT(damaged("nvprof_metrics", "\"High (8)\"\n", "\"High (8)\n"),
              StartsWith("line 10, column "));
  EXPECT_THAT(damaged("nvprof_metrics", "Max (10)\"\n", "Max (11)\"\n"),
              HasSubstr("dram_utilization is 'Max (11)'"));
  EXPECT_THAT(damaged("ncu_metrics", "231,211,008", "231.211.008"), HasSubstr("'231.211.008'"));
  EXPECT_THAT(damaged("ncu_metrics", "231,211,008", "23,12"), HasSubstr("'23,12'"));
  EXPECT_THAT(damaged("ncu_metrics", "\"(256, 1, 1)\"", "\"(256, 1)\""), "");
  EXPECT_THAT(damaged("ncu_metrics", "\"(256, 1, 1)\"", "\"(256, 1, 0)\""),
              HasSubstr("Block Size is '(256, 1, 0)'"));
  EXPECT_THAT(damaged("ncu_metrics", "\"301,120\"\n", "\"301,120\",\"x\"\n"),
              HasSubstr("16 fields, where the columns are 15."));
  EXPECT_THAT(ErrorOf("hello\n1,2,3\n"), HasSubstr("no line names columns"));
  EXPECT_THAT(
      ErrorOf(Sample("nvprof_gpu_trace").substr(0, Sample("nvprof_gpu_trace").find("s,ms"))),
      HasSubstr("units"));
}

TEST(ProfilerCsvTest, EveryBeginningIsReadOrRefusedInWords) {
  for (const char* const sample : kSamples) {
    const std::string text = Sample(sample);
    const auto whole = ReadProfilerCsv(text);
    ASSERT_TRUE(whole.ok());
    for (size_t size = 0; size < text.size(); ++size) {
      const auto begun = ReadProfilerCsv(std::string_view(text).substr(0, size));
      if (!begun.ok()) {
        EXPECT_FALSE(begun.error().message().empty());
        continue;
      }
      EXPECT_LE(begun->size(), whole->size());
    }
  }
}

TEST(ProfilerCsvTest, MutantsAreReadOrRefusedInWords) {
  std::mt19937 random(1);
  for (const char* const sample : kSamples) {
    const std::string text = Sample(sample);
    for (int round = 0; round < 2000; ++round) {
      std::string mutant = text;
      for (int i = 0; i < 3; ++i) {
        constexpr std::string_view kBytes = "\",\n\r=()[]0-.eKM \xff\x00x";
        mutant[random() % mutant.size()] = kBytes[random() % kBytes.size()];
      }
      const auto launches = ReadProfilerCsv(mutant);
      if (!launches.ok()) {
        EXPECT_FALSE(launches.error().message().empty());
        continue;
      }
      for (const ProfiledLaunch& launch : *launches) {
        EXPECT_FALSE(launch.kernel.empty());
        EXPECT_GE(launch.time_ms.value_or(0), 0);
        EXPECT_LE(launch.fp_utilisation.value_or(0), 10);
      }
    }
  }
}

TEST(ProfilerCsvTest, ATableOfLaunchesLeavesOutWhatIsNotKnown) {
  ProfiledLaunch launch;
  launch.kernel = "a \"b\", c";
  launch.grid = {2, 3, 1};
  launch.time_ms = 1.5;

  EXPECT_EQ(Csv(std::span(&launch, 1)),
            "kernel,launches,grid,block,registers,shared_bytes,time_ms,instructions,read_sectors,"
            "write_sectors,fp_utilisation,dram_utilisation\n"
            "\"a \"\"b\"\", c\",1,2x3x1,,,,1.5,,,,,\n");
}

}  // namespace
}  // namespace attune::seer
