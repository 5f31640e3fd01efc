// `attune miopen export` of a session and of a golden version with results of MIOpen's solvers,
// over a real database, and back through the importer.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/verbs.h"
#include "attune/base/file.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/formats/miopen/imported_choice.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "extensions/miopen/miopen_verbs.h"
#include "storage/miopen/database.h"
#include "storage/miopen/kernel_table.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::miopen {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kKey = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F";

Target GpuTarget() { return {"hip", "AMD Radeon VII", "gfx906:sramecc-", 60, {}}; }

Trial Timed(TrialRole role, const Candidate& candidate, double median_ns, int64_t workspace_bytes) {
  Trial trial;
  trial.candidate = candidate;
  trial.role = role;
  trial.workspace_bytes = workspace_bytes;
  Measurement measurement;
  measurement.samples_ns.assign(30, median_ns);
  measurement.median_ns = median_ns;
  measurement.low_ns = measurement.high_ns = median_ns;
  measurement.confidence = 0.99;
  trial.outcome = std::move(measurement);
  return trial;
}

Trial Final(const Candidate& candidate, double median_ns, int64_t workspace_bytes) {
  return Timed(TrialRole::kFinal, candidate, median_ns, workspace_bytes);
}

Trial Screened(const Candidate& candidate, double median_ns) {
  return Timed(TrialRole::kScreen, candidate, median_ns, 0);
}

Trial Failed(const Candidate& candidate) {
  Trial trial;
  trial.candidate = candidate;
  trial.role = TrialRole::kQualify;
  trial.outcome = Failure{FailureKind::kWrongResult, Phase::kVerify, "NaN"};
  return trial;
}

// "ConvAsm3x3U 0.2", of each solver of the only record.
std::vector<std::string> ItemsIn(const std::string& file) {
  const auto written = ReadDatabase(file);
  std::vector<std::string> items;
  if (!written.ok() || written->find_db()->records.size() != 1) return items;
  for (const FindItem& item : written->find_db()->records[0].items) {
    items.push_back(item.solver + " " + item.time);
  }
  return items;
}

class MeasuredExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Session session;
    session.name = "may";
    session.created_by = "me@here";
    session.created_unix_ns = 1;
    session.terms = {GpuTarget().backend, GpuTarget().arch, GpuTarget(), {}};
    session_id_ = sessions_->Create(session)->id;
  }

  // A finished set of the session; the first of `trials` is the default.
  std::string Measure(std::string_view key, std::vector<Trial> trials,
                      CacheState cache = CacheState::kWarm) {
    const std::string set_id = Begin(key, std::move(trials), cache);
    EXPECT_EQ(records_->FinishSet(set_id), Status::Ok());
    return set_id;
  }

  // The same, cut off before its end.
  std::string Begin(std::string_view key, std::vector<Trial> trials,
                    CacheState cache = CacheState::kWarm) {
    MeasurementSet set = SampleSet(1, ++started_unix_ns_, random_);
    set.problem = *ProblemOf(*ReadFindKey(key));
    set.target = GpuTarget();
    set.cache = cache;
    set.environment = environment_;
    for (Trial& trial : trials) {
      if (auto* measurement = std::get_if<Measurement>(&trial.outcome)) measurement->cache = cache;
    }
    trials.front().is_default = true;
    EXPECT_EQ(sessions_->BeginSet(session_id_, set), Status::Ok());
    EXPECT_EQ(records_->Append(set.id, trials), Status::Ok());
    return set.id;
  }

  // An exit status, or the message of a failure.
  Result<int> Run(const std::string& arguments) {
    CLI::App program;
    Invocation invocation;
    AddMiopenVerb(program, invocation);
    try {
      program.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return InvalidArgument(error.what());
    }
    Application application;
    application.SetDatabase(path_);
    application.UseSession(invocation.session);
    return invocation.run(application);
  }

  // The exit status.
  int StatusOf(const std::string& arguments) {
    const auto status = Run(arguments);
    EXPECT_TRUE(status.ok()) << status.status().message();
    return status.ok() ? *status : kExitFailed;
  }

  // The message of an export of the session's find-db to `file` about omissions; empty if none.
  std::string LeftOutOf(const std::string& file) {
    ::testing::internal::CaptureStderr();
    const int status = StatusOf("miopen export --session may --find-db -o " + file);
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, said.empty() ? kExitDone : kExitPartly);
    return said;
  }

  std::string FileNamed(const std::string& name) const { return folder_.path() / name; }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
  std::shared_ptr<SqlDatabase> database_ = *OpenSqlDatabase(path_);
  std::unique_ptr<RecordStore> records_ = RecordsIn(database_);
  std::unique_ptr<SessionStore> sessions_ = SessionsIn(database_);
  std::unique_ptr<GoldenStore> golden_ = GoldenIn(database_);
  Random random_{7};
  Environment environment_ = SampleEnvironment();
  int64_t session_id_ = 0;
  int64_t started_unix_ns_ = 0;
};

