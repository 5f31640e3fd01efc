#include "attune/tunable/own_results.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/problem_list.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/tunable/results_storage.h"
#include "attune/tunable/untuned_file.h"

namespace attune {
namespace {

TunableIdentity Home() {
  return {"0.1.0",
          {"host", "Example, \"CPU\": 100%", "x86-64-v3", 2, {{"isa", "fma"}}},
          {{"library.blis", "0.9.0"}, {"policy.wait", "passive"}, {"host.name", "here"}}};
}

// Takes `problem` and its variants of one field each, where they are problems.
template <class Value>
void Vary(std::vector<Problem>& problems, Value problem,
          std::initializer_list<void (*)(Value&)> changes) {
  for (const auto& change : changes) {
    Value changed = problem;
    change(changed);
    if constexpr (std::is_same_v<Value, Gemm>) changed = Normalized(changed);
    if (Validate(changed).ok()) problems.emplace_back(changed);
  }
}

void AddGemms(std::vector<Problem>& problems) {
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kF64, DataType::kF16, DataType::kBf16,
                                 DataType::kI8};
  for (const DataType type : kTypes) {
    for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
      Gemm gemm = PackedGemm(24, 16, 8, type);
      gemm.trans_a = (form & 1) != 0 ? Transpose::kYes : Transpose::kNo;
      gemm.trans_b = (form & 2) != 0 ? Transpose::kYes : Transpose::kNo;
      gemm.batch_count = (form & 4) != 0 ? 3 : 1;
      gemm.lda = gemm.ldb = gemm.ldc = 0;
      gemm.stride_a = gemm.stride_b = kPackedStride;
      Vary<Gemm>(
          problems, gemm,
          {[](Gemm&) {}, [](Gemm& g) { g.lda = g.ldb = g.ldc = 40; },
           [](Gemm& g) { g.beta = ScalarClass::kOne; },
           [](Gemm& g) { g.alpha = ScalarClass::kOther, g.beta = ScalarClass::kOther; },
           [](Gemm& g) { g.bias = Bias::kPerRow; }, [](Gemm& g) { g.bias = Bias::kPerColumn; },
           [](Gemm& g) { g.bias = Bias::kPerRow, g.activation = Activation::kGelu; },
           [](Gemm& g) { g.activation = Activation::kRelu; }, [](Gemm& g) { g.stride_a = 0; },
           [](Gemm& g) { g.stride_b = 4096; }, [](Gemm& g) { g.stride_c = 65536; },
           [](Gemm& g) { g.math = MathMode::kTf32; }, [](Gemm& g) { g.c_type = DataType::kF32; },
           [](Gemm& g) { g.alignment_bytes = 16; }, [](Gemm& g) { g.deterministic = true; }});
    }
  }
}

void AddConvs(std::vector<Problem>& problems) {
  for (const ConvDirection direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    Conv conv;
    conv.direction = direction;
    conv.batch = 2;
    conv.in_channels = conv.out_channels = 8;
    conv.in = {1, 9, 9};
    conv.filter = {1, 3, 3};
    Vary<Conv>(
        problems, conv,
        {[](Conv&) {}, [](Conv& c) { c.bias = true; }, [](Conv& c) { c.groups = 8; },
         [](Conv& c) {
           c.stride = {1, 2, 2};
         },
         [](Conv& c) {
           c.dilation = {1, 2, 1};
         },
         [](Conv& c) {
           c.pad = {0, 1, 1};
         },
         [](Conv& c) { c.type = DataType::kF16; }, [](Conv& c) { c.mode = ConvMode::kTransposed; },
         [](Conv& c) { c.math = MathMode::kTf32; },
         [](Conv& c) { c.in_layout = c.weights_layout = c.out_layout = Layout::kNhwc; },
         [](Conv& c) {
           c.spatial_rank = 3, c.in[0] = c.filter[0] = 3;
           c.in_layout = c.weights_layout = c.out_layout = Layout::kNdhwc;
         }});
  }
}

