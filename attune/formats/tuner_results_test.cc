#include "attune/formats/tuner_results.h"

#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kCache = R"json({
"device_name": "NVIDIA A100",
"kernel_name": "convolution",
"tune_params_keys": ["block_size_x", "mode"],
"tune_params": {"block_size_x": [16, 32], "mode": ["a", "b"]},
"objective": "time",
"cache": {
"16,a": {"block_size_x": 16, "mode": "a", "time": 3.5, "times": [3.25, 3.75], "compile_time": 900.5, "verification_time": 0, "benchmark_time": 126, "strategy_time": 1, "framework_time": 2, "timestamp": "2024-01-01 00:00:00+00:00"},
"32,a": {"block_size_x": 32, "mode": "a", "time": "CompilationFailedConfig", "compile_time": 10.0}
}
})json";

TEST(TunerResultsTest, ACacheOfKernelTunerIsRead) {
  const auto results = ReadTunerResults(kCache);

  ASSERT_TRUE(results.ok()) << results.error().message();
  EXPECT_EQ(results->kernel, "convolution");
  EXPECT_EQ(results->device, "NVIDIA A100");
  EXPECT_EQ(results->parameters, (std::vector<std::string>{"block_size_x", "mode"}));
  ASSERT_EQ(results->tried.size(), 2u);
  EXPECT_EQ(results->tried[0].time_ms, 3.5);
  EXPECT_EQ(results->tried[0].runtimes_ms, (std::vector<double>{3.25, 3.75}));
  EXPECT_EQ(results->tried[0].compile_ms, 900.5);
  EXPECT_EQ(results->tried[1].status, "compile");
}

TEST(TunerResultsTest, ACacheWhoseEndIsTornHasItsWholeEntries) {
  const std::string whole = kCache;

  for (const size_t cut : {whole.rfind("\n}\n}"), whole.size() - 2, whole.size() - 30}) {
    const auto results = ReadTunerResults(whole.substr(0, cut));
    ASSERT_TRUE(results.ok()) << cut << ": " << results.error().message();
    EXPECT_GE(results->tried.size(), 1u);
    EXPECT_EQ(results->tried[0].time_ms, 3.5);
  }
}

// A cache as Kernel Tuner leaves it open, with texts and numbers of every kind.
constexpr const char* kOpenCache = R"json({
"device_name": "GPU \u00e9 Ã©",
"tune_params_keys": ["bx", "mode"],
"cache": {
"16,a": {"bx": 16, "mode": "a", "time": 3.5, "times": [3.25, NaN], "nvml_power": -Infinity},
"32,\"b": {"bx": 32, "mode": "b", "time": NaN, "deep": [{"x": true, "y": null}, -1.5e-3]},
"64,Ã©": {"bx": 64, "mode": "c", "time": 1.5, "compile_time": Infinity},
)json";

// Every prefix of a cache either is an error with its position, or yields all its complete entries,
// each with a line, and names the incomplete one.
void CheckBeginnings(const std::string& text) {
  const size_t cache = text.find("\"cache\": {") + 10;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    SCOPED_TRACE(text.substr(0, cut));
    const auto results = ReadTunerResults(text.substr(0, cut));
    if (cut < cache) {
      EXPECT_THAT(results.status().message(), testing::StartsWith("line "));
      continue;
    }
    ASSERT_TRUE(results.ok()) << results.error().message();
    size_t whole = 0;
    std::optional<std::string> lost;  // The beginning of its name.
    for (size_t begin = text.find("\n\"", cache); begin < text.size();
         begin = text.find("\n\"", begin + 1)) {
      const size_t end = text.rfind('}', text.find('\n', begin + 1)) + 1;
      if (cut >= end) ++whole;
      if (cut > begin + 1 && cut < end)
        lost = text.substr(begin + 2, std::min(cut - begin - 2, size_t{2}));
    }
    EXPECT_EQ(results->tried.size(), whole);
    EXPECT_EQ(results->is_open, cut < text.size() || !text.ends_with("}\n}"));
    ASSERT_EQ(results->lost.has_value(), lost.has_value());
    if (lost.has_value()) {
      EXPECT_THAT(results->lost->name, testing::StartsWith(*lost));
    }
  }
}