std::vector<Trial> ThreeFinals() {
  return {Final(CandidateOf({"GemmFwdRest", ""}), 9e5, 4096),
          Final(CandidateOf({"ConvAsm3x3U", "7,8,4"}), 2e5, 0),
          Final(CandidateOf({"ConvOclDirectFwd", "8,8"}), 3e5, 0)};
}

TEST_F(MeasuredExportTest, ASessionsResultsAnswerLikeThoseThatMiopenWrote) {
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 1e5, 4096)});
  Measure(kKey, ThreeFinals());
  const std::string times = FileNamed("gfx906_60.HIP.fdb.txt");
  const std::string parameters = FileNamed("gfx906_60.db");

  EXPECT_EQ(StatusOf("miopen export --session may --find-db -o " + times), kExitDone);
  EXPECT_EQ(StatusOf("miopen export --session may --perf-db -o " + parameters), kExitDone);
  ASSERT_EQ(StatusOf("miopen import " + times + " " + parameters), kExitDone);

  const auto answer =
      AskImports(*ImportsIn(database_), "gfx906_60", Problem(*ProblemOf(*ReadFindKey(kKey))));
  ASSERT_TRUE(answer.ok() && answer->has_value());
  const std::vector<ImportedCandidate>& ranking = (*answer)->ranking;
  ASSERT_EQ(ranking.size(), 3u);
  EXPECT_EQ(ranking[0].choice, (SolverChoice{"ConvAsm3x3U", "7,8,4"}));
  EXPECT_DOUBLE_EQ(ranking[0].time_ns, 2e5);
  EXPECT_EQ(ranking[1].choice, (SolverChoice{"ConvOclDirectFwd", "8,8"}));
  EXPECT_EQ(ranking[2].choice, (SolverChoice{"GemmFwdRest", ""}));
  EXPECT_EQ(ranking[2].workspace_bytes, 4096);
}

TEST_F(MeasuredExportTest, ASetOfSomeSolversSaysNothingAgainstTheOthers) {
  Measure(kKey, ThreeFinals());
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 8e5, 4096),
                 Final(CandidateOf({"ConvOclDirectFwd", "4,4"}), 4e5, 0)});
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_EQ(LeftOutOf(file), "");

  EXPECT_THAT(ItemsIn(file),
              ElementsAre("ConvAsm3x3U 0.2", "ConvOclDirectFwd 0.4", "GemmFwdRest 0.8"));
}

// The fields written for kKey and `solver`, in the tables for times and for parameters.
struct WrittenFields {
  std::string time;
  int64_t workspace_bytes = -1;
  std::string algorithm;
  std::string params;

  friend bool operator==(const WrittenFields&, const WrittenFields&) = default;
};

WrittenFields FieldsIn(const std::string& times, const std::string& parameters,
                       const std::string& solver) {
  WrittenFields fields;
  const auto find_db = ReadDatabase(times);
  const auto perf_db = ReadDatabase(parameters);
  EXPECT_TRUE(find_db.ok() && perf_db.ok());
  if (!find_db.ok() || !perf_db.ok()) return fields;
  EXPECT_EQ(find_db->find_db()->records.size(), 1u);
  for (const FindItem& item : find_db->find_db()->records.at(0).items) {
    if (item.solver != solver) continue;
    fields = {item.time, item.workspace_bytes, item.algorithm, ""};
  }
  for (const PerfItem& item : perf_db->perf_tables()->targets.at(0).db.records.at(0).items) {
    if (item.solver == solver) fields.params = item.params;
  }
  return fields;
}