void AddNormalisations(std::vector<Problem>& problems) {
  Softmax softmax;
  softmax.outer = 12;
  softmax.length = 64;
  Vary<Softmax>(
      problems, softmax,
      {[](Softmax&) {}, [](Softmax& s) { s.inner = 7; }, [](Softmax& s) { s.backward = true; },
       [](Softmax& s) { s.logarithm = true; },
       [](Softmax& s) { s.mask = SoftmaxMask::kCausal, s.queries = 4; },
       [](Softmax& s) { s.mask = SoftmaxMask::kAdditive, s.queries = 4; },
       [](Softmax& s) { s.scaled = true; }, [](Softmax& s) { s.type = DataType::kBf16; },
       [](Softmax& s) { s.alignment_bytes = 16; }, [](Softmax& s) { s.deterministic = true; }});
  for (const BatchNormPass pass :
       {BatchNormPass::kTraining, BatchNormPass::kInference, BatchNormPass::kBackward}) {
    BatchNorm norm;
    norm.pass = pass;
    norm.batch = 4;
    norm.channels = 16;
    norm.height = norm.width = 9;
    Vary<BatchNorm>(
        problems, norm,
        {[](BatchNorm&) {}, [](BatchNorm& b) { b.mode = BatchNormMode::kPerActivation; },
         [](BatchNorm& b) { b.layout = BatchNormLayout::kNhwc; },
         [](BatchNorm& b) { b.layout = BatchNormLayout::kNcdhw, b.depth = 3; },
         [](BatchNorm& b) { b.affine = false; },
         [](BatchNorm& b) { b.running = b.pass == BatchNormPass::kTraining; },
         [](BatchNorm& b) { b.saved = b.pass != BatchNormPass::kInference; },
         [](BatchNorm& b) { b.fusion = BatchNormFusion::kRelu; },
         [](BatchNorm& b) { b.fusion = BatchNormFusion::kAddRelu; },
         [](BatchNorm& b) { b.type = DataType::kF16; }, [](BatchNorm& b) { b.alignment_bytes = 4; },
         [](BatchNorm& b) { b.deterministic = true; }});
  }
}

// Problems of every operator, and for each field a problem with an unusual value.
std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  AddGemms(problems);
  AddConvs(problems);
  AddNormalisations(problems);
  const char* const others[] = {
      ("kernel@1{content=0123456789abcdef0123456789abcdef,name=scale,operands=x in f32 96x4 "
       "uniform -1 1 y out f32 96x4,sizes=n 96 width 4,tolerance=0 1e-05}"),
      "conv_variant@1{n=1,type=i8,vector=4}", "pool@1{mode=max,n=2}",
      "other_gemm@1{params=nn_4_5_6,tunableop=GemmTunableOp,types=c10%3A%3Acomplex%3Cfloat%3E}",
      "bnorm@1{layout=NCHW}"};
  for (const char* const text : others) {
    const auto problem = ParseProblem(text);
    EXPECT_TRUE(problem.ok()) << problem.status().message();
    if (problem.ok()) problems.push_back(*problem);
  }
  std::set<std::string> seen;
  std::erase_if(problems,
                [&](const Problem& problem) { return !seen.insert(Text(problem)).second; });
  return problems;
}

std::vector<TunedProblem> Tuned() {
  std::vector<TunedProblem> tuned;
  for (const Problem& problem : Problems()) {
    const Candidate candidate{{"host.blis-gemm", 1},
                              {{"layout", std::string("any")}, {"threads", int64_t{2}}}};
    tuned.push_back({problem, {candidate, 1000.0 + static_cast<double>(tuned.size()) / 3}});
  }
  return tuned;
}

TEST(OwnResultsTest, EveryProblemIsReadBackUnderTheValidatorsOfThisPlace) {
  const std::vector<TunedProblem> tuned = Tuned();
  ASSERT_GT(tuned.size(), 300u);
  ResultTable table;

  const LoadReport report = LoadResults(ResultsFileText(tuned, Home()), Home(), table);

  EXPECT_EQ(report.accepted, std::ssize(tuned));
  EXPECT_TRUE(report.unreadable.empty());
  EXPECT_TRUE(report.rejected.empty());
  EXPECT_TRUE(report.differences.empty());
  for (const TunedProblem& problem : tuned) {
    const auto matches = table.Matching(problem.problem, true);
    ASSERT_EQ(matches.size(), 1u) << Text(problem.problem);
    EXPECT_EQ(*matches[0].result.problem, problem.problem);
    EXPECT_EQ(matches[0].matched_by, MatchedBy::kProblem);
    EXPECT_EQ(matches[0].result.line.milliseconds, problem.tuned.median_ns / 1e6);
    EXPECT_EQ(matches[0].result.line.solution, Text(problem.tuned.candidate));
  }
}

TEST(OwnResultsTest, ValidatorsAreThoseOfTheSectionThatThisPlaceWrites) {
  const ResultsFile file = ParseResultsFile(ResultsFileText(Tuned(), Home()));

  ASSERT_EQ(file.sections.size(), 1u);
  EXPECT_EQ(file.sections[0], ValidatorsOf(Home()));
  EXPECT_TRUE(IsSectionOf(file.sections[0], Home()));
}

TEST(OwnResultsTest, AListReadsEveryProblemOfAResultsFileAndOfAnUntunedFile) {
  std::string untuned;
  std::vector<std::string> texts;
  for (const Problem& problem : Problems()) {
    untuned += UntunedLine(problem, false) + "\n";
    texts.push_back(Text(problem));
  }

  for (const std::string& content : {untuned, ResultsFileText(Tuned(), Home())}) {
    const ProblemList list = ReadProblemList(content);
    for (const RejectedLine& line : list.rejected)
      ADD_FAILURE() << line.line << ": " << line.reason;
    std::vector<std::string> read;
    for (const ListedProblem& listed : list.problems) read.push_back(listed.text);
    EXPECT_EQ(read, texts);
  }
}

}  // namespace
}  // namespace attune