TEST(TunerResultsTest, EveryBeginningOfACacheHasItsWholeEntriesAndNamesTheLostOne) {
  CheckBeginnings(kOpenCache);
  CheckBeginnings(kCache);
}

TEST(TunerResultsTest, TheLostEntryIsNamedWithItsPlace) {
  const std::string text = kOpenCache;
  const size_t third = text.find("\"64,");

  const auto lost = [&](size_t cut) { return *ReadTunerResults(text.substr(0, cut))->lost; };

  EXPECT_EQ(lost(third + 3), (LostEntry{"64", {7, 1}}));
  EXPECT_EQ(lost(text.find("\"c\"", third)), (LostEntry{"64,Ã©", {7, 10}}));
  EXPECT_EQ(WhatIsMissing(*ReadTunerResults(text.substr(0, third + 3))),
            "the file ends inside entry '64' (line 7, column 1), which is left out");
  EXPECT_EQ(WhatIsMissing(*ReadTunerResults(text.substr(0, third + 1))),
            "the file ends inside the key of an entry (line 7, column 1), which is left out");
}

TEST(TunerResultsTest, EveryBeginningOfT4IsRefusedWithItsPlace) {
  const std::string text = WriteT4(*ReadTunerResults(kOpenCache));

  for (size_t cut = 0; cut < text.rfind('}'); ++cut) {
    const Status status = ReadTunerResults(text.substr(0, cut)).status();
    EXPECT_THAT(status.message(), testing::StartsWith("line ")) << text.substr(0, cut);
    EXPECT_THAT(status.message(), HasSubstr("ends too early"));
  }
}

TEST(TunerResultsTest, ADefectBeforeTheEndIsNoEnd) {
  const std::string text = kOpenCache;
  const auto error = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return ReadTunerResults(changed).status().message();
  };

  EXPECT_EQ(error("\"mode\": \"c\"", "\"mode\" \"c\""),
            "line 7, column 28: this is not JSON at '\"\\\"c\\\"\"'.");
  EXPECT_THAT(error("1.5, \"compile_time\"", "1.5; \"compile"), HasSubstr("line 7, column 42: "));
  EXPECT_THAT(error("16,a", "32,\\\"b"), HasSubstr("stands twice"));
  EXPECT_EQ(
      error("\"bx\": 32", "\"bx\": NaN"),
      "line 6, column 18: /cache/32,\"b/bx: is no value of a parameter: a number, a text, true "
      "or false.");
  EXPECT_EQ(
      ReadTunerResults(text.substr(0, text.size() - 2) + "}, \"objective\": \"ti")
          .status()
          .message(),
      "line 7, column 91: this is not JSON: the file ends too early, inside of /objective. Only "
      "the cache of a Kernel Tuner that still runs may, inside an entry or behind one.");
}

TEST(TunerResultsTest, AConfigWithoutAFiniteTimeHasFailed) {
  for (const char* const none : {"NaN", "Infinity", "-Infinity"}) {
    std::string cache = kCache;
    cache.replace(cache.find("3.5,"), 3, none);
    const auto of_cache = ReadTunerResults(cache);
    const auto of_t4 = ReadTunerResults(fmt::format(
        R"({{"results": [{{"configuration": {{"x": 1}}, "invalidity": "correct", "times":
          {{"runtimes": [{0}, 2], "compilation": {0}}},
          "measurements": [{{"name": "time", "value": {0}}}]}}]}})",
        none));

    ASSERT_TRUE(of_cache.ok()) << of_cache.error().message();
    ASSERT_EQ(of_cache->tried.size(), 2u);
    EXPECT_EQ(of_cache->tried[0].status, "runtime");
    EXPECT_EQ(of_cache->tried[0].time_ms, 0);
    EXPECT_FALSE(of_cache->is_open);
    ASSERT_TRUE(of_t4.ok()) << of_t4.error().message();
    EXPECT_EQ(of_t4->tried[0].status, "runtime");
    EXPECT_EQ(of_t4->tried[0].compile_ms, 0);
    EXPECT_EQ(of_t4->tried[0].runtimes_ms, std::vector<double>{2});
  }
}