TEST_F(MeasuredExportTest, TimeAndWorkspaceAndParametersAreOfOneCandidate) {
  // Other configs of one solver, each with a workspace of its own, and screened or older
  // measurements with another one.
  const Candidate fast = CandidateOf({"ConvAsm3x3U", "7,8,4"});
  const Candidate slow = CandidateOf({"ConvAsm3x3U", "1,8,4"});
  const Candidate other = CandidateOf({"ConvOclDirectFwd", "8,8"});
  const std::string first =
      Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 9e5, 4096), Final(fast, 2e5, 111),
                     Final(slow, 3e5, 222), Final(other, 4e5, 333),
                     Timed(TrialRole::kScreen, fast, 1e5, 999)});
  const std::string times = FileNamed("gfx906_60.HIP.fdb.txt");
  const std::string parameters = FileNamed("gfx906_60.db");
  const auto export_both = [&](const std::string& what) {
    EXPECT_EQ(StatusOf("miopen export " + what + " --find-db -o " + times), kExitDone);
    EXPECT_EQ(StatusOf("miopen export " + what + " --perf-db -o " + parameters), kExitDone);
  };
  const std::string direct = "miopenConvolutionFwdAlgoDirect";

  export_both("--session may");
  EXPECT_EQ(FieldsIn(times, parameters, "ConvAsm3x3U"),
            (WrittenFields{"0.2", 111, direct, "7,8,4"}));
  EXPECT_EQ(FieldsIn(times, parameters, "ConvOclDirectFwd"),
            (WrittenFields{"0.4", 333, direct, "8,8"}));
  EXPECT_EQ(FieldsIn(times, parameters, "GemmFwdRest"),
            (WrittenFields{"0.9", 4096, "miopenConvolutionFwdAlgoGEMM", ""}));

  // The newest set decides, although the older one has a quicker config.
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 8e5, 8192), Final(slow, 2.5e5, 444)});
  export_both("--session may");
  EXPECT_EQ(FieldsIn(times, parameters, "ConvAsm3x3U"),
            (WrittenFields{"0.25", 444, direct, "1,8,4"}));
  EXPECT_EQ(FieldsIn(times, parameters, "ConvOclDirectFwd"),
            (WrittenFields{"0.4", 333, direct, "8,8"}));

  // A golden entry is of the set that it names, not of a later one.
  GoldenEntry entry;
  entry.problem = *ProblemOf(*ReadFindKey(kKey));
  entry.target = GpuTarget();
  entry.candidate = slow;
  entry.set_id = first;
  entry.session = "may";
  entry.median_ns = entry.low_ns = entry.high_ns = 3e5;
  entry.added_by = "me@here";
  const auto version = golden_->Create("1", "", "me@here");
  ASSERT_EQ(golden_->Add(version->id, std::vector{entry}, 0), Status::Ok());
  ASSERT_EQ(golden_->Approve(version->id, "me@here"), Status::Ok());
  export_both("--golden 1");
  EXPECT_EQ(FieldsIn(times, parameters, "ConvAsm3x3U"),
            (WrittenFields{"0.3", 222, direct, "1,8,4"}));
}

