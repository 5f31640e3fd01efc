#include "attune/index/import_index.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/index/index_writer.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kDatabase = "00112233445566778899aabbccddeeff";
constexpr std::string_view kKey = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr std::string_view kRecord =
    "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
    "ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect;"
    "ConvHipImplicitGemmV4Fwd:0.1,0,miopenConvolutionFwdAlgoImplicitGEMM;"
    "GemmFwdRest:1119.0,7225344,miopenConvolutionFwdAlgoGEMM\n";
constexpr std::string_view kParameters =
    "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm3x3U:7,8,4\n";

class MemoryImports final : public ImportStore {
 public:
  void Add(std::string_view kind, std::string target, std::string name,
           std::vector<ImportedLine> lines) {
    ImportedFile& file = files_.emplace_back();
    file.id = static_cast<int64_t>(files_.size());
    file.kind = kind;
    file.target = std::move(target);
    file.name = std::move(name);
    file.imported_unix_ns = 1'700'000'000'000'000'000 + file.id;
    file.line_count = static_cast<int64_t>(lines.size());
    file.revision = 10 * file.id;
    lines_.push_back(std::move(lines));
  }
  void AddFindDb(std::string target, std::string name, std::string_view text) {
    miopen::Findings findings;
    Add(miopen::kFindDbKind, std::move(target), std::move(name),
        miopen::LinesOf(miopen::ReadFindDb(text, findings)));
  }
  void AddPerfDb(std::string target, std::string name, std::string_view text) {
    miopen::Findings findings;
    Add(miopen::kPerfDbKind, std::move(target), std::move(name),
        miopen::LinesOf(miopen::ReadPerfDb(text, findings)));
  }
  int visits() const { return visits_; }

  Result<int64_t> Begin(const ImportedFile&) override { return Refuse(); }
  Status Append(int64_t, std::span<const ImportedLine>) override { return Refuse(); }
  Result<ImportEnd> Finish(int64_t) override { return Refuse(); }
  Result<bool> Renew(int64_t) override { return Refuse(); }
  Status RemoveAbandoned() override { return Refuse(); }
  Result<std::vector<ImportedFile>> Files() override { return files_; }
  Status Visit(int64_t file_id, const std::function<Status(const ImportedLine&)>& visit) override {
    ++visits_;
    for (const ImportedLine& line : lines_.at(static_cast<size_t>(file_id) - 1)) {
      ATTUNE_RETURN_IF_ERROR(visit(line));
    }
    return Status::Ok();
  }
  Result<std::vector<std::pair<ImportedFile, ImportedLine>>> Find(const Fingerprint& key) override {
    std::vector<std::pair<ImportedFile, ImportedLine>> found;
    for (size_t i = files_.size(); i-- > 0;) {
      for (const ImportedLine& line : lines_[i]) {
        if (line.key == key) found.emplace_back(files_[i], line);
      }
    }
    return found;
  }

 private:
  static Status Refuse() { return Unsupported("This store is only read."); }

  std::vector<ImportedFile> files_;  // In order of their revisions.
  std::vector<std::vector<ImportedLine>> lines_;
  int visits_ = 0;
};

Problem ProblemFor(std::string_view key) { return *miopen::ProblemOf(*miopen::ReadFindKey(key)); }

class ImportIndexTest : public ::testing::Test {
 protected:
  ImportIndexRefresh Refresh(std::string_view target = "gfx906_60") {
    const auto refresh =
        RefreshImportIndex(imports_, {std::string(kDatabase), std::string(target)}, path_);
    EXPECT_EQ(refresh.status(), Status::Ok());
    return refresh.value_or(ImportIndexRefresh());
  }
  // The choices of the index for `problem`.
  std::vector<IndexedChoice> Choices(const Problem& problem) {
    return std::move(*(*ChoiceIndex::Open(path_))->Find(problem));
  }

  TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "attune.db.gfx906_60.index";
  MemoryImports imports_;
};

