// Imports of MIOpen's databases: looked up by problems, and put together again.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/formats/miopen/imported_choice.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/conv/conv.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::miopen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kKey = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr std::string_view kRecord =
    "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
    "ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect;"
    "ConvHipImplicitGemmV4Fwd:0.1,0,miopenConvolutionFwdAlgoImplicitGEMM;"
    "GemmFwdRest:1119.0,7225344,miopenConvolutionFwdAlgoGEMM\n";
constexpr std::string_view kParameters =
    "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm3x3U:7,8,4\n";

Problem ProblemFor(std::string_view key) {
  const auto parsed = ReadFindKey(key);
  EXPECT_TRUE(parsed.has_value());
  const auto conv = ProblemOf(*parsed);
  EXPECT_TRUE(conv.ok()) << conv.status().message();
  return *conv;
}

class ImportsTest : public ::testing::Test {
 protected:
  void Import(std::string_view kind, const std::string& target, const std::string& name,
              const std::vector<ImportedLine>& lines) {
    ImportedFile file;
    file.kind = kind;
    file.target = target;
    file.name = name;
    file.content = FingerprintOf(name);
    const auto id = imports_->Begin(file);
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_EQ(imports_->Append(*id, lines), Status::Ok());
    ASSERT_EQ(imports_->Finish(*id).status(), Status::Ok());
  }

  void ImportFindDb(const std::string& target, const std::string& name, std::string_view text) {
    Findings findings;
    Import(kFindDbKind, target, name, LinesOf(ReadFindDb(text, findings)));
  }

  void ImportPerfDb(const std::string& target, const std::string& name, std::string_view text) {
    Findings findings;
    Import(kPerfDbKind, target, name, LinesOf(ReadPerfDb(text, findings)));
    EXPECT_EQ(findings.total(), 0);
  }

  void ImportBatchNormDb(const std::string& target, const std::string& name,
                         std::string_view text) {
    Findings findings;
    Import(kBatchNormDbKind, target, name, LinesOf(ReadBatchNormDb(text, findings)));
    EXPECT_EQ(findings.total(), 0);
  }

  // The answer to a question that has one.
  ImportedAnswer Asked(const std::string& target, const Problem& problem) {
    auto answer = AskImports(*imports_, target, problem);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_TRUE(answer.ok() && answer->has_value());
    return answer.ok() && answer->has_value() ? **answer : ImportedAnswer();
  }

  TemporaryFolder folder_;
  std::unique_ptr<ImportStore> imports_ = ImportsIn(*OpenSqlDatabase(folder_.path() / "attune.db"));
};

TEST_F(ImportsTest, AProblemIsFoundUnderTheKeyThatMiopenHasForItsTensors) {
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt",
               "960-1-1-1x1-240-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-F="
               "ConvAsm1x1U:0.25,0,miopenConvolutionFwdAlgoDirect\n");
  Conv conv = ProblemFor("960-1-1-1x1-240-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-F").Get<Conv>();
  conv.in_layout = conv.weights_layout = conv.out_layout = Layout::kNhwc;

  const auto answer = AskImports(*imports_, "gfx906_60", conv);

  ASSERT_TRUE(answer.ok() && answer->has_value());
  EXPECT_EQ((*answer)->ranking.at(0).choice.solver, "ConvAsm1x1U");
  // The gradient of a transposed convolution's data is a plain one forward.
  Conv transposed = conv;
  transposed.mode = ConvMode::kTransposed;
  transposed.direction = ConvDirection::kBackwardData;
  std::swap(transposed.in_channels, transposed.out_channels);
  EXPECT_TRUE(AskImports(*imports_, "gfx906_60", transposed)->has_value());
  conv.batch = 17;
  EXPECT_FALSE(AskImports(*imports_, "gfx906_60", conv)->has_value());
}