TEST_F(MeasuredExportTest, WhatWasImportedComesOutWithItsOwnWorkspaceAndKernel) {
  // Both generations; in the first with a substitute for the kernel cache.
  const std::string older = std::string(kKey) +
                            "=ConvAsm3x3U:0.2,111,miopenConvolutionFwdAlgoDirect;"
                            "GemmFwdRest:0.9,4096,miopenConvolutionFwdAlgoGEMM\n";
  const std::string newer =
      std::string(kKey) +
      "=miopenConvolutionFwdAlgoDirect:ConvAsm3x3U,0.3,222,cache-of-asm,key-of-asm;"
      "miopenConvolutionFwdAlgoGEMM:GemmFwdRest,0.8,8192,cache-of-gemm,<unused>\n";
  const std::string times = FileNamed("gfx906_60.HIP.fdb.txt");
  const auto import = [&](const std::string& file, const std::string& text) {
    ASSERT_EQ(WriteFileAtomically(file, text), Status::Ok());
    ASSERT_EQ(StatusOf("miopen import --target gfx906_60 " + file), kExitDone);
  };
  for (const std::string& text : {older, newer}) {
    import(times, text);
    EXPECT_EQ(StatusOf("miopen export --target gfx906_60 --find-db -o " + times), kExitDone);
    EXPECT_EQ(*ReadFile(times), text);
  }

  // Among kernels with the same name and options the newest, whole.
  const std::string kernels = FileNamed("gfx906_60.kdb");
  std::vector<KernelRow> imported;
  for (const std::string& code : {std::string(5000, 'a'), std::string(7000, 'b')}) {
    imported.push_back(*RowFor("conv1x1u.s.o", " -mcpu=gfx906", code));
    const auto writer = KernelWriter::Create(kernels);
    ASSERT_TRUE(writer.ok());
    ASSERT_EQ((*writer)->Add(imported.back()), Status::Ok());
    ASSERT_EQ((*writer)->Add(*RowFor("other.s.o", "-x", code + "c")), Status::Ok());
    ASSERT_EQ((*writer)->Commit(), Status::Ok());
    ASSERT_EQ(StatusOf("miopen import --target gfx906_60 " + kernels), kExitDone);
  }
  EXPECT_EQ(StatusOf("miopen export --target gfx906_60 --kernel-db -o " + kernels), kExitDone);
  Findings findings;
  std::vector<KernelRow> exported;
  ASSERT_EQ(ReadKernels(kernels, findings,
                        [&exported](const KernelRow& row) {
                          exported.push_back(row);
                          exported.back().id = 0;
                          return Status::Ok();
                        }),
            Status::Ok());
  EXPECT_THAT(exported,
              ::testing::UnorderedElementsAre(
                  imported.back(), *RowFor("other.s.o", "-x", std::string(7000, 'b') + "c")));
  for (const KernelRow& row : exported) EXPECT_TRUE(CodeOf(row).ok());
}

TEST_F(MeasuredExportTest, AnImportedLineThatHasLostSomethingIsNotWritten) {
  const auto imports = ImportsIn(database_);
  const std::pair<std::string_view, std::string> damaged[] = {
      {kFindDbKind, std::string(kKey) + "=GemmFwdRest:0.9,0,miopenConvolutionFwdAlgoGEMM;ConvA"},
      {kPerfDbKind,
       "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm3x3U:7;ConvOcl:"}};
  for (const auto& [kind, text] : damaged) {
    const auto id =
        imports->Begin({0, std::string(kind), "gfx906_60", "a", {}, "me@here", 1, 0, 0});
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_EQ(imports->Append(*id, std::vector{ImportedLine{{}, 5, text}}), Status::Ok());
    ASSERT_EQ(imports->Finish(*id).status(), Status::Ok());
  }
  for (const std::string& what : {"--find-db -o " + FileNamed("gfx906_60.HIP.fdb.txt"),
                                  "--perf-db -o " + FileNamed("gfx906_60.db.txt")}) {
    const Status status = Run("miopen export --target gfx906_60 " + what).status();

    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("Line 5 of imported file"));
    EXPECT_FALSE(std::filesystem::exists(what.substr(what.rfind(' ') + 1)));
  }
}

TEST_F(MeasuredExportTest, WhatWasScreenedStandsBehindTheFinalsOrIsCounted) {
  std::vector<Trial> trials = ThreeFinals();
  trials.push_back(Screened(CandidateOf({"ConvAsm3x3U", "1,1,1"}), 1e5));  // It has a final.
  trials.push_back(Screened(CandidateOf({"ConvDirectNaiveConvFwd", ""}), 7e5));
  trials.push_back(Screened(CandidateOf({"ConvBinWinogradRxSf3x2", ""}), 1.9e5));
  Measure(kKey, trials);
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_THAT(LeftOutOf(file), HasSubstr("1 result: Screened only"));

  EXPECT_THAT(ItemsIn(file), ElementsAre("ConvAsm3x3U 0.2", "ConvOclDirectFwd 0.3",
                                         "ConvDirectNaiveConvFwd 0.7", "GemmFwdRest 0.9"));
}