TEST_F(ImportIndexTest, TheQuickestComesFirstWithItsParametersAndItsFile) {
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  imports_.AddPerfDb("gfx906_60", "a.db.txt", kParameters);

  const ImportIndexRefresh refresh = Refresh();

  EXPECT_EQ(refresh.identity, (IndexIdentity{std::string(kDatabase), 20}));
  EXPECT_EQ(refresh.problems, 1);
  const std::vector<IndexedChoice> choices = Choices(ProblemFor(kKey));
  ASSERT_EQ(choices.size(), 1);
  const IndexedChoice& choice = choices.front();
  ASSERT_EQ(choice.ranking.size(), 2);
  EXPECT_EQ(Text(choice.best().candidate), "miopen.conv@1{params=_7+8+4,solver=ConvAsm3x3U}");
  EXPECT_EQ(choice.best().median_ns, 250'000);
  EXPECT_EQ(Text(choice.ranking[1].candidate), "miopen.conv@1{solver=GemmFwdRest}");
  EXPECT_EQ(choice.ranking[1].workspace_bytes, 7'225'344);
  EXPECT_EQ(Text(*choice.target), "miopen:gfx906_60:gfx906:60{}");
  EXPECT_EQ(ImportedFileOf(choice), "a.HIP.fdb.txt");
  EXPECT_EQ(choice.started_unix_ns, 1'700'000'000'000'000'001);
}

TEST_F(ImportIndexTest, TheBestIsFoundUnparsed) {
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  Refresh();
  const auto index = std::move(*ChoiceIndex::Open(path_));

  const auto best = index->FindBest(ProblemFor(kKey));
  const auto unknown =
      index->FindBest(ProblemFor("64-56-56-3x3-64-56-56-33-1x1-1x1-1x1-0-NCHW-FP32-F"));

  ASSERT_TRUE(best.ok() && best->has_value());
  EXPECT_EQ((*best)->candidate, "miopen.conv@1{solver=ConvAsm3x3U}");
  EXPECT_EQ((*best)->median_ns, 250'000);
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->has_value());
}

// Images of 13 and of 14 points have gradients of 7 with a stride of 2, and a perf-db's key has
// only these.
TEST_F(ImportIndexTest, ParametersOfTheOldestTextAreOfTheProblemWithTheWholeKey) {
  const std::string key_of_13 = "64-7-7-3x3-32-13-13-8-1x1-2x2-1x1-0-NCHW-FP32-B";
  const std::string key_of_14 = "64-7-7-3x3-32-14-14-8-1x1-2x2-1x1-0-NCHW-FP32-B";
  constexpr std::string_view kItem =
      "ConvHipImplicitGemmBwdDataV4R1:0.1,0,miopenConvolutionBwdDataAlgoImplicitGEMM";
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt",
                     fmt::format("{}={}\n{}={}\n", key_of_13, kItem, key_of_14, kItem));
  imports_.AddPerfDb("gfx906_60", "a.cd.pdb.txt",
                     fmt::format("{}=ConvHipImplicitGemmBwdDataV4R1:13,13\n"
                                 "{}=ConvHipImplicitGemmBwdDataV4R1:14,14\n",
                                 key_of_13, key_of_14));
  Refresh();

  const std::vector<IndexedChoice> of_13 = Choices(ProblemFor(key_of_13));
  const std::vector<IndexedChoice> of_14 = Choices(ProblemFor(key_of_14));

  EXPECT_THAT(Text(of_13.at(0).best().candidate), HasSubstr("params=_13+13"));
  EXPECT_THAT(Text(of_14.at(0).best().candidate), HasSubstr("params=_14+14"));
}

TEST_F(ImportIndexTest, ARecordOfWhoseTimesNoneIsBelievedAnyMoreStopsNoOther) {
  const Problem other = ProblemFor("64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F");
  miopen::Findings findings;
  std::vector<ImportedLine> lines = miopen::LinesOf(miopen::ReadFindDb(kRecord, findings));
  lines.push_back({KeyOf(other), 2,
                   "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F="
                   "GemmFwdRest:0.00005,0,miopenConvolutionFwdAlgoGEMM"});
  imports_.Add(miopen::kFindDbKind, "gfx906_60", "a.HIP.fdb.txt", lines);

  const ImportIndexRefresh refresh = Refresh();

  EXPECT_EQ(refresh.problems, 1);
  EXPECT_EQ(Choices(ProblemFor(kKey)).size(), 1);
  EXPECT_THAT(Choices(other), IsEmpty());
}

