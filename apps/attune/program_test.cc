// Tests of the parts of the program that need no device: durations, tables, texts for terminals and
// pages, progress lines, and the story of each candidate.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/counted.h"
#include "apps/attune/duration.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/progress.h"
#include "apps/attune/report/markup.h"
#include "apps/attune/report/page.h"
#include "apps/attune/report/svg.h"
#include "apps/attune/story.h"
#include "apps/attune/table.h"
#include "apps/attune/terminal.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CountedTest, OneIsSingular) {
  EXPECT_EQ(Counted(0, "job"), "0 jobs");
  EXPECT_EQ(Counted(size_t{1}, "job"), "1 job");
  EXPECT_EQ(Counted(int64_t{2}, "entry", "entries"), "2 entries");
  EXPECT_EQ(Counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(IsOrAre(1), "is");
  EXPECT_EQ(IsOrAre(0), "are");
}

TEST(JsonTest, ADocumentForOneOfManyIsOneLine) {
  EXPECT_EQ(DumpLine({{"a", {1, 2}}, {"b", "x\ny\xff"}}),
            "{\"a\":[1,2],\"b\":\"x\\ny\xEF\xBF\xBD\"}\n");
}

TEST(JsonTest, BytesOfAnyKindCanBeGotBack) {
  Json json = Json::object();
  PutBytes("plain", "gr\u00fcn\n\x1b[31m\t\\x41 \0!", json);
  PutBytes("raw", "a\xff\xc3", json);
  const Json read = Json::parse(Dump(json));
  EXPECT_EQ(read["plain"], "gr\u00fcn\n\x1b[31m\t\\x41 \0!");
  EXPECT_FALSE(read.contains("plain_hex"));
  EXPECT_EQ(read["raw"], "a\ufffd\ufffd");
  EXPECT_EQ(read["raw_hex"], "61ffc3");
}