TEST(TunerResultsTest, FiguresThatAreNotFiniteLeaveTheConfigAsItIs) {
  const auto results = ReadTunerResults(kOpenCache);

  ASSERT_TRUE(results.ok()) << results.error().message();
  ASSERT_EQ(results->tried.size(), 3u);
  EXPECT_EQ(results->tried[0].status, "ok");
  EXPECT_EQ(results->tried[0].runtimes_ms, std::vector<double>{3.25});
  EXPECT_EQ(results->tried[1].status, "runtime");
  EXPECT_EQ(results->tried[2].time_ms, 1.5);
  EXPECT_EQ(results->tried[2].compile_ms, 0);
}

TEST(TunerResultsTest, WhatIsWrittenAsT4IsReadBack) {
  TunerResults results = *ReadTunerResults(kCache);

  const auto read = ReadTunerResults(WriteT4(results));

  ASSERT_TRUE(read.ok()) << read.error().message();
  // T4 has neither.
  results.kernel = results.device = "";
  EXPECT_EQ(*read, results);
}

TEST(TunerResultsTest, UnitsOfT4AreMilliseconds) {
  const auto results = ReadTunerResults(R"json({"metadata": {"timeunit": "seconds"}, "results": [
    {"configuration": {"x": 1}, "times": {"compilation": 2, "runtimes": [0.5]},
     "invalidity": "correct", "measurements": [{"name": "time", "value": 500, "unit": "us"}]}]})json");

  ASSERT_TRUE(results.ok()) << results.error().message();
  EXPECT_EQ(results->tried[0].time_ms, 0.5);
  EXPECT_EQ(results->tried[0].compile_ms, 2000);
  EXPECT_EQ(results->tried[0].runtimes_ms, (std::vector<double>{500}));
}

TEST(TunerResultsTest, ARecordedSpaceHasALineForEachConfig) {
  const auto text = WriteRecordedSpace(*ReadTunerResults(kCache));

  ASSERT_TRUE(text.ok());
  EXPECT_EQ(
      *text,
      "block_size_x,mode,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n"
      "16,a,ok,3.5,900.5,0,126,3\n"
      "32,a,compile,,10,0,0,0\n");
}

TEST(TunerResultsTest, WhatHasNoPlaceIsRefusedByName) {
  const auto error = [](std::string from, std::string to) {
    std::string text = kCache;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return ReadTunerResults(text.replace(at, from.size(), to)).status().message();
  };

  EXPECT_THAT(error("\"objective\": \"time\"", "\"objective\": \"energy\""), HasSubstr("energy"));
  EXPECT_THAT(error("CompilationFailedConfig", "StrangeConfig"), HasSubstr("'StrangeConfig'"));
  EXPECT_THAT(error("\"mode\": \"a\", \"time\": 3.5", "\"time\": 3.5"),
              HasSubstr("/cache/16,a: the parameter 'mode' is missing"));
  EXPECT_THAT(error("\"time\": 3.5", "\"time\": 0"), HasSubstr("no time above 0"));
  EXPECT_THAT(error("\"time\": 3.5", "\"time\": -1"), HasSubstr("is no time"));
  EXPECT_THAT(error("\"time\": 3.5", "\"time\": 1e308"),
              HasSubstr("line 8, column 9: /cache/16,a: 1e+308 ms are no time, which is 0, or "
                        "1e-09 to 1e+15 ms."));
  EXPECT_THAT(ReadTunerResults("[]").status().message(), HasSubstr("neither 'cache'"));
  EXPECT_THAT(ReadTunerResults("[[").status().message(), HasSubstr("not JSON"));
  EXPECT_THAT(
      ReadTunerResults(R"({"results": [], "metadata": {"timeunit": "years"}})").status().message(),
      HasSubstr("'years'"));
}

TEST(TunerResultsTest, AConfigurationOfT4MayHaveNoParametersIfNoneHasAny) {
  const auto read = [](std::string_view first, std::string_view second) {
    const auto result = [](std::string_view config) {
      return fmt::format(
          R"({{"configuration": {}, "measurements": [{{"name": "time", "value": 1}}]}})", config);
    };
    return ReadTunerResults(
        fmt::format(R"({{"results": [{}, {}]}})", result(first), result(second)));
  };

  EXPECT_TRUE(read("{}", "{}").ok());
  for (const auto& [first, second, column] :
       {std::tuple("{}", R"({"x": 1})", 103), {R"({"x": 1})", "{}", 109}}) {
    EXPECT_EQ(read(first, second).status().message(),
              fmt::format("line 1, column {}: /results/1/configuration: has other parameters than "
                          "the first one.",
                          column));
  }
}

TEST(TunerResultsTest, WhatIsNoTimeOrNoOutcomeOfT4IsRefused) {
  const auto error = [](std::string_view value, std::string_view invalidity) {
    return ReadTunerResults(
               fmt::format(R"({{"results": [{{"configuration": {{"x": 1}}, "invalidity": {},
                 "measurements": [{{"name": "time", "value": {}, "unit": "s"}}]}}]}})",
                           invalidity, value))
        .status()
        .message();
  };

  EXPECT_EQ(error("1", "null"), "");
  EXPECT_EQ(error("1", "5"), "line 1, column 56: /results/0/invalidity: 5 is no text.");
  EXPECT_THAT(error("1e308", R"("correct")"), HasSubstr("/results/0: inf ms are no time"));
  EXPECT_THAT(error("-1", R"("correct")"), HasSubstr("/results/0: -1000 ms are no time"));
  EXPECT_THAT(error("1e-320", R"("correct")"), HasSubstr("are no time"));
}

TEST(TunerResultsTest, WhatNestsWithoutEndIsRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');

  for (const char* const key : {"objectives", "invalidity"}) {
    const auto results = ReadTunerResults(
        fmt::format(R"({{"results": [{{"configuration": {{"x": 1}}, "{}": {}}}]}})", key, deep));

    EXPECT_THAT(results.status().message(), HasSubstr("more than 64 levels"));
  }
  EXPECT_TRUE(ReadTunerResults(fmt::format(R"({{"results": [], "of": "\"{}"}})", deep)).ok());
}

TEST(TunerResultsTest, T4OfOtherObjectivesAndValuesThatDoNotFitAreRefused) {
  const auto read = [](std::string_view value, std::string_view objectives) {
    return ReadTunerResults(std::string(R"({"results": [{"configuration": {"x": )") +
                            std::string(value) + R"(}, "objectives": )" + std::string(objectives) +
                            R"(, "measurements": [{"name": "time", "value": 1, "unit": "ms"}]}]})")
        .status();
  };

  EXPECT_TRUE(read("9223372036854775807", R"(["time"])").ok());
  EXPECT_EQ(read("1", R"(["energy"])").message(),
            "line 1, column 56: /results/0/objectives: the objective [\"energy\"] is not time.");
  EXPECT_FALSE(read("1", R"(["time", "energy"])").ok());
  EXPECT_EQ(read("18446744073709551615", R"(["time"])").message(),
            "line 1, column 38: /results/0/configuration/x: 18446744073709551615 does not fit into "
            "64 bits with a "
            "sign.");
  for (const char* longer : {"99999999999999999999", "-9223372036854775809"}) {
    EXPECT_THAT(read(longer, R"(["time"])").message(),
                testing::HasSubstr("does not fit into 64 bits"))
        << longer;
  }
}

TEST(TunerResultsTest, ResultsOfAnotherKernelNameTheParametersThatDiffer) {
  TunerResults results = *ReadTunerResults(kCache);
  const Parameter block_size = {"block_size_x", {int64_t{16}}};
  const Parameter mode = {"mode", {std::string("a")}};
  const Parameter tile = {"tile", {int64_t{1}}};

  EXPECT_TRUE(CheckOfKernel(results, std::vector{mode, block_size}).ok());
  EXPECT_EQ(CheckOfKernel(results, std::vector{block_size, mode, tile}).message(),
            "its results have other parameters: they lack tile, which the kernel has.");
  EXPECT_EQ(CheckOfKernel(results, std::vector{block_size, tile}).message(),
            "its results have other parameters: they lack tile, which the kernel has, and have "
            "mode, which the kernel has not.");
  results.tried.clear();
  EXPECT_EQ(CheckOfKernel(results, std::vector{block_size, mode}).message(),
            "there are no results in it.");
}