TEST_F(MeasuredExportTest, WhatFailedSinceOrWasCutOffIsCounted) {
  Measure(kKey, ThreeFinals());
  Begin(kKey, {Screened(CandidateOf({"GemmFwdRest", ""}), 9e5),
               Screened(CandidateOf({"ConvDirectNaiveConvFwd", ""}), 1e5),
               Failed(CandidateOf({"ConvAsm3x3U", "7,8,4"}))});
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_THAT(LeftOutOf(file), AllOf(HasSubstr("1 result: It failed when it was tried last."),
                                     HasSubstr("1 result: Its measurement was not finished.")));

  EXPECT_THAT(ItemsIn(file), ElementsAre("ConvOclDirectFwd 0.3", "GemmFwdRest 0.9"));
}

TEST_F(MeasuredExportTest, WhereWhatStoodStayedNobodyComesFirst) {
  Measure(kKey, ThreeFinals());
  // With finals and not finished: nothing in it replaces earlier choices.
  Begin(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 9e5, 4096),
               Final(CandidateOf({"ConvDirectNaiveConvFwd", ""}), 1.9e5, 0),
               Final(CandidateOf({"ConvBinWinogradRxSf3x2", ""}), 7e5, 0)});
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_THAT(LeftOutOf(file), HasSubstr("1 result: In no final that decided"));

  EXPECT_THAT(ItemsIn(file), ElementsAre("ConvAsm3x3U 0.2", "ConvOclDirectFwd 0.3",
                                         "ConvBinWinogradRxSf3x2 0.7", "GemmFwdRest 0.9"));
}

TEST_F(MeasuredExportTest, WhatFailedWithCachesInAnotherStateSaysNothing) {
  Measure(kKey, ThreeFinals());
  Begin(kKey,
        {Screened(CandidateOf({"GemmFwdRest", ""}), 9e6),
         Failed(CandidateOf({"ConvAsm3x3U", "7,8,4"}))},
        CacheState::kCold);
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_EQ(LeftOutOf(file), "");

  EXPECT_THAT(ItemsIn(file),
              ElementsAre("ConvAsm3x3U 0.2", "ConvOclDirectFwd 0.3", "GemmFwdRest 0.9"));
}

TEST_F(MeasuredExportTest, WhatASolverMadeBeforeItChangedIsStale) {
  // The code of MIOpen's solvers as this program has it, and a newer one.
  environment_["library.conv"] = "1";
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 9e5, 4096),
                 Final(CandidateOf({"ConvAsm3x3U", "7,8,4"}), 1e5, 0)});
  environment_["library.conv"] = "2";
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 8e5, 4096)});
  SolverEntry entry;
  entry.solver = {"miopen.conv", 1};
  entry.operator_name = "conv";
  entry.code = {{"library.conv", "2"}};
  ASSERT_TRUE(sessions_->UpdateSolvers(session_id_, std::vector{entry}).ok());
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_THAT(LeftOutOf(file),
              HasSubstr("1 result: Stale: library.conv of miopen.conv was 1 and is 2 now."));

  EXPECT_THAT(ItemsIn(file), ElementsAre("GemmFwdRest 0.8"));
}

