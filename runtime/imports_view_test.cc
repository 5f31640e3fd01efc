#include "runtime/imports_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/index/import_index.h"
#include "runtime/request.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTarget = "gfx906_60";
constexpr std::string_view kRecord =
    "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
    "ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect;"
    "GemmFwdRest:1119.0,7225344,miopenConvolutionFwdAlgoGEMM\n";
constexpr std::string_view kNewer =
    "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
    "GemmFwdRest:2,7225344,miopenConvolutionFwdAlgoGEMM\n";

Problem Known() {
  return *ParseProblem("conv@1{dir=fwd,n=32,c=64,h=56,w=56,k=64,fh=3,fw=3,ph=1,pw=1}");
}
Problem Unknown() {
  return *ParseProblem("conv@1{dir=fwd,n=33,c=64,h=56,w=56,k=64,fh=3,fw=3,ph=1,pw=1}");
}

class ImportsViewTest : public ::testing::Test {
 protected:
  void Import(const std::string& name, std::string_view text) {
    const auto imports = ImportsIn(*OpenSqlDatabase(database_));
    miopen::Findings findings;
    ImportedFile file;
    file.kind = miopen::kFindDbKind;
    file.target = kTarget;
    file.name = name;
    file.content = FingerprintOf(name);
    const int64_t id = *imports->Begin(file);
    ASSERT_EQ(imports->Append(id, miopen::LinesOf(miopen::ReadFindDb(text, findings))),
              Status::Ok());
    ASSERT_EQ(imports->Finish(id).status(), Status::Ok());
  }

  static Result<std::optional<ImportedBest>> BestIn(ImportsView& view, std::string_view target,
                                                    const Problem& problem) {
    return view.FindBest(target, KeyOfProblem(problem, 0),
                         [&problem]() -> Result<Problem> { return problem; });
  }
  // "miopen.conv@1{...}", or why there is none.
  std::string Best(const Problem& problem) {
    const auto best = BestIn(view_, kTarget, problem);
    if (!best.ok()) return best.status().message();
    return best->has_value() ? (*best)->candidate : "unknown";
  }
  std::string Because() {
    const auto choice = view_.Find(kTarget, Known());
    return choice.ok() && choice->has_value() ? (*choice)->because : "unknown";
  }
  // So that only what is mapped answers.
  void HideDatabase() { std::filesystem::rename(database_, database_ + ".hidden"); }
  void ShowDatabase() { std::filesystem::rename(database_ + ".hidden", database_); }

  TemporaryFolder folder_;
  const std::string database_ = folder_.path() / "attune.db";
  const std::filesystem::path index_ = ImportIndexPathOf(database_, kTarget);
  ImportsView view_{database_};
};

constexpr const char* kAsm = "miopen.conv@1{solver=ConvAsm3x3U}";
constexpr const char* kGemm = "miopen.conv@1{solver=GemmFwdRest}";

TEST_F(ImportsViewTest, TheDatabaseAnswersUntilThereIsAnIndex) {
  Import("a.HIP.fdb.txt", kRecord);

  EXPECT_EQ(Best(Known()), kAsm);
  EXPECT_EQ(Best(Unknown()), "unknown");
  EXPECT_EQ(Because(), "Imported for gfx906_60 from 'a.HIP.fdb.txt'.");
  EXPECT_FALSE(std::filesystem::exists(index_)) << "Nobody has waited for it.";
}

TEST_F(ImportsViewTest, TensorsThatLieTheSameInTwoLayoutsHaveOneAnswer) {
  Import("a.HIP.fdb.txt",
         "960-1-1-1x1-240-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-F="
         "ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect\n");
  const Problem channels_last =
      *ParseProblem("conv@1{dir=fwd,n=16,c=960,h=1,w=1,k=240,fh=1,fw=1,layout=nhwc}");
  EXPECT_EQ(Best(channels_last), kAsm);
  view_.Update();
  HideDatabase();

  EXPECT_EQ(Best(channels_last), kAsm);
  EXPECT_TRUE(view_.Find(kTarget, channels_last)->has_value());
  ShowDatabase();
}

TEST_F(ImportsViewTest, AnUpdateMakesTheIndexThatAnswersAlone) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());

  view_.Update();

  HideDatabase();
  EXPECT_EQ(Best(Known()), kAsm);
  EXPECT_EQ(Best(Unknown()), "unknown");
  EXPECT_EQ(Because(), "Imported for gfx906_60 from 'a.HIP.fdb.txt'.");
  EXPECT_THAT(view_.notes(), IsEmpty());
}