TEST(TunerResultsTest, ARecordedSpaceHasConfigsAndEachOnce) {
  TunerResults results = *ReadTunerResults(kCache);
  results.tried.push_back(results.tried[0]);

  EXPECT_EQ(WriteRecordedSpace(results).status().message(),
            "The config block_size_x=16,mode=a is recorded twice, as numbers 1 and 3 of these "
            "results, and a recorded space has each once. Leave one out.");
  results.tried.clear();
  EXPECT_THAT(WriteRecordedSpace(results).status().message(), HasSubstr("There is no config"));
}

TEST(TunerResultsTest, OfRecordsTheNewestOutcomeOfEachConfigCounts) {
  const auto trial = [](int64_t wg, auto outcome) {
    Record record;
    record.trial.candidate = {{"opencl.scale", 1}, {{"WG", wg}}};
    record.trial.outcome = outcome;
    return record;
  };
  Measurement slow;
  slow.median_ns = 3e6;
  slow.samples_ns = {3e6};
  Measurement fast = slow;
  fast.median_ns = 2e6;
  RecordedSet set;
  set.set.target.device = "A device";
  set.records = {trial(16, std::monostate()), trial(16, slow), trial(16, fast),
                 trial(32, Failure{FailureKind::kOutOfBounds, Phase::kVerify, "x"}),
                 trial(64, std::monostate())};

  const TunerResults results = ResultsOf(std::span(&set, 1), "opencl.scale");

  ASSERT_EQ(results.tried.size(), 2u);
  EXPECT_EQ(results.tried[0].time_ms, 2);
  EXPECT_EQ(results.tried[1].status, "correctness");
  EXPECT_EQ(results.parameters, std::vector<std::string>{"WG"});
  EXPECT_TRUE(ResultsOf(std::span(&set, 1), "opencl.other").tried.empty());
}

TEST(TunerResultsTest, OfRecordsWhatTryingAConfigTookIsToldToo) {
  Measurement screened;
  screened.median_ns = 1e5;
  screened.samples_ns = {1e5, 1e5, 1e5};
  Measurement final = screened;
  final.median_ns = 5e6;
  final.samples_ns = {5e6, 5e6};
  Record record;
  record.trial.candidate = {{"opencl.scale", 1}, {{"WG", int64_t{16}}}};
  record.trial.build_ns = 30'000'000;
  record.trial.load_ns = 4'000'000;
  RecordedSet set;
  Record qualified = record;
  qualified.trial.role = TrialRole::kQualify;
  qualified.verify_ns = 7'000'000;
  set.records.push_back(qualified);
  for (const Measurement& measured : {screened, final}) {
    record.trial.outcome = measured;
    set.records.push_back(record);
  }
  const RecordedSet sets[] = {set, set};

  const TriedConfig tried = ResultsOf(sets, "opencl.scale").tried.at(0);

  // Three blocks that short launches fill, and two of one launch each.
  EXPECT_DOUBLE_EQ(tried.benchmark_ms, 3 * 2 + 2 * 5);
  EXPECT_EQ(tried.compile_ms, 30);
  EXPECT_EQ(tried.framework_ms, 4);
  EXPECT_EQ(tried.verification_ms, 7);
}

TEST(TunerResultsTest, OneThatHungIsChargedWhatItWasWaitedFor) {
  Record hung;
  hung.trial.role = TrialRole::kQualify;
  hung.trial.candidate = {{"opencl.scale", 1}, {{"WG", int64_t{16}}}};
  hung.trial.outcome = Failure{FailureKind::kTimedOut, Phase::kVerify, "It hung."};
  hung.verify_ns = 20'000'000'000;
  RecordedSet set;
  set.records = {hung};

  const TunerResults results = ResultsOf(std::span(&set, 1), "opencl.scale");

  EXPECT_EQ(results.tried.at(0).status, "timeout");
  EXPECT_EQ(results.tried.at(0).verification_ms, 20000);
  EXPECT_EQ(*WriteRecordedSpace(results),
            "WG,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n"
            "16,timeout,,0,20000,0,0\n");
}

}  // namespace
}  // namespace attune
