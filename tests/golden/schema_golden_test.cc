// The tables of the database, and databases that older builds have written.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "storage/sql/connection.h"
#include "storage/sql/figure_database.h"
#include "storage/sql/migrations.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/golden/golden_file.h"

namespace attune {
namespace {

constexpr std::string_view kPage = "schema.md";

class SchemaGoldenTest : public ::testing::Test {
 protected:
  // Runs a dump, as the sqlite3 program writes it, in a new database.
  void Restore(const std::string& dump) {
    sqlite_api::sqlite3* database = nullptr;
    ASSERT_EQ(sqlite_api::sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    const int code = sqlite_api::sqlite3_exec(database, dump.c_str(), nullptr, nullptr, nullptr);
    EXPECT_EQ(code, SQLITE_OK) << sqlite_api::sqlite3_errmsg(database);
    sqlite_api::sqlite3_close(database);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
};

TEST_F(SchemaGoldenTest, EveryVersionHasTheTablesThatItHadWhenItWasReleased) {
  const auto connection = std::move(*sql::Connection::Open(path_, {}));
  for (size_t count = 1; count <= sql::Migrations().size(); ++count) {
    ASSERT_EQ(sql::Migrate(*connection, {sql::Migrations().data(), count}), Status::Ok());

    const auto statements = connection->Texts(
        "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name");

    ASSERT_TRUE(statements.ok()) << statements.status().message();
    const std::string text = fmt::format("{}\n", fmt::join(*statements, "\n"));
    EXPECT_TRUE(IsGolden(fmt::format("schema_v{}.sql", count), text, kPage));
  }
}

std::string TrialText(const Trial& trial) {
  std::string text =
      fmt::format("  {}{} {} build={} load={} workspace={} error={}", Name(trial.role),
                  trial.is_default ? " default" : "", Text(trial.candidate), trial.build_ns,
                  trial.load_ns, trial.workspace_bytes, trial.max_error);
  if (const Failure* failure = trial.failure()) {
    // Messages hold any bytes.
    text += fmt::format(" {} in {}: {}", Name(failure->kind), Name(failure->phase),
                        HexText(failure->message));
    text.pop_back();
  }
  if (!trial.capture_failure.empty()) {
    text += fmt::format(" uncaptured: {}", HexText(trial.capture_failure));
    text.pop_back();
  }
  if (const Measurement* measurement = trial.measurement()) {
    text += fmt::format(" {} [{}, {}] at {} {}: {}", measurement->median_ns, measurement->low_ns,
                        measurement->high_ns, measurement->confidence, Name(measurement->cache),
                        fmt::join(measurement->samples_ns, " "));
  }
  return text;
}

std::string MomentText(std::string_view name, const std::optional<DeviceConditions>& moment) {
  if (!moment.has_value()) return "";
  std::string text = fmt::format("  {}:", name);
  const auto add = [&](std::string_view field, const auto& value) {
    if (value.has_value()) text += fmt::format(" {}={}", field, *value);
  };
  add("compute_clock_mhz", moment->compute_clock_mhz);
  add("memory_clock_mhz", moment->memory_clock_mhz);
  add("power_w", moment->power_w);
  add("power_limit_w", moment->power_limit_w);
  add("temperature_c", moment->temperature_c);
  if (moment->clock_reasons.has_value()) {
    text += fmt::format(" clock_reasons=[{}]", fmt::join(*moment->clock_reasons, " "));
  }
  return text + "\n";
}

std::string SetText(const RecordedSet& recorded) {
  const MeasurementSet& set = recorded.set;
  std::string text = fmt::format(
      "set {} {}\n  {}\n  {}\n  peaks {} {} {} {} seed={} {} {} {} started={}\n", set.id,
      recorded.finished ? "finished" : "unfinished", Text(set.problem), Text(set.target),
      set.peaks.f32_flops, set.peaks.f64_flops, set.peaks.bytes_per_second, Name(set.cache),
      set.seed, set.searcher, set.measured_by, set.attune_version, set.started_unix_ns);
  text += MomentText("before", recorded.conditions.before);
  text += MomentText("after", recorded.conditions.after);
  for (const auto& [key, value] : set.environment) text += fmt::format("  {}={}\n", key, value);
  for (const Record& record : recorded.records) text += TrialText(record.trial) + "\n";
  return text;
}

std::string ImportsText(ImportStore& imports) {
  std::string text;
  const auto files = imports.Files();
  EXPECT_TRUE(files.ok()) << files.status().message();
  for (const ImportedFile& file : *files) {
    text += fmt::format("import {} {} of {} {} by {} at {} with {} until {}\n", file.kind,
                        file.name, file.target, file.content.ToHex(), file.imported_by,
                        file.imported_unix_ns, file.line_count, file.revision);
    const Status visited = imports.Visit(file.id, [&](const ImportedLine& line) {
      text += fmt::format("  {} {} {}\n", line.number, line.key.ToHex(), line.text);
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok()) << visited.message();
  }
  return text;
}

std::string SessionText(const Session& session, SessionStore& sessions) {
  const SessionTerms& terms = session.terms;
  std::string text =
      fmt::format("session {} ({}) by {} at {}, {} {} {}, sets={} closed={} {}\n", session.name,
                  session.reason, session.created_by, session.created_unix_ns, terms.backend,
                  terms.arch, terms.target ? Text(*terms.target) : "any", session.set_count,
                  session.closed_by, session.closed_unix_ns);
  for (const auto& [key, value] : terms.fixed) text += fmt::format("  {}={}\n", key, value);
  const auto tags = sessions.Tags(session.id).value();
  for (const std::string& tag : tags) text += fmt::format("  tag {}\n", tag);
  const SolverTable table = sessions.Solvers(session.id).value();
  for (const SolverEntry& entry : table.entries) {
    text += fmt::format("  solver {} of generation {}: {} dynamic={} tunable={} compiles={}\n",
                        Text(entry.solver), table.generation, entry.operator_name, entry.dynamic,
                        entry.tunable, entry.compiles);
    for (const auto& [key, value] : entry.code) text += fmt::format("    {}={}\n", key, value);
  }
  const auto problems = sessions.Applicability(session.id, table.generation).value();
  for (const ProblemSolvers& problem : problems) {
    text += fmt::format("  {}: {}\n", Text(problem.problem), fmt::join(problem.solvers, " "));
  }
  return text;
}

std::string JobText(const Job& job) {
  return fmt::format(
      "  job {} {} {} {} ({}) by {} at {}, priority={}: {} ready={} attempts={} lost={} owner={} "
      "until {} since {} entry={} set={} {}: {}\n",
      job.id, Text(job.step), job.solver, Text(job.problem), job.reason, job.loaded_by,
      job.loaded_unix_ns, job.priority, Name(job.state), job.is_ready, job.attempts, job.lost,
      job.owner, job.deadline_unix_ns, job.changed_unix_ns, job.entry_id, job.set_id,
      job.error.kind, job.error.text);
}

std::string SessionsText(const std::shared_ptr<SqlDatabase>& database) {
  const auto sessions = SessionsIn(database);
  const auto jobs = JobsIn(database);
  std::string text;
  const auto networks = RecordsIn(database)->Networks();
  EXPECT_TRUE(networks.ok()) << networks.status().message();
  for (const auto& [network, count] : *networks) {
    text += fmt::format("network {} with {}\n", Text(network), count);
  }
  const auto all = sessions->List();
  EXPECT_TRUE(all.ok()) << all.status().message();
  for (const Session& session : *all) {
    text += SessionText(session, *sessions);
    const auto of_session = jobs->List(session.id, {});
    EXPECT_TRUE(of_session.ok()) << of_session.status().message();
    for (const Job& job : *of_session) text += JobText(job);
  }
  return text;
}

std::string GoldenVersionsText(GoldenStore& golden) {
  std::string text;
  const auto versions = golden.List();
  EXPECT_TRUE(versions.ok()) << versions.status().message();
  for (const GoldenVersion& version : *versions) {
    text += fmt::format("golden {} from '{}' by {} at {}, approved {} {}, withdrawn {} {} {}\n",
                        version.name, version.base, version.created_by, version.created_unix_ns,
                        version.approved_by, version.approved_unix_ns, version.withdrawn_by,
                        version.withdrawn_unix_ns, version.withdrawn_because);
    const auto entries = golden.Entries(version.id).value();
    for (const GoldenEntry& entry : entries) {
      text += fmt::format("  {} {} on {}: {} {} [{}, {}] of {} in {}, {} by {} at {}\n", entry.id,
                          Text(entry.problem), Text(entry.target), Text(entry.candidate),
                          entry.median_ns, entry.low_ns, entry.high_ns, entry.set_id, entry.session,
                          Name(entry.reason), entry.added_by, entry.added_unix_ns);
    }
  }
  return text;
}

std::string FiguresText(FigureStore& store, const std::string& set_id) {
  std::string text;
  const auto figures = store.FiguresOf(set_id);
  EXPECT_TRUE(figures.ok()) << figures.status().message();
  for (const TrialFigure& trial : *figures) {
    const FigureValue& figure = trial.figure;
    text += fmt::format("  {} {} of {}: {} {} [{}, {}] at {} of {}, {}\n", trial.objective.name,
                        Name(trial.role), Text(trial.candidate), figure.value, trial.objective.unit,
                        figure.low, figure.high, figure.confidence, figure.samples,
                        Name(trial.objective.direction));
  }
  return text;
}

std::string WorkersText(FleetStore& fleet) {
  std::string text;
  const auto workers = fleet.Workers();
  EXPECT_TRUE(workers.ok()) << workers.status().message();
  for (const WorkerState& worker : *workers) {
    text +=
        fmt::format("worker {} ({}) {} by {} from {}, seen {}, ended {}: '{}' done={} failed={}\n",
                    worker.name, worker.owner, worker.target, worker.attune_version,
                    worker.began_unix_ns, worker.beat_unix_ns, worker.ended_unix_ns, worker.doing,
                    worker.done_count, worker.failed_count);
  }
  return text;
}

// The artifacts of these recipes in golden databases, if any.
std::string ArtifactsText(ArtifactStore& artifacts) {
  std::string text;
  for (const std::string_view name : {"small", "other", "equal"}) {
    const auto bytes = artifacts.Get(FingerprintOf(name));
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    if (!bytes->has_value()) continue;
    text += fmt::format("built of {}: {} bytes {}\n", name, (*bytes)->size(),
                        FingerprintOf(**bytes).ToHex());
  }
  return text;
}

std::string TimelinesText(RecordStore& store, const std::string& set_id) {
  const auto timelines = store.TimelinesOf(set_id);
  EXPECT_TRUE(timelines.ok()) << timelines.status().message();
  std::string text;
  for (const Timeline& timeline : *timelines)
    text += fmt::format("  timeline {}\n", Text(timeline));
  return text;
}

// Everything that a database holds, for people to read.
std::string ContentOf(const std::shared_ptr<SqlDatabase>& database) {
  const auto records = RecordsIn(database);
  const auto figures = FiguresIn(database);
  RecordStore& store = *records;
  std::vector<std::string> sets;
  std::string text;
  const auto tags = store.Tags();
  EXPECT_TRUE(tags.ok()) << tags.status().message();
  for (const auto& [tag, count] : *tags) {
    text += fmt::format("tag {} with {}\n", tag, count);
    const auto problems = store.Problems(tag);
    EXPECT_TRUE(problems.ok()) << problems.status().message();
    for (const TaggedProblem& tagged : *problems) {
      text += fmt::format("  x{} {}\n", tagged.weight, Text(tagged.problem));
    }
  }
  const Status visited = store.Visit({}, [&](const RecordedSet& recorded) {
    text += SetText(recorded) + FiguresText(*figures, recorded.set.id);
    sets.push_back(recorded.set.id);
    return Status::Ok();
  });
  EXPECT_TRUE(visited.ok()) << visited.message();
  for (const std::string& set_id : sets) text += TimelinesText(store, set_id);
  return text + ImportsText(*ImportsIn(database)) + SessionsText(database) +
         GoldenVersionsText(*GoldenIn(database)) + WorkersText(*FleetIn(database)) +
         ArtifactsText(*ArtifactsIn(database));
}

// A database with everything in it, as the version of the schema that is the parameter wrote it.
class DatabaseGoldenTest : public SchemaGoldenTest,
                           public ::testing::WithParamInterface<std::string> {};

TEST_P(DatabaseGoldenTest, IsReadWholeAfterItWasBroughtUpToDate) {
  Restore(GoldenText(fmt::format("database_{}.sql", GetParam())));

  const auto database = OpenSqlDatabase(path_);

  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_TRUE(
      IsGolden(fmt::format("database_{}.records.txt", GetParam()), ContentOf(*database), kPage));
  EXPECT_EQ(CheckSqlStore(path_), Status::Ok());
}

TEST_P(DatabaseGoldenTest, IsReadWholeAsItIs) {
  Restore(GoldenText(fmt::format("database_{}.sql", GetParam())));
  SqlStoreOptions options;
  options.use = StoreUse::kRead;

  const auto database = OpenSqlDatabase(path_, options);

  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_TRUE(
      IsGolden(fmt::format("database_{}.records.txt", GetParam()), ContentOf(*database), kPage));
}

INSTANTIATE_TEST_SUITE_P(OfVersion, DatabaseGoldenTest,
                         ::testing::Values("v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
                                           "v11", "v12", "v13"),
                         [](const auto& version) { return version.param; });

// A database of the version before samples were bound to their rows, with a newer set beside.
class BoundSamplesTest : public SchemaGoldenTest {
 protected:
  void SetUp() override {
    Restore(GoldenText("database_v3.sql"));
    Random random(9);
    const auto store = std::move(*OpenSqlStore(path_));
    old_ = Collected(*store).value();
    const MeasurementSet set = SampleSet(1, 1, random);
    ASSERT_EQ(store->BeginSet(set), Status::Ok());
    const Trial trials[] = {SampleMeasured(TrialRole::kScreen, 3, random),
                            SampleMeasured(TrialRole::kFinal, 3, random)};
    ASSERT_EQ(store->Append(set.id, trials), Status::Ok());
  }

  // The status of reading everything after the first row that matches `to` got the samples of the
  // last one that matches `from`.
  Status AfterCopyingSamples(const std::string& from, const std::string& to) {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    EXPECT_EQ(connection->Execute(fmt::format(
                  "UPDATE trial SET samples = (SELECT samples FROM trial WHERE samples LIKE '{}' "
                  "ORDER BY id DESC LIMIT 1) WHERE id = (SELECT min(id) FROM trial WHERE samples "
                  "LIKE '{}')",
                  from, to)),
              Status::Ok());
    return Collected(**OpenSqlStore(path_)).status();
  }

  std::vector<RecordedSet> old_;
};

TEST_F(BoundSamplesTest, OldOnesAreReadBesideNewOnes) {
  const auto sets = Collected(**OpenSqlStore(path_));

  ASSERT_TRUE(sets.ok()) << sets.status().message();
  EXPECT_EQ(sets->size(), old_.size() + 1);
  for (const RecordedSet& set : old_) {
    EXPECT_EQ(std::count(sets->begin(), sets->end(), set), 1) << set.set.id;
  }
}

TEST_F(BoundSamplesTest, NewOnesFitNoOtherRow) {
  EXPECT_EQ(AfterCopyingSamples("f64r:%", "f64r:%").code(), StatusCode::kDataLoss);
}

TEST_F(BoundSamplesTest, OldOnesDoNotFitANewRow) {
  EXPECT_EQ(AfterCopyingSamples("f64:%", "f64r:%").code(), StatusCode::kDataLoss);
}

TEST_F(BoundSamplesTest, NewOnesDoNotFitAnOldRow) {
  EXPECT_EQ(AfterCopyingSamples("f64r:%", "f64:%").code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace attune