TEST_F(ImportIndexTest, TheNewestFileHasTheWordAlsoWhereItHasNoAnswer) {
  const std::string other = "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F";
  imports_.AddFindDb(
      "gfx906_60", "old.HIP.fdb.txt",
      fmt::format("{}{}=GemmFwdRest:3,0,miopenConvolutionFwdAlgoGEMM\n", kRecord, other));
  imports_.AddFindDb(
      "gfx906_60", "new.HIP.fdb.txt",
      fmt::format("{}=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM\n"
                  "{}=ConvHipImplicitGemmV4Fwd:1,0,miopenConvolutionFwdAlgoImplicitGEMM\n",
                  kKey, other));

  EXPECT_EQ(Refresh().problems, 1);

  const std::vector<IndexedChoice> choices = Choices(ProblemFor(kKey));
  ASSERT_EQ(choices.size(), 1);
  EXPECT_EQ(ImportedFileOf(choices.front()), "new.HIP.fdb.txt");
  EXPECT_EQ(choices.front().best().median_ns, 2'000'000);
  EXPECT_THAT(Choices(ProblemFor(other)), IsEmpty()) << "MIOpen does not have the solver any more.";
}

TEST_F(ImportIndexTest, TimesOfOpenClAnswerWhereNoOthersDo) {
  const std::string other = "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F";
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  imports_.AddFindDb("gfx906_60", "a.OpenCL.fdb.txt",
                     fmt::format("{}=GemmFwdRest:0.01,0,miopenConvolutionFwdAlgoGEMM\n"
                                 "{}=GemmFwdRest:0.02,0,miopenConvolutionFwdAlgoGEMM\n",
                                 kKey, other));

  EXPECT_EQ(Refresh().problems, 2);

  EXPECT_EQ(ImportedFileOf(Choices(ProblemFor(kKey)).front()), "a.HIP.fdb.txt");
  EXPECT_EQ(ImportedFileOf(Choices(ProblemFor(other)).front()), "a.OpenCL.fdb.txt");
}

TEST_F(ImportIndexTest, AnotherTargetIsNotInIt) {
  imports_.AddFindDb("gfx90a68", "b.HIP.fdb.txt", kRecord);
  imports_.AddPerfDb("gfx906_60", "a.db.txt", kParameters);

  EXPECT_EQ(Refresh().problems, 0);
  EXPECT_THAT(Choices(ProblemFor(kKey)), IsEmpty());
}

TEST_F(ImportIndexTest, WhatIsNotNewerIsNotReadAgain) {
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  EXPECT_FALSE(Refresh().unchanged);
  imports_.AddFindDb("gfx90a68", "b.HIP.fdb.txt", kRecord);
  imports_.Add(miopen::kKernelDbKind, "gfx906_60", "gfx906_60.kdb", {});
  const int visits = imports_.visits();

  const ImportIndexRefresh again = Refresh();

  EXPECT_TRUE(again.unchanged);
  EXPECT_EQ(again.problems, 1);
  EXPECT_EQ(imports_.visits(), visits);
}

TEST_F(ImportIndexTest, NewerParametersReachOlderRecords) {
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  Refresh();
  imports_.AddPerfDb("gfx906_60", "a.db.txt", kParameters);

  EXPECT_FALSE(Refresh().unchanged);

  EXPECT_EQ(Text(Choices(ProblemFor(kKey)).front().best().candidate),
            "miopen.conv@1{params=_7+8+4,solver=ConvAsm3x3U}");
}