TEST_F(MeasuredExportTest, AGoldenVersionHasWhatItSaysAndNothingElse) {
  const std::string set_id = Measure(kKey, ThreeFinals());
  GoldenEntry entry;
  entry.problem = *ProblemOf(*ReadFindKey(kKey));
  entry.target = GpuTarget();
  entry.candidate = CandidateOf({"ConvAsm3x3U", "7,8,4"});
  entry.set_id = set_id;
  entry.session = "may";
  entry.median_ns = entry.low_ns = entry.high_ns = 2e5;
  entry.added_by = "me@here";
  const auto version = golden_->Create("1", "", "me@here");
  ASSERT_EQ(golden_->Add(version->id, std::vector{entry}, 0), Status::Ok());
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      StatusOf("miopen export --golden 1 --target gfx906:sramecc- --find-db --json -o " + file),
      kExitDone);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("\"draft\": true"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Golden version '1' is a draft, which may still change"));

  const auto written = ReadDatabase(file);
  ASSERT_TRUE(written.ok()) << written.status().message();
  ASSERT_EQ(written->find_db()->records.size(), 1u);
  ASSERT_EQ(written->find_db()->records[0].items.size(), 1u);
  EXPECT_EQ(written->find_db()->records[0].items[0].solver, "ConvAsm3x3U");
  ASSERT_EQ(golden_->Approve(version->id, "me@here"), Status::Ok());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(StatusOf("miopen export --golden 1 --find-db --json -o " + file), kExitDone);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("\"draft\": false"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(golden_->Withdraw(version->id, "me@here", "wrong"), Status::Ok());
  EXPECT_THAT(Run("miopen export --golden 1 --find-db -o " + file).status().message(),
              HasSubstr("rolled back"));
}

TEST_F(MeasuredExportTest, AGoldenVersionSaysWhatIsStaleInIt) {
  environment_["library.conv"] = "1";
  const std::string set_id = Measure(kKey, ThreeFinals());
  GoldenEntry golden;
  golden.problem = *ProblemOf(*ReadFindKey(kKey));
  golden.target = GpuTarget();
  golden.candidate = CandidateOf({"ConvAsm3x3U", "7,8,4"});
  golden.set_id = set_id;
  golden.session = "may";
  golden.median_ns = golden.low_ns = golden.high_ns = 2e5;
  golden.added_by = "me@here";
  const auto version = golden_->Create("1", "", "me@here");
  ASSERT_EQ(golden_->Add(version->id, std::vector{golden}, 0), Status::Ok());
  ASSERT_EQ(golden_->Approve(version->id, "me@here"), Status::Ok());
  SolverEntry entry;
  entry.solver = {"miopen.conv", 1};
  entry.operator_name = "conv";
  entry.code = {{"library.conv", "2"}};
  ASSERT_TRUE(sessions_->UpdateSolvers(session_id_, std::vector{entry}).ok());
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(StatusOf("miopen export --golden 1 --find-db --json -o " + file), kExitPartly);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("\"stale\": 1"), HasSubstr("\"mixed\": []")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1 of 1 entry is stale"));
}

TEST_F(MeasuredExportTest, ADatabaseIsOfOneStateOfCaches) {
  Measure(kKey, ThreeFinals());
  Measure(kKey, {Final(CandidateOf({"GemmFwdRest", ""}), 5e6, 4096)}, CacheState::kCold);
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_THAT(Run("miopen export --session may --find-db -o " + file).status().message(),
              HasSubstr("several states, which one database cannot tell apart: cold, warm."));
  EXPECT_EQ(StatusOf("miopen export --session may --cache warm --find-db -o " + file), kExitDone);
  EXPECT_EQ(ReadDatabase(file)->find_db()->records.at(0).items.size(), 3u);
  EXPECT_EQ(StatusOf("miopen export --session may --cache cold --find-db -o " + file), kExitDone);
  EXPECT_EQ(ReadDatabase(file)->find_db()->records.at(0).items.size(), 1u);
  EXPECT_THAT(
      Run("miopen export --target gfx906_60 --cache cold --find-db -o " + file).status().message(),
      HasSubstr("--cache goes with"));
}

TEST_F(MeasuredExportTest, WhatIsLeftOutIsTold) {
  std::vector<Trial> trials = ThreeFinals();
  trials.push_back(Final({{"hip.conv-direct", 1}, {}}, 1e5, 0));
  // A candidate that failed in its final has no time.
  Trial failed = trials[1];
  failed.outcome = Failure{FailureKind::kWrongResult, Phase::kVerify, "NaN"};
  trials.push_back(failed);
  Measure(kKey, trials);
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  EXPECT_EQ(StatusOf("miopen export --session may --find-db -o " + file), kExitPartly);

  const auto written = ReadDatabase(file);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->find_db()->records[0].items.size(), 2u);
  EXPECT_THAT(written->findings.kept(), IsEmpty());
}