TEST(DurationTest, EveryUnitIsRead) {
  EXPECT_EQ(*ParseDurationNs("7ns"), 7);
  EXPECT_EQ(*ParseDurationNs("500ms"), 500'000'000);
  EXPECT_EQ(*ParseDurationNs("1.5s"), 1'500'000'000);
  EXPECT_EQ(*ParseDurationNs("3m"), 180'000'000'000);
  EXPECT_EQ(*ParseDurationNs("1h"), 3'600'000'000'000);
  EXPECT_EQ(*ParseDurationNs("0"), 0);
}

TEST(DurationTest, WhatIsNoDurationIsRefused) {
  for (const char* text :
       {"", "5", "s", "-1s", "1e3s", "5 s", "5sec", "nans", "infs", "9999999h"}) {
    EXPECT_FALSE(ParseDurationNs(text).ok()) << text;
  }
}

TEST(DurationTest, TimesHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(FormatTime(1.234), "1.23 ns");
  EXPECT_EQ(FormatTime(999.6), "1.00 us");
  EXPECT_EQ(FormatTime(45'600), "45.6 us");
  EXPECT_EQ(FormatTime(123e6), "123 ms");
  EXPECT_EQ(FormatWait(3'905'000'000'000), "1h05m");
  EXPECT_EQ(FormatWait(59'400'000'000), "59s");
}

TEST(LabelTest, NoConfidenceIsEverWhole) {
  EXPECT_EQ(FormatConfidence(0.99), "99.0%");
  EXPECT_EQ(FormatConfidence(0.9961), "99.6%");
  EXPECT_EQ(FormatConfidence(0.99999), "99.9%");
  EXPECT_EQ(FormatConfidence(1), "99.9%");
}

TEST(TerminalTest, ForeignBytesCannotSteerATerminal) {
  EXPECT_EQ(Printable("a\x1b[31mb\n c\xff\xc2\x85\n"), "a\\x1b[31mb |  c\\xff\\xc2\\x85");
  EXPECT_EQ(Printable("grün"), "grün");
}

TEST(ShellWord, QuotesWhatAShellWouldDivideOrReplace) {
  EXPECT_EQ(ShellWord("june-2.1"), "june-2.1");
  EXPECT_EQ(ShellWord("my session"), "\"my session\"");
  EXPECT_EQ(ShellWord("a\"b$c`d\\e'f"), "\"a\\\"b\\$c\\`d\\\\e'f\"");
  EXPECT_EQ(ShellWord(""), "\"\"");
}

TEST(TerminalTest, WidthCountsCharactersAndNotColours) {
  EXPECT_EQ(DisplayWidth("\x1b[31mgrün\x1b[0m"), 4u);
  EXPECT_EQ(Shortened("grünes", 4), "grü…");
  EXPECT_EQ(Shortened("abcd", 4), "abcd");
}

TEST(TableTest, APipeGetsEverythingAndANarrowTerminalAnEllipsis) {
  Table table({{"name", Column::Align::kLeft, Column::Fit::kCut}, {"n", Column::Align::kRight}});
  table.AddRow({std::string(40, 'x'), "7"});

  const std::string piped = table.Render({false, false}, 20);
  const std::string shown = table.Render({true, false}, 20);

  EXPECT_THAT(piped, HasSubstr(std::string(40, 'x') + "  7\n"));
  EXPECT_THAT(shown, HasSubstr("xxxxxxxxxxxxxxxx…  7\n"));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
}

TEST(TableTest, OneLongCellGivesWayBeforeTheOtherColumnIsCut) {
  Table table({{"problem", Column::Align::kLeft, Column::Fit::kCut},
               {"candidate", Column::Align::kLeft, Column::Fit::kCut}});
  for (int i = 0; i < 4; ++i) table.AddRow({"short problem", "a candidate of thirty letters!"});
  table.AddRow({std::string(200, 'x'), "(no solver)"});

  const std::string shown = table.Render({true, false}, 60);
  const std::string piped = table.Render({false, false}, 60);

  EXPECT_THAT(shown, HasSubstr("short problem                 a candidate of thirty letters!\n"));
  EXPECT_THAT(shown, HasSubstr(std::string(27, 'x') + "…  (no solver)\n"));
  EXPECT_THAT(piped, HasSubstr(std::string(200, 'x') + "  (no solver)\n"));
}

TEST(LabelTest, PoolsAndBatchNormsAreNamedShortly) {
  const OtherOp pool{"pool",
                     {{"batchsize", "128"},
                      {"in_channels", "64"},
                      {"in_h", "112"},
                      {"in_w", "112"},
                      {"win_h", "3"},
                      {"win_w", "3"},
                      {"pad_h", "0"},
                      {"pad_w", "0"},
                      {"pool_stride_h", "2"},
                      {"pool_stride_w", "2"},
                      {"mode", "max"},
                      {"forw", "0"},
                      {"index_type", "miopenIndexUint8"},
                      {"type", "f16"}}};
  const OtherOp norm{"bnorm",
                     {{"batchsize", "32"},
                      {"in_channels", "3"},
                      {"in_d", "0"},
                      {"in_h", "8"},
                      {"in_w", "9"},
                      {"forw", "2"},
                      {"mode", "1"},
                      {"layout", "nhwc"}}};

  EXPECT_EQ(Label(pool), "pool 128x64x112x112 max 3x3 s2 f16");
  EXPECT_EQ(Label(norm), "bnorm infer 32x3x8x9 spatial nhwc f32");
  EXPECT_EQ(Label(OtherOp{"softmax", {{"letter_n", "3"}}}), "softmax letter_n=3");
}

TEST(MarkupTest, NothingForeignReachesThePageAsMarkup) {
  EXPECT_EQ(HtmlEscaped("<script>'\"&</script>"), "&lt;script&gt;&#39;&quot;&amp;&lt;/script&gt;");
  EXPECT_EQ(HtmlEscaped("a\x01\xff\xed\xa0\x80z"), "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz");
}

TEST(PageTest, ASpaceSaysHowMuchOfItWasTriedAndHowFarItsBestIsBehind) {
  ReportData data;
  SpaceView space;
  space.problem = *ParseProblem("gemm@1{m=8,n=8,k=8}");
  space.solver = {"opencl.gemm-tiled", 1};
  space.configs = 1200;
  space.tried = 150;
  space.failed = 147;
  space.ratios = {1.25, 2, 3};
  data.spaces = {space};

  const std::string page = RenderPage(data);

  EXPECT_THAT(page, HasSubstr("150 of 1200 configs tried: 3 timed, 147 failed; "
                              "the best takes 1.25x the winner's time, the median 2.00x"));
}

TEST(PageTest, TheMethodNamesTheRulesOfTheChoice) {
  const SelectOptions rules;

  const std::string page = RenderPage(ReportData());

  EXPECT_THAT(page, HasSubstr("with " + FormatConfidence(rules.confidence) + " confidence"));
}

// 8 MB of f32 are read and written in a millisecond.
Choice SoftmaxInAMillisecond() {
  Choice choice;
  choice.problem = *ParseProblem("softmax@2{outer=1000,length=1000}");
  choice.provenance = Provenance::kDefault;
  choice.measurement.median_ns = 1e6;
  choice.roofline_fraction = 0.4;
  return choice;
}

TEST(PageTest, WinnersOfMemoryBoundOperatorsHaveTheirBandwidth) {
  ReportProblem problem;
  problem.chosen.choice = SoftmaxInAMillisecond();
  problem.chosen.tagged.problem = problem.chosen.choice->problem;
  ReportData data;
  data.problems = {problem};

  const std::string page = RenderPage(data);

  EXPECT_THAT(page, HasSubstr("<td class=\"num\">8.00 GB/s</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"num\">40%</td>"));
}

TEST(RateTest, IsInTheUnitOfWhatLimitsTheOperator) {
  const Choice softmax = SoftmaxInAMillisecond();

  EXPECT_EQ(FormatRateOf(softmax.problem, 1e6), "8.00 GB/s");
  EXPECT_EQ(FormatRateOf(*ParseProblem("gemm@1{m=100,n=100,k=100}"), 1e6), "2.00 GFLOP/s");
  EXPECT_EQ(FormatRateOf(softmax.problem, 0), "");
  EXPECT_EQ(FormatRateOf(OtherOp{"pool", {}}, 1e6), "");
}

TEST(RateTest, JsonOfAChoiceHasBothRates) {
  Json json = ToJson(SoftmaxInAMillisecond());
  EXPECT_EQ(json["flops_per_second"], 5e9);
  EXPECT_EQ(json["bytes_per_second"], 8e9);

  json = ToJson(Choice());

  EXPECT_TRUE(json["flops_per_second"].is_null());
  EXPECT_TRUE(json["bytes_per_second"].is_null());
}

TEST(RooflineTest, NothingIsAboveItWithoutAReason) {
  const Problem product = *ParseProblem("gemm@1{m=512,n=512,k=512}");
  const Problem vector = *ParseProblem("gemm@1{m=512,n=1,k=512}");
  const Peaks peaks = {100e9, 50e9, 10e9};

  EXPECT_EQ(FormatRoofline(0.5), "50%");
  EXPECT_EQ(FormatRoofline(2.09), ">100%");
  EXPECT_EQ(FormatRoofline(0), "");
  EXPECT_EQ(RooflineNote(product, 1, peaks), "");
  EXPECT_THAT(RooflineNote(product, 2.09, peaks), HasSubstr("209% of the peak that was measured"));
  EXPECT_THAT(RooflineNote(vector, 2.09, peaks), HasSubstr("caches held the operands"));
}

TEST(ScaleTest, ValuesOutsideStopAtTheEdges) {
  const Scale scale = Scale::Log(1, 100, 0, 200);
  EXPECT_NEAR(scale.At(10), 100, 1e-9);
  EXPECT_EQ(scale.At(0), 0);
  EXPECT_EQ(scale.At(1e9), 200);
}

TEST(JsonTest, BytesThatAreNoTextBecomeReplacementCharacters) {
  const Json json = {{"message", std::string("a\xff") + "b"}};
  EXPECT_THAT(Dump(json), HasSubstr("a\uFFFDb"));
}

TEST(LabelTest, OnlyWhatIsUnusualIsNamed) {
  Conv conv;
  conv.batch = 4;
  conv.in_channels = 64;
  conv.out_channels = 32;
  conv.in = {1, 56, 56};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  EXPECT_EQ(Label(conv), "conv fwd 4x64x56x56 k32 3x3 p1 f32");
  Gemm gemm = PackedGemm(2, 3, 4);
  EXPECT_EQ(Label(Normalized(gemm)), "gemm 2x3x4 nn f32");
  gemm.alpha = ScalarClass::kZero;
  gemm.beta = ScalarClass::kOne;
  EXPECT_EQ(Label(Normalized(gemm)), "gemm 2x3x4 nn alpha zero +C f32");
}

RunProgress HalfWay(const Problem& problem) {
  RunProgress progress;
  progress.problem_index = 5;
  progress.problem_count = 10;
  progress.problem = &problem;
  progress.elapsed_ns = 60'000'000'000;
  progress.eta_ns = 61'000'000'000;
  return progress;
}

TEST(ProgressTest, TheLiveLineFitsAnyTerminal) {
  const Problem problem = Normalized(PackedGemm(512, 512, 512));
  for (const int width : {0, 1, 10, 40, 80, 200}) {
    EXPECT_LT(static_cast<int>(DisplayWidth(LiveLine(HalfWay(problem), width))),
              std::max(width, 1));
  }
}

TEST(ProgressTest, BothLinesSayHowFarAndHowLong) {
  const Problem problem = Normalized(PackedGemm(512, 512, 512));
  EXPECT_THAT(LiveLine(HalfWay(problem), 120), HasSubstr("[##########..........] 5/10"));
  EXPECT_THAT(LiveLine(HalfWay(problem), 120), HasSubstr("1m00s, 1m01s left"));
  EXPECT_THAT(PlainLine(HalfWay(problem)), HasSubstr("[5/10] 1m00s, 1m01s left: gemm 512"));
}

TEST(ProgressTest, TheReferenceIsAStageWithAShareOfItsOwn) {
  const Problem problem = Normalized(PackedGemm(512, 512, 512));
  RunProgress progress = HalfWay(problem);
  progress.tune.stage = TuneProgress::Stage::kReference;
  progress.tune.reference_share = 0.42;
  EXPECT_THAT(LiveLine(progress, 120), HasSubstr("reference: 42%"));
  EXPECT_THAT(PlainLine(progress), HasSubstr("reference: 42%"));
}

Record Screened(const char* solver, double median_ns, bool is_default) {
  Record record;
  record.trial.candidate.solver.name = solver;
  record.trial.role = TrialRole::kScreen;
  record.trial.is_default = is_default;
  Measurement measurement;
  measurement.median_ns = median_ns;
  record.trial.outcome = measurement;
  return record;
}

TEST(StoryTest, HeatsAreComparedThroughTheirDefaults) {
  RecordedSet set;
  // The second heat ran while the machine was half as fast.
  set.records = {Screened("x.default", 100, true), Screened("x.a", 50, false),
                 Screened("x.default", 200, true), Screened("x.b", 150, false)};

  const std::vector<Story> stories = StoriesOf(set);

  const Story* a = FindStory(stories, set.records[1].trial.candidate);
  const Story* b = FindStory(stories, set.records[3].trial.candidate);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_DOUBLE_EQ(TimeAgainst(*b, *a).value(), 1.5);
}

TEST(StoryTest, AFailureCountsWhateverWasMeasuredBefore) {
  RecordedSet set;
  set.records = {Screened("x.default", 100, true), Screened("x.a", 1, false)};
  Record failed = set.records[1];
  failed.trial.outcome = Failure{FailureKind::kCrashed, Phase::kMeasure, "signal 11"};
  set.records.push_back(failed);

  const std::vector<Story> stories = StoriesOf(set);

  EXPECT_EQ(stories.front().candidate.solver.name, "x.default");
  EXPECT_TRUE(stories.back().failure.has_value());
}

}  // namespace
}  // namespace attune
