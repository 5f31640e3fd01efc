// Imported databases in programs: explained with their file, and never served.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/attune.hpp"
#include "attune/formats/miopen/import_lines.h"
#include "attune/index/import_index.h"
#include "attune/ops/conv/conv.h"
#include "attune/record/record_store.h"
#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFile[] = "gfx906_60.HIP.fdb.txt";
constexpr char kProblem[] = "conv@1{dir=fwd,n=8,c=4,h=12,w=20,k=6,fh=3,fw=3,ph=1,pw=1}";
constexpr char kRecord[] =
    "4-12-20-3x3-6-12-20-8-1x1-1x1-1x1-0-NCHW-FP32-F="
    "ConvAsm3x3U:0.25,4096,miopenConvolutionFwdAlgoDirect;"
    "GemmFwdRest:0.5,7225344,miopenConvolutionFwdAlgoGEMM\n";

v1::ConvProblem Conv() {
  v1::ConvProblem conv;
  conv.batch = 8;
  conv.in_channels = 4;
  conv.out_channels = 6;
  conv.in = {1, 12, 20};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  return conv;
}

class Imports : public ::testing::Test {
 protected:
  Imports() {
    const auto imports = ImportsIn(*OpenSqlDatabase(world_.database()));
    miopen::Findings findings;
    ImportedFile file;
    file.kind = miopen::kFindDbKind;
    file.target = "gfx906_60";
    file.name = kFile;
    const int64_t id = *imports->Begin(file);
    EXPECT_EQ(imports->Append(id, miopen::LinesOf(miopen::ReadFindDb(kRecord, findings))),
              Status::Ok());
    EXPECT_EQ(imports->Finish(id).status(), Status::Ok());
  }

  void MakeIndex() {
    const auto database = *OpenSqlDatabase(world_.database());
    const std::string id = RecordsIn(database)->State()->database_id;
    EXPECT_EQ(RefreshImportIndex(*ImportsIn(database), {id, "gfx906_60"},
                                 ImportIndexPathOf(world_.database(), "gfx906_60"))
                  .status(),
              Status::Ok());
  }

  RuntimeWorld world_;
};

TEST_F(Imports, AreExplainedWithTheFileThatTheyCameFrom) {
  const v1::Runtime runtime;

  const auto explained = nlohmann::json::parse(runtime.ExplainFor("gfx906_60", kProblem));

  EXPECT_EQ(explained["provenance"], "imported");
  EXPECT_EQ(explained["file"], kFile);
  EXPECT_EQ(explained["target"], "miopen:gfx906_60:gfx906:60{}");
  EXPECT_EQ(explained["options"].size(), 2);
  EXPECT_EQ(explained["options"][0]["candidate"], "miopen.conv@1{solver=ConvAsm3x3U}");
  EXPECT_EQ(explained["options"][0]["because"],
            "Imported for gfx906_60 from 'gfx906_60.HIP.fdb.txt'.");
  EXPECT_EQ(explained["options"][1]["slower_by"], 2);
  EXPECT_TRUE(explained["serves"].is_null());
}

TEST_F(Imports, AnswerAlikeFromTheDatabaseAndFromTheIndex) {
  const std::string of_database = v1::Runtime().ExplainFor("gfx906_60", Conv());
  MakeIndex();
  const v1::Runtime runtime;

  const std::string of_index = runtime.ExplainFor("gfx906_60", Conv());

  EXPECT_EQ(of_index, of_database);
  std::filesystem::remove(world_.database());
  EXPECT_EQ(runtime.ExplainFor("gfx906_60", kProblem), of_database) << "It is mapped.";
}

TEST_F(Imports, TheBestIsASolution) {
  const v1::Runtime runtime;

  const v1::Solution best = runtime.BestFor("gfx906_60", Conv());

  EXPECT_STREQ(best.candidate, "miopen.conv@1{solver=ConvAsm3x3U}");
  EXPECT_EQ(best.provenance, ATTUNE_FROM_IMPORT);
  EXPECT_EQ(best.time_ns, 250'000);
  EXPECT_EQ(best.workspace_bytes, 4096u);
  EXPECT_EQ(best.is_ready, 0);
}

TEST_F(Imports, WhatIsUnknownIsToldFromWhatWasNeverImported) {
  const v1::Runtime runtime;
  v1::ConvProblem other = Conv();
  other.batch = 9;

  const auto explained = nlohmann::json::parse(runtime.ExplainFor("gfx906_60", other));

  EXPECT_EQ(explained["provenance"], "unknown");
  EXPECT_TRUE(explained["file"].is_null());
  EXPECT_THROW(runtime.BestFor("gfx906_60", other), v1::Error);
  try {
    runtime.ExplainFor("gfx90a68", kProblem);
    ADD_FAILURE() << "Nothing was imported for it.";
  } catch (const v1::Error& error) {
    EXPECT_EQ(error.code(), ATTUNE_NOT_FOUND);
    EXPECT_THAT(error.what(), HasSubstr("imported databases: gfx906_60"));
  }
}

TEST_F(Imports, NeverServe) {
  MakeIndex();
  v1::Options options;
  options.device = "cpu";
  const v1::Runtime runtime(options);
  runtime.BestFor("gfx906_60", Conv());
  ASSERT_TRUE(runtime.WaitIdle(std::chrono::minutes(1)));

  const auto explained = nlohmann::json::parse(runtime.Explain(kProblem));
  const std::vector<v1::Solution> solutions = runtime.Solutions(Conv());

  EXPECT_EQ(explained["is_tuned"], false);
  EXPECT_THAT(explained.dump(), Not(HasSubstr("miopen")));
  for (const v1::Solution& solution : solutions) {
    EXPECT_THAT(solution.candidate, Not(HasSubstr("miopen")));
  }
}

TEST_F(Imports, CallsThatLackSomethingFailWithoutAnswer) {
  const v1::Runtime runtime;
  const attune_conv conv = Conv().ToC();
  attune_solution best{};

  EXPECT_EQ(attune_conv_best_for(runtime.get(), "gfx906_60", &conv, &best),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("struct_size"));
  EXPECT_EQ(attune_conv_best_for(runtime.get(), nullptr, &conv, &best), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_explain_for(runtime.get(), "gfx906_60", kProblem, nullptr),
            ATTUNE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace attune