TEST_F(ImportsTest, OfABatchNormTheNewestParametersAreToldWithoutATime) {
  ImportBatchNormDb("gfx942130", "batchnorm_gfx942130.db.txt",
                    "2x2x8x35x3x1x1x0x0xNHWCxTrnxFP32x1=BnCKFwdTraining:old\n");
  ImportBatchNormDb("gfx942130", "batchnorm_gfx942130.HIP.3_5_1.udb.txt",
                    "2x2x8x35x3x1x1x0x0xNHWCxTrnxFP32x1="
                    "BnCKFwdTraining:DeviceBatchNormFwdImpl<256,M_C128_S2>;"
                    "BnFwdTrainingSpatial:Variant1-4\n");
  ImportPerfDb("gfx942130", "gfx942130.db.txt", kParameters);
  BatchNorm norm;
  norm.batch = 2;
  norm.channels = 8;
  norm.depth = 5;
  norm.height = 7;
  norm.width = 3;
  norm.layout = BatchNormLayout::kNdhwc;
  norm.saved = true;

  const ImportedAnswer answer = Asked("gfx942130", norm);

  EXPECT_TRUE(answer.ranking.empty());
  EXPECT_EQ(answer.file, "batchnorm_gfx942130.HIP.3_5_1.udb.txt");
  EXPECT_EQ(answer.line, 1);
  EXPECT_THAT(answer.notes,
              ElementsAre("BnCKFwdTraining has parameters DeviceBatchNormFwdImpl<256,M_C128_S2>, "
                          "and MIOpen keeps no times of batch norms.",
                          HasSubstr("Variant1-4")));
  // The flat one that computes the same has the same key.
  norm.depth = 1;
  norm.height = 35;
  norm.layout = BatchNormLayout::kNhwc;
  EXPECT_EQ(Asked("gfx942130", norm).notes, answer.notes);
  norm.fusion = BatchNormFusion::kRelu;
  EXPECT_FALSE(AskImports(*imports_, "gfx942130", norm)->has_value());
}

TEST_F(ImportsTest, ASolverThatMiopenNeverHadForBatchNormsIsPassedOver) {
  Findings findings;
  Import(kBatchNormDbKind, "gfx942130", "batchnorm_gfx942130.db.txt",
         LinesOf(ReadBatchNormDb("2x2x8x1x1x1x0x0x0xNCHWxInfxFP32x1=BnNone:1\n", findings)));
  BatchNorm norm;
  norm.pass = BatchNormPass::kInference;
  norm.batch = 2;
  norm.channels = 8;

  EXPECT_THAT(Asked("gfx942130", norm).notes,
              ElementsAre("BnNone is passed over: MIOpen has no such solver of batch norms."));
}

TEST_F(ImportsTest, ADamagedLineOfABatchNormIsNoAnswer) {
  Findings findings;
  auto lines = LinesOf(ReadBatchNormDb(
      "2x2x8x35x3x1x1x0x0xNCHWxTrnxFP32x1=BnCKFwdTraining:1;BnFwdTrainingSpatial:2\n", findings));
  ASSERT_EQ(lines.size(), 1u);
  lines[0].text.resize(lines[0].text.size() - 2);
  Import(kBatchNormDbKind, "gfx942130", "batchnorm_gfx942130.db.txt", lines);
  BatchNorm norm;
  norm.batch = 2;
  norm.channels = 8;
  norm.height = 35;
  norm.width = 3;
  norm.saved = true;

  EXPECT_EQ(AskImports(*imports_, "gfx942130", norm).status().code(), StatusCode::kDataLoss);
}

TEST_F(ImportsTest, TheQuickestComesFirstWithItsParametersAndItsLine) {
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  ImportPerfDb("gfx906_60", "a.db.txt", kParameters);

  const ImportedAnswer answer = Asked("gfx906_60", ProblemFor(kKey));

  ASSERT_EQ(answer.ranking.size(), 2);
  EXPECT_EQ(answer.ranking[0].choice, (SolverChoice{"ConvAsm3x3U", "7,8,4"}));
  EXPECT_EQ(answer.ranking[0].time_ns, 250'000);
  EXPECT_EQ(answer.ranking[1].choice, (SolverChoice{"GemmFwdRest", ""}));
  EXPECT_EQ(answer.ranking[1].workspace_bytes, 7'225'344);
  EXPECT_EQ(answer.file, "a.HIP.fdb.txt");
  EXPECT_EQ(answer.line, 1);
  EXPECT_EQ(answer.parameters_file, "a.db.txt");
  EXPECT_THAT(answer.notes, ElementsAre(HasSubstr("ConvHipImplicitGemmV4Fwd (0.1 ms)")))
      << "MIOpen has it no more, so that its time counts for nothing.";
}

TEST_F(ImportsTest, ParametersOfAnotherGpuAreNotTaken) {
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  ImportPerfDb("gfx906_64", "b.db.txt", kParameters);

  EXPECT_EQ(Asked("gfx906_60", ProblemFor(kKey)).ranking[0].choice.params, "");
}

TEST_F(ImportsTest, TheNewestFileHasTheWord) {
  const std::string slower = fmt::format("{}=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM\n", kKey);
  ImportFindDb("gfx906_60", "old.HIP.fdb.txt", kRecord);
  ImportFindDb("gfx906_60", "new.HIP.fdb.txt", slower);

  const ImportedAnswer answer = Asked("gfx906_60", ProblemFor(kKey));

  EXPECT_EQ(answer.file, "new.HIP.fdb.txt");
  ASSERT_EQ(answer.ranking.size(), 1);
  EXPECT_EQ(answer.ranking[0].time_ns, 2'000'000);
}

TEST_F(ImportsTest, AFileThatIsImportedAgainHasTheWordAgain) {
  const std::string slower = fmt::format("{}=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM\n", kKey);
  ImportFindDb("gfx906_60", "old.HIP.fdb.txt", kRecord);
  ImportFindDb("gfx906_60", "new.HIP.fdb.txt", slower);
  const std::vector<ImportedFile> files = *imports_->Files();

  EXPECT_TRUE(*imports_->Renew(files.front().id));

  EXPECT_EQ(Asked("gfx906_60", ProblemFor(kKey)).file, "old.HIP.fdb.txt");
}

TEST_F(ImportsTest, TimesOfOpenClAnswerWhereNoOthersDo) {
  const std::string other = "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F";
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  ImportFindDb("gfx906_60", "a.OpenCL.fdb.txt",
               fmt::format("{}=GemmFwdRest:0.01,0,miopenConvolutionFwdAlgoGEMM\n"
                           "{}=GemmFwdRest:0.02,0,miopenConvolutionFwdAlgoGEMM\n",
                           kKey, other));

  EXPECT_EQ(Asked("gfx906_60", ProblemFor(kKey)).file, "a.HIP.fdb.txt");
  EXPECT_EQ(Asked("gfx906_60", ProblemFor(other)).file, "a.OpenCL.fdb.txt");
}

TEST_F(ImportsTest, AnAlgorithmThatIsNoneIsNoAnswer) {
  // A comma in place of the point of 1.5 ms.
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt",
               fmt::format("{}=GemmFwdRest:1,5,0,miopenConvolutionFwdAlgoGEMM;"
                           "ConvAsm3x3U:4,0,miopenConvolutionFwdAlgoDirect\n",
                           kKey));

  const ImportedAnswer answer = Asked("gfx906_60", ProblemFor(kKey));

  ASSERT_EQ(answer.ranking.size(), 1);
  EXPECT_EQ(answer.ranking[0].choice.solver, "ConvAsm3x3U");
  EXPECT_THAT(answer.notes, ElementsAre(HasSubstr("is no algorithm of this direction")));
}

TEST_F(ImportsTest, BackwardKeysAnswerForTheProblemsThatTheyMean) {
  const std::string key = "128-28-28-1x1-64-56-56-32-0x0-2x2-1x1-0-NCHW-FP16-B";
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt",
               key + "=GemmBwd1x1_stride2:1,0,miopenConvolutionBwdDataAlgoGEMM\n");

  const Problem problem =
      *ParseProblem("conv@1{dir=bwd_data,n=32,c=64,h=56,w=56,k=128,fh=1,fw=1,sh=2,sw=2,type=f16}");

  EXPECT_EQ(Asked("gfx906_60", problem).ranking[0].choice.solver, "GemmBwd1x1_stride2");
}

TEST_F(ImportsTest, WhatIsNotKnownIsToldFromWhatWasNeverImported) {
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  const Problem other = *ParseProblem("conv@1{dir=fwd,n=1,c=1,h=4,w=4,k=1,fh=1,fw=1}");

  const auto unknown = AskImports(*imports_, "gfx906_60", other);
  const auto elsewhere = AskImports(*imports_, "gfx90a68", other);

  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->has_value());
  EXPECT_EQ(elsewhere.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(elsewhere.status().message(), HasSubstr("imported databases: gfx906_60"));
}

TEST_F(ImportsTest, AKeyThatMeansNoProblemIsKeptAndAnswersNothing) {
  const std::string key = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F";
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt",
               key + "=GemmFwdRest:1,0,miopenConvolutionFwdAlgoGEMM\n");

  EXPECT_EQ(imports_->Files()->front().line_count, 1);
  EXPECT_EQ(imports_->Find(FingerprintOf(key))->size(), 1);
}

TEST_F(ImportsTest, ALineThatHasLostPartOfAnItemIsDamagedAndAnswersNothing) {
  const std::string gemm = fmt::format("{}=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM", kKey);
  const ImportedLine line{KeyOf(ProblemFor(kKey)), 7, gemm + ";ConvAsm3x3U:0.2,0"};
  Import(kFindDbKind, "gfx906_60", "a.HIP.fdb.txt", {line});

  const auto answer = AskImports(*imports_, "gfx906_60", ProblemFor(kKey));

  EXPECT_EQ(answer.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(answer.status().message(), HasSubstr("Line 7 of imported file 1 ('a.HIP.fdb.txt')"));
  std::string parameters(kParameters);
  parameters.back() = ';';
  EXPECT_EQ(PerfRecordOf({}, {{}, 1, parameters + "ConvAsm1x1U:"}).status().code(),
            StatusCode::kDataLoss);
  // A time that an earlier version believed is no damage.
  const std::string impossible = gemm + ";ConvAsm3x3U:0,0,miopenConvolutionFwdAlgoDirect";
  const auto record = FindRecordOf({}, {{}, 1, impossible});
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->items.size(), 1u);
}

// Images of 13 and of 14 points have gradients of 7 with a stride of 2, all that a perf-db's key
// has.
constexpr std::string_view kKeyOf13 = "64-7-7-3x3-32-13-13-8-1x1-2x2-1x1-0-NCHW-FP32-B";
constexpr std::string_view kKeyOf14 = "64-7-7-3x3-32-14-14-8-1x1-2x2-1x1-0-NCHW-FP32-B";
constexpr std::string_view kItem =
    "ConvHipImplicitGemmBwdDataV4R1:0.1,0,miopenConvolutionBwdDataAlgoImplicitGEMM";

TEST_F(ImportsTest, ParametersOfTheOldestTextAreOfTheProblemWithTheWholeKey) {
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt",
               fmt::format("{}={}\n{}={}\n", kKeyOf13, kItem, kKeyOf14, kItem));
  ImportPerfDb("gfx906_60", "a.cd.pdb.txt",
               fmt::format("{}=ConvHipImplicitGemmBwdDataV4R1:13,13\n"
                           "{}=ConvHipImplicitGemmBwdDataV4R1:14,14\n",
                           kKeyOf13, kKeyOf14));

  const ImportedAnswer of_13 = Asked("gfx906_60", ProblemFor(kKeyOf13));
  const ImportedAnswer of_14 = Asked("gfx906_60", ProblemFor(kKeyOf14));

  EXPECT_EQ(of_13.ranking.at(0).choice.params, "13,13");
  EXPECT_EQ(of_14.ranking.at(0).choice.params, "14,14");
}

TEST_F(ImportsTest, AnOlderPerfDbHasTheParametersThatTheOldestTextHasForAnotherProblem) {
  const auto key = ReadFindKey(kKeyOf14);
  ImportFindDb("gfx906_60", "a.HIP.fdb.txt", fmt::format("{}={}\n", kKeyOf14, kItem));
  ImportPerfDb("gfx906_60", "a.db.txt",
               fmt::format("{}=ConvHipImplicitGemmBwdDataV4R1:1,1\n", Text(PerfKeyOf(*key))));
  ImportPerfDb("gfx906_60", "a.cd.pdb.txt",
               fmt::format("{}=ConvHipImplicitGemmBwdDataV4R1:13,13\n", kKeyOf13));

  const ImportedAnswer answer = Asked("gfx906_60", ProblemFor(kKeyOf14));

  EXPECT_EQ(answer.ranking.at(0).choice.params, "1,1");
}

TEST_F(ImportsTest, ARecordOfWhoseTimesNoneIsBelievedAnyMoreAnswersNothingAndIsNoDamage) {
  const ImportedLine line{
      KeyOf(ProblemFor(kKey)), 7,
      fmt::format("{}=GemmFwdRest:0.00005,0,miopenConvolutionFwdAlgoGEMM", kKey)};
  Import(kFindDbKind, "gfx906_60", "a.HIP.fdb.txt", {line});

  const ImportedAnswer answer = Asked("gfx906_60", ProblemFor(kKey));

  EXPECT_TRUE(answer.ranking.empty());
  EXPECT_EQ(answer.line, 7);
  EXPECT_THAT(answer.notes, ElementsAre(HasSubstr("0.00005 ms is less than")));
  const auto record = FindRecordOf({}, line);
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->key, kKey);
  EXPECT_TRUE(LinesOf(FindDb{{*record}}).empty());
  // An item without one of its fields cannot be identified.
  EXPECT_EQ(FindRecordOf({}, {{}, 7, line.text + ";ConvAsm3x3U:0.2,0"}).status().code(),
            StatusCode::kDataLoss);
}