TEST_F(ImportIndexTest, ADamagedIndexAndThatOfAnotherDatabaseAreMadeAnew) {
  imports_.AddFindDb("gfx906_60", "a.HIP.fdb.txt", kRecord);
  Refresh();
  std::string bytes = ReadFile(path_).value();
  const std::string sound = bytes;
  bytes[bytes.size() - 10] ^= 1;
  ASSERT_EQ(WriteFileAtomically(path_, bytes), Status::Ok());

  EXPECT_FALSE(Refresh().unchanged);
  EXPECT_EQ(ReadFile(path_).value(), sound) << "The same lines give the same bytes.";
  const auto other =
      RefreshImportIndex(imports_, {"ffffffffffffffffffffffffffffffff", "gfx906_60"}, path_);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->unchanged);
}

TEST_F(ImportIndexTest, ALineThatIsNoRecordAnyMoreIsDamage) {
  imports_.Add(miopen::kFindDbKind, "gfx906_60", "a.HIP.fdb.txt", {{FingerprintOf("x"), 7, "x"}});

  const auto refresh = RefreshImportIndex(imports_, {std::string(kDatabase), "gfx906_60"}, path_);

  EXPECT_EQ(refresh.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(refresh.status().message(), HasSubstr("Line 7"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ImportIndexTest, EverySampleAnswersAsTheDatabaseDoes) {
  const std::filesystem::path samples = ATTUNE_TEST_DATA_DIR "/miopen";
  for (const char* name : {"gfx906_60.HIP.fdb.txt", "gfx90878.HIP.fdb.txt",
                           "gfx803_36.OpenCL.fdb.txt", "gfx1030_36.HIP.fdb.txt"}) {
    imports_.AddFindDb("gfx906_60", name, ReadFile(samples / name).value());
  }
  imports_.AddPerfDb("gfx906_60", "gfx1030_36.db.txt",
                     ReadFile(samples / "gfx1030_36.db.txt").value());
  const ImportIndexRefresh refresh = Refresh();
  int64_t answered = 0;
  std::set<Fingerprint> asked;

  const std::vector<ImportedFile> files = *imports_.Files();
  for (const ImportedFile& file : files) {
    if (file.kind != miopen::kFindDbKind) continue;
    ASSERT_EQ(imports_.Visit(
                  file.id,
                  [&](const ImportedLine& line) -> Status {
                    ATTUNE_ASSIGN_OR_RETURN(const auto record, miopen::FindRecordOf(file, line));
                    const auto key = miopen::ReadFindKey(record.key);
                    const auto conv = miopen::ProblemOf(*key);
                    if (!conv.ok() || !asked.insert(line.key).second) return Status::Ok();
                    ATTUNE_ASSIGN_OR_RETURN(const auto answer,
                                            miopen::AskImports(imports_, "gfx906_60", *conv));
                    const std::vector<IndexedChoice> choices = Choices(*conv);
                    if (answer->ranking.empty()) {
                      EXPECT_THAT(choices, IsEmpty()) << record.key;
                      return Status::Ok();
                    }
                    ++answered;
                    EXPECT_EQ(choices.size(), 1) << record.key;
                    if (choices.empty()) return Status::Ok();
                    EXPECT_EQ(ImportedFileOf(choices.front()), answer->file) << record.key;
                    EXPECT_EQ(choices.front().ranking, ChoiceOf(*answer).ranking) << record.key;
                    return Status::Ok();
                  }),
              Status::Ok());
  }

  EXPECT_EQ(refresh.problems, answered);
  EXPECT_GT(answered, 100);
}

TEST(ImportIndexPathTest, ItIsBesideTheDatabaseWhateverTheTargetIsCalled) {
  EXPECT_EQ(ImportIndexPathOf("sqlite:/data/attune.db", "gfx906_60"),
            "/data/attune.db.gfx906_60.index");
  EXPECT_EQ(ImportIndexPathOf("/data/attune.db", "../my gpu"), "/data/attune.db...%2Fmy gpu.index");
}

TEST(ImportTargetTest, ItTellsWhatItsNameTells) {
  EXPECT_EQ(Text(ImportTargetOf("gfx90a68")), "miopen:gfx90a68:gfx90a:104{}");
  EXPECT_EQ(Text(ImportTargetOf("my gpu")), "miopen:my gpu::0{}");
  EXPECT_EQ(*ParseTarget("miopen:my gpu::0{}"), ImportTargetOf("my gpu"));
}

}  // namespace
}  // namespace attune