TEST_F(MeasuredExportTest, WhereNothingIsForMiopenNothingIsWritten) {
  Measure(kKey, {Final({{"hip.conv-direct", 1}, {}}, 1e5, 0)});
  const std::string file = FileNamed("gfx906_60.HIP.fdb.txt");

  const Status status = Run("miopen export --session may --find-db -o " + file).status();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("Of 1 result of session 'may'"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(MeasuredExportTest, TheNameOfTheFileHasToFit) {
  Measure(kKey, ThreeFinals());
  const auto message = [this](const std::string& arguments) {
    return Run("miopen export " + arguments).status().message();
  };

  EXPECT_THAT(message("--session may --find-db -o " + FileNamed("gfx908_60.HIP.fdb.txt")),
              HasSubstr("is the name of a database of gfx908"));
  EXPECT_THAT(message("--session may --find-db -o " + FileNamed("gfx906_60.db")),
              HasSubstr("is the name of a perf-db, not of a find-db"));
  EXPECT_THAT(message("--session may --find-db -o " + FileNamed("gfx90668.HIP.fdb.txt")),
              HasSubstr("a database of 104 compute units, and session 'may' is of 60: its name "
                        "would begin with gfx906_60"));
  for (const char* mistyped :
       {"gfx906_6O", "gfx906_99", "GFX906_60", "gfx906_60_xnack", "gfx906", "gfx_all"}) {
    EXPECT_THAT(
        message("--session may --find-db -o " + FileNamed(mistyped + std::string(".fdb.txt"))),
        HasSubstr("begins as that of a GPU, and '" + std::string(mistyped) + "' is none"));
  }
  EXPECT_THAT(message("--session may --find-db -o " + FileNamed("gfx906_xnack_60.fdb.txt")),
              HasSubstr("a database of gfx906_xnack, and session 'may' is of gfx906:sramecc-"));
  EXPECT_EQ(message("--session may --find-db -o " + FileNamed("gfx906_nosramecc_60.fdb.txt")), "");
  EXPECT_EQ(message("--session may --find-db -o " + FileNamed("all.fdb.txt")), "");
  EXPECT_THAT(message("--session may --perf-db -o " + FileNamed("gfx906_60.pdb.txt")),
              HasSubstr("is no name of a database"));
  EXPECT_THAT(message("--session may --perf-db --schema 1.0.0 -o " + FileNamed("gfx906_60.db.txt")),
              HasSubstr("is the name of a text"));
  EXPECT_THAT(message("--session may --kernel-db -o " + FileNamed("gfx906.kdb")),
              HasSubstr("--target"));
  EXPECT_THAT(message("--session may --target gfx906_60 --find-db -o x"), HasSubstr("excludes"));
  EXPECT_THAT(message("--find-db -o x"), HasSubstr("is required"));
}

TEST_F(MeasuredExportTest, TextGoesToStandardOutputAndTablesDoNot) {
  Measure(kKey, ThreeFinals());
  const auto printed = [this](const std::string& arguments) {
    ::testing::internal::CaptureStdout();
    const auto status = Run("miopen export --session may -o - " + arguments);
    std::string text = ::testing::internal::GetCapturedStdout();
    return status.ok() ? text : status.status().message();
  };

  EXPECT_EQ(printed("--find-db"), std::string(kKey) +
                                      "=ConvAsm3x3U:0.2,0,miopenConvolutionFwdAlgoDirect;"
                                      "ConvOclDirectFwd:0.3,0,miopenConvolutionFwdAlgoDirect;"
                                      "GemmFwdRest:0.9,4096,miopenConvolutionFwdAlgoGEMM\n");
  EXPECT_THAT(printed("--perf-db"), HasSubstr("xF=ConvAsm3x3U:7,8,4;ConvOclDirectFwd:8,8\n"));
  EXPECT_THAT(printed("--perf-db --schema 1.1.0"),
              HasSubstr("A perf-db in SQLite cannot go to standard output"));
  EXPECT_THAT(printed("--find-db --json"), HasSubstr("--json"));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

}  // namespace
}  // namespace attune::miopen