TEST(SolverCandidateTest, EverySolverAndEveryFormOfParametersHasATextThatReadsBack) {
  const std::string params[] = {
      "",
      "1,16,1,64,2,1,1,4",
      "72",
      "-1,abc",
      "wrw,nhwc,fp16,0,82[1]",
      "DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 32, 64, 4, Default, 8>+128",
      "_x",
      "%:+"};
  for (const SolverFacts& solver : KnownSolvers()) {
    for (const std::string& each : params) {
      const SolverChoice choice{std::string(solver.name), each};
      const std::string text = attune::Text(CandidateOf(choice));
      const auto parsed = ParseCandidate(text);
      ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status().message();
      EXPECT_EQ(SolverChoiceOf(*parsed), choice) << text;
    }
  }
  EXPECT_EQ(attune::Text(CandidateOf({"ConvOclBwdWrW2<16>", "1,16"})),
            "miopen.conv@1{params=_1+16,solver=ConvOclBwdWrW2:3c16:3e}");
  EXPECT_EQ(SolverChoiceOf(*ParseCandidate("host.openblas-gemm@1{}")), std::nullopt);
  EXPECT_EQ(SolverChoiceOf(*ParseCandidate("miopen.conv@1{params=_1}")), std::nullopt);
}

// A code object that does not compress, so that its blob has several parts.
std::string LargeCode() {
  std::string code;
  uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525 + 1013904223;
    code += static_cast<char>(state >> 24);
  }
  return code;
}

TEST(KernelLinesTest, KernelsOfAnySizeArePutTogetherAgain) {
  for (const std::string& code : {std::string("x"), std::string(100'000, 'x'), LargeCode()}) {
    KernelRow row = *RowFor("conv 1x1.s.o", " -Wa,-defsym,a=1 -mcpu=gfx906 '%'", code);
    row.id = 7;
    std::vector<KernelRow> rows;
    KernelAssembler assembler([&rows](const KernelRow& each) {
      rows.push_back(each);
      return Status::Ok();
    });
    for (const ImportedLine& line : LinesOf(row)) {
      ASSERT_EQ(assembler.Add(line), Status::Ok());
    }
    EXPECT_EQ(assembler.Finish(), Status::Ok());
    EXPECT_THAT(rows, ElementsAre(row));
  }
}

TEST(KernelLinesTest, ALineThatIsMissingOrAnotherOneIsDamage) {
  const std::vector<ImportedLine> lines = LinesOf(*RowFor("a.o", "", LargeCode()));
  ASSERT_GT(lines.size(), 3);
  const auto ignore = [](const KernelRow&) { return Status::Ok(); };
  KernelAssembler cut(ignore);
  EXPECT_EQ(cut.Add(lines[0]), Status::Ok());
  EXPECT_EQ(cut.Add(lines[1]), Status::Ok());
  EXPECT_EQ(cut.Finish().code(), StatusCode::kDataLoss);
  EXPECT_EQ(cut.Add(lines[0]).code(), StatusCode::kDataLoss) << "The first is not whole.";
  KernelAssembler headless(ignore);
  EXPECT_EQ(headless.Add(lines[1]).code(), StatusCode::kDataLoss);
  KernelAssembler garbled(ignore);
  EXPECT_EQ(garbled.Add(lines[0]), Status::Ok());
  ImportedLine line = lines[1];
  line.text[100] = '!';
  EXPECT_EQ(garbled.Add(line).code(), StatusCode::kDataLoss);
  line.text[100] = '=';
  EXPECT_EQ(garbled.Add(line).code(), StatusCode::kDataLoss) << "Bits that the decoder makes up.";
}

TEST(KernelLinesTest, AHeadThatIsNoneOfThoseWrittenIsDamage) {
  const auto ignore = [](const KernelRow&) { return Status::Ok(); };
  const ImportedLine sound = LinesOf(*RowFor("a b.o", " -O3", "code"))[0];
  ASSERT_EQ(KernelAssembler(ignore).Add(sound), Status::Ok());
  const size_t length = sound.text.find(" 5 ");
  ASSERT_NE(length, std::string::npos) << sound.text;
  for (const char* const damage : {" 9999 ", " x ", "  ", " 05 ", " -5 "}) {
    ImportedLine line = sound;
    line.text.replace(length, 3, damage);
    EXPECT_EQ(KernelAssembler(ignore).Add(line).code(), StatusCode::kDataLoss) << line.text;
  }
}

}  // namespace
}  // namespace attune::miopen