TEST_F(ImportsViewTest, NothingIsMadeForWhoDoesNotAsk) {
  Import("a.HIP.fdb.txt", kRecord);

  view_.Update();

  EXPECT_FALSE(std::filesystem::exists(index_));
}

TEST_F(ImportsViewTest, AnIndexOfBeforeIsMappedByTheFirstQuestion) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  ImportsView later(database_);

  EXPECT_TRUE((*BestIn(later, kTarget, Known())).has_value());

  HideDatabase();
  EXPECT_TRUE((*BestIn(later, kTarget, Known())).has_value());
}

TEST_F(ImportsViewTest, ACallThatWasAnsweredIsNotLookedUpAgain) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  int made = 0;
  const auto ask = [&](const Problem& problem) {
    return *view_.FindBest(kTarget, KeyOfProblem(problem, 0), [&]() -> Result<Problem> {
      ++made;
      return problem;
    });
  };

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(Known())->candidate, kAsm);
    EXPECT_FALSE(ask(Unknown()).has_value());
  }

  EXPECT_EQ(made, 2);
}

TEST_F(ImportsViewTest, ANewerImportIsSeenAfterTheNextUpdate) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  Import("b.HIP.fdb.txt", kNewer);
  EXPECT_EQ(Best(Known()), kAsm);

  view_.Update();

  HideDatabase();
  EXPECT_EQ(Best(Known()), kGemm);
  EXPECT_EQ(Because(), "Imported for gfx906_60 from 'b.HIP.fdb.txt'.");
}

TEST_F(ImportsViewTest, AnOldIndexDoesNotAnswerTheFirstQuestion) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  Import("b.HIP.fdb.txt", kNewer);
  ImportsView later(database_);

  const auto best = BestIn(later, kTarget, Known());

  ASSERT_TRUE(best.ok() && best->has_value());
  EXPECT_EQ((*best)->candidate, kGemm);
}

TEST_F(ImportsViewTest, ADamagedIndexIsPassedOverAndMadeAnew) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  const std::string sound = ReadFile(index_).value();
  std::string damaged = sound;
  // All but the header, so that it is seen by whoever reads and not by who opens.
  for (size_t i = 216; i < damaged.size(); ++i) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
  ASSERT_EQ(WriteFileAtomically(index_, damaged), Status::Ok());
  ImportsView later(database_);

  const auto best = BestIn(later, kTarget, Known());
  later.Update();

  ASSERT_TRUE(best.ok() && best->has_value()) << best.status().message();
  EXPECT_EQ((*best)->candidate, kAsm);
  EXPECT_EQ(ReadFile(index_).value(), sound);
}

TEST_F(ImportsViewTest, WithoutAPlaceForTheIndexTheDatabaseAnswersAndANoteSaysWhy) {
  Import("a.HIP.fdb.txt", kRecord);
  std::filesystem::create_directories(index_ / "in the way");
  Best(Known());

  view_.Update();
  view_.Update();

  EXPECT_EQ(Best(Known()), kAsm);
  EXPECT_THAT(view_.notes(), ElementsAre(HasSubstr("no index of what was imported for gfx906_60")));
}

TEST_F(ImportsViewTest, AViewThatWasStoppedMakesNoIndexAndAnswersOn) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.StopUpdates();

  view_.Update();

  EXPECT_FALSE(std::filesystem::exists(index_));
  EXPECT_EQ(Best(Known()), kAsm);
  EXPECT_THAT(view_.notes(), IsEmpty());
}

TEST_F(ImportsViewTest, WhatWasNeverImportedIsNotFound) {
  Import("a.HIP.fdb.txt", kRecord);

  const auto best = BestIn(view_, "gfx90a68", Known());

  EXPECT_EQ(best.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(best.status().message(), HasSubstr("imported databases: gfx906_60"));
}

TEST_F(ImportsViewTest, AnotherDatabaseUnderThePathIsAnotherAnswer) {
  Import("a.HIP.fdb.txt", kRecord);
  Best(Known());
  view_.Update();
  HideDatabase();
  ASSERT_TRUE(OpenSqlDatabase(database_).ok());

  view_.Update();

  EXPECT_THAT(Best(Known()), HasSubstr("Nothing was imported for 'gfx906_60'"));
}

TEST_F(ImportsViewTest, WithoutADatabaseTheAnswerSaysSo) {
  ImportsView none("");

  EXPECT_EQ(BestIn(none, kTarget, Known()).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune
