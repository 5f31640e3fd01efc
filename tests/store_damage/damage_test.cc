// A thousand random changes of a field, and a thousand of a byte: each is reported, with its place,
// or was harmless: everything that can be read equals the written data.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/session/session_records.h"
#include "storage/sql/connection.h"
#include "storage/sql/figure_database.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/table.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kChanges = 1000;

// All of one session.
struct SessionContent {
  Session session;
  std::vector<std::string> tags;
  std::vector<TaggedProblem> problems;
  std::vector<std::string> solvers;  // Texts of all entries.
  std::vector<ProblemSolvers> applicability;
  std::vector<Job> jobs;
  std::vector<RecordedSet> sets;

  friend bool operator==(const SessionContent&, const SessionContent&) = default;
};

// All that the interfaces give.
struct Content {
  std::vector<std::pair<std::string, int64_t>> tags;
  std::vector<std::vector<TaggedProblem>> problems;
  std::vector<RecordedSet> sets;
  StoreState state;
  std::vector<RecordedSet> changed_sets;
  std::vector<std::pair<Network, int64_t>> networks;
  std::vector<std::vector<TaggedProblem>> problems_of_networks;
  std::vector<SessionContent> sessions;
  std::vector<GoldenVersion> golden;
  std::vector<std::vector<GoldenEntry>> golden_entries;
  std::vector<std::vector<TrialFigure>> figures;  // By set.

  friend bool operator==(const Content&, const Content&) = default;
};

std::string TextOf(const SolverEntry& entry) {
  return fmt::format("{} {} {} {} {} {} {}", entry.id, Text(entry.solver), entry.operator_name,
                     entry.dynamic, entry.tunable, entry.compiles, Text(entry.code));
}

Result<SessionContent> ReadSession(const Session& session, RecordStore& records,
                                   SessionStore& sessions, JobStore& jobs) {
  SessionContent content;
  content.session = session;
  ATTUNE_ASSIGN_OR_RETURN(content.tags, sessions.Tags(session.id));
  ATTUNE_ASSIGN_OR_RETURN(content.problems, sessions.Problems(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable table, sessions.Solvers(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const auto solvers, sessions.AllSolvers(session.id));
  for (const SolverEntry& entry : solvers) content.solvers.push_back(TextOf(entry));
  ATTUNE_ASSIGN_OR_RETURN(content.applicability,
                          sessions.Applicability(session.id, table.generation));
  ATTUNE_ASSIGN_OR_RETURN(content.jobs, jobs.List(session.id, {}));
  ATTUNE_ASSIGN_OR_RETURN(content.sets, Collected(*RecordsOf(session.id, records, sessions)));
  return content;
}

Status ReadSessions(const std::shared_ptr<SqlDatabase>& database, Content& content) {
  const auto records = RecordsIn(database);
  const auto sessions = SessionsIn(database);
  const auto jobs = JobsIn(database);
  ATTUNE_ASSIGN_OR_RETURN(content.networks, records->Networks());
  for (const auto& [network, count] : content.networks) {
    ATTUNE_ASSIGN_OR_RETURN(content.problems_of_networks.emplace_back(),
                            records->ProblemsOf(network));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto all, sessions->List());
  for (const Session& session : all) {
    ATTUNE_ASSIGN_OR_RETURN(content.sessions.emplace_back(),
                            ReadSession(session, *records, *sessions, *jobs));
  }
  const auto golden = GoldenIn(database);
  ATTUNE_ASSIGN_OR_RETURN(content.golden, golden->List());
  for (const GoldenVersion& version : content.golden) {
    ATTUNE_ASSIGN_OR_RETURN(content.golden_entries.emplace_back(), golden->Entries(version.id));
  }
  return Status::Ok();
}

Result<Content> ReadAll(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const auto database, OpenSqlDatabase(path));
  const auto store = RecordsIn(database);
  Content content;
  ATTUNE_RETURN_IF_ERROR(ReadSessions(database, content));
  ATTUNE_ASSIGN_OR_RETURN(content.tags, store->Tags());
  for (const std::string tag : {"", "resnet50", "vgg16"}) {
    ATTUNE_ASSIGN_OR_RETURN(auto problems, store->Problems(tag));
    content.problems.push_back(std::move(problems));
  }
  ATTUNE_ASSIGN_OR_RETURN(content.sets, Collected(*store));
  const auto figures = FiguresIn(database);
  for (const RecordedSet& recorded : content.sets) {
    ATTUNE_ASSIGN_OR_RETURN(content.figures.emplace_back(), figures->FiguresOf(recorded.set.id));
  }
  ATTUNE_ASSIGN_OR_RETURN(content.state, store->State());
  RecordQuery changed;
  changed.after_revision = 1;
  ATTUNE_ASSIGN_OR_RETURN(content.changed_sets, Collected(*store, changed));
  return content;
}

class StoreDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Fill();
    FillSessions();
    original_ = ReadAll(path_).value();
    bytes_ = ReadFile(path_).value();
  }

  void Fill() {
    Random random(3);
    const auto store = std::move(*OpenSqlStore(path_));
    ASSERT_EQ(store->AddProblems("resnet50", SampleProblems(12)), Status::Ok());
    ASSERT_EQ(store->AddProblems("vgg16", SampleProblems(4)), Status::Ok());
    for (int64_t i = 0; i < 4; ++i) {
      const MeasurementSet set = SampleSet(i, i, random);
      ASSERT_EQ(store->BeginSet(set), Status::Ok());
      ASSERT_EQ(store->Append(set.id, SampleTrials(40, random)), Status::Ok());
      if (i > 0) {
        ASSERT_EQ(store->NoteConditions(set.id, SampleConditions(random)), Status::Ok());
      }
      if (i % 2 == 0) {
        ASSERT_EQ(store->FinishSet(set.id), Status::Ok());
      }
    }
  }

  // Two sessions with networks, solvers, jobs and sets, and two golden versions of their results.
  void FillSessions() {
    Random random(5);
    const auto database = *OpenSqlDatabase(path_);
    const auto records = RecordsIn(database);
    const auto sessions = SessionsIn(database);
    const auto jobs = JobsIn(database);
    ASSERT_EQ(records->AddNetwork({"Resnet50", "1", "Pytorch", "2"}, SampleProblems(5)),
              Status::Ok());
    for (const std::string name : {"may", "june"}) {
      Session session;
      session.name = name;
      session.reason = "for a test of damage";
      session.created_by = "me@here";
      session.created_unix_ns = 7;
      session.terms = {SampleTarget().backend, SampleTarget().arch, SampleTarget(), {}};
      const int64_t id = sessions->Create(session)->id;
      ASSERT_EQ(sessions->AddTag(id, "resnet50"), Status::Ok());
      ASSERT_EQ(sessions->AddTag(id, "vgg16"), Status::Ok());
      SolverEntry entry;
      entry.solver = {"host.packed-gemm", 3};
      entry.operator_name = "gemm";
      entry.code = {{"library.packed.build_id", "1"}};
      ASSERT_TRUE(sessions->UpdateSolvers(id, std::vector{entry}).ok());
      std::vector<ProblemSolvers> problems;
      for (int64_t i = 0; i < 12; ++i) problems.push_back({SampleProblem(i), {"host.packed-gemm"}});
      ASSERT_EQ(sessions->SetApplicability(id, 1, problems), Status::Ok());
      JobLoad load;
      load.steps = {{JobSearch::kPerf, JobWork::kMeasure}, {JobSearch::kFind, JobWork::kMeasure}};
      load.loaded_by = "me@here";
      ASSERT_TRUE(jobs->Load(id, load, problems).ok());
      const MeasurementSet set = SampleSet(2, 20, random);
      ASSERT_EQ(sessions->BeginSet(id, set), Status::Ok());
      ASSERT_EQ(records->Append(set.id, SampleTrials(10, random)), Status::Ok());
    }
    FillGolden(*GoldenIn(database));
    FillFigures(*records, *FiguresIn(database));
  }

  // Two for each set.
  static void FillFigures(RecordStore& records, FigureStore& figures) {
    const auto sets = Collected(records);
    ASSERT_TRUE(sets.ok()) << sets.status().message();
    for (const RecordedSet& recorded : *sets) {
      const Candidate candidate = {{"host.packed-gemm", 3}, {}};
      const TrialFigure two[] = {
          {candidate, TrialRole::kScreen, EnergyObjective(), {0.5, 0.25, 0.75, 0, 1}},
          {candidate,
           TrialRole::kFinal,
           {"rate", Direction::kMaximize, "1/s"},
           {7, 6, 8, 0.99, 9}}};
      ASSERT_EQ(figures.AppendFigures(recorded.set.id, two), Status::Ok());
    }
  }

  static void FillGolden(GoldenStore& golden) {
    const GoldenVersion first = *golden.Create("1", "", "me@here");
    std::vector<GoldenEntry> entries;
    for (int64_t i = 0; i < 8; ++i) {
      GoldenEntry& entry = entries.emplace_back();
      entry.problem = SampleProblem(i);
      entry.target = SampleTarget();
      entry.candidate = {{"host.packed-gemm", 3}, {}};
      entry.set_id = "set";
      entry.session = "may";
      entry.low_ns = entry.median_ns = entry.high_ns = 100.0 + static_cast<double>(i);
      entry.added_by = "me@here";
    }
    ASSERT_EQ(golden.Add(first.id, entries, 0), Status::Ok());
    ASSERT_EQ(golden.Approve(first.id, "me@here"), Status::Ok());
    ASSERT_EQ(golden.Add(golden.Create("2", "1", "me@here")->id, std::span(entries).first(3), 0),
              Status::Ok());
  }

  // Makes the file `bytes`, and removes the files beside it.
  void Write(const std::string& bytes) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  void ChangeFields(bool figures, int changes);

  std::unique_ptr<sql::Connection> OpenRaw() {
    auto connection = std::move(*sql::Connection::Open(path_, {}));
    EXPECT_EQ(connection->Execute("PRAGMA foreign_keys = OFF"), Status::Ok());
    EXPECT_EQ(connection->Execute("PRAGMA synchronous = OFF"), Status::Ok());
    return connection;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
  std::string bytes_;
  Content original_;
};

struct Field {
  std::string table;
  std::string column;
  std::string id_column = "id";
};

bool IsOfFigures(const sql::Table& table) {
  return table.name == sql::FigureTable().name || table.name == sql::FigureCountTable().name;
}

// Data that can be rebuilt is only read; storage/sql/artifact_store_test.cc damages it.
bool IsOfArtifacts(const sql::Table& table) {
  return table.name == sql::ArtifactTable().name || table.name == sql::ArtifactChunkTable().name ||
         table.name == sql::BuiltKernelTable().name;
}

// Metrics, to which some were added later, apart: the random draws of the others stay the same.
std::vector<Field> FieldsOf(bool figures) {
  std::vector<Field> fields;
  if (!figures) fields = {{"migration", "version", "version"}, {"migration", "name", "version"}};
  for (const sql::Table* table : sql::AllTables()) {
    if (IsOfFigures(*table) != figures || IsOfArtifacts(*table)) continue;
    for (const sql::Column& column : table->columns) {
      fields.push_back({std::string(table->name), std::string(column.name), "id"});
    }
  }
  return fields;
}

// An expression over the old value of the field.
std::string RandomExpression(const std::string& column, Random& random) {
  const uint64_t number = random.Below(100'000);
  const std::string kExpressions[] = {
      "NULL",
      "''",
      "'nonsense'",
      fmt::format("{} + {}", column, 1 + number),
      fmt::format("-{}", column),
      fmt::format("{}", number),
      "9e999",
      fmt::format("{} || char({})", column, random.Below(256)),
      fmt::format("substr({0}, 1, {1} % max(1, length({0})))", column, number),
      fmt::format("replace({}, '{}', '{}')", column, number % 10, (number + 1) % 10),
      fmt::format("upper({})", column),
      // Always the same row: a failure must recur in the next run.
      fmt::format("(SELECT {0} FROM (SELECT * FROM @) ORDER BY id DESC LIMIT 1)", column),
  };
  return kExpressions[random.Below(std::size(kExpressions))];
}

// Changes one row; false if the database's own constraints forbade that or nothing changed.
bool ChangeField(sql::Connection& connection, const Field& field, Random& random) {
  std::string expression = RandomExpression(field.column, random);
  if (const size_t at = expression.find('@'); at != std::string::npos) {
    expression.replace(at, 1, field.table);
  }
  const auto ids =
      connection.Texts(fmt::format("SELECT {} FROM {} ORDER BY 1", field.id_column, field.table));
  if (!ids.ok() || ids->empty()) return false;
  const std::string& id = (*ids)[random.Below(ids->size())];
  const std::string old_value = fmt::format("SELECT quote({}) FROM {} WHERE {} = {}", field.column,
                                            field.table, field.id_column, id);
  const auto before = connection.Texts(old_value);
  const Status status =
      connection.Execute(fmt::format("UPDATE {} SET {} = {} WHERE {} = {}", field.table,
                                     field.column, expression, field.id_column, id));
  const auto after = connection.Texts(old_value);
  return status.ok() && before.ok() && after.ok() && *before != *after;
}

// The result of `changes` of single fields, one after the other.
void StoreDamageTest::ChangeFields(bool figures, int changes) {
  const std::vector<Field> fields = FieldsOf(figures);
  Random random(20261121);
  int reported = 0;
  int with_column = 0;
  for (int change = 0; change < changes;) {
    const Field& field = fields[random.Below(fields.size())];
    Write(bytes_);
    if (!ChangeField(*OpenRaw(), field, random)) continue;
    ++change;

    const Result<Content> content = ReadAll(path_);

    if (content.ok()) {
      EXPECT_EQ(*content, original_) << field.table << "." << field.column;
      continue;
    }
    ++reported;
    const Status& status = content.error();
    EXPECT_TRUE(status.code() == StatusCode::kDataLoss ||
                status.code() == StatusCode::kFailedPrecondition)
        << status.ToString();
    // A row that has another id now is missed by those that refer to it.
    EXPECT_THAT(status.message(), AnyOf(HasSubstr("able " + field.table), HasSubstr("migration")));
    if (status.message().find("column " + field.column) != std::string::npos) ++with_column;
  }
  EXPECT_GT(reported, changes / 2);
  EXPECT_GT(with_column, reported * 3 / 4);
}

TEST_F(StoreDamageTest, AThousandChangedFieldsAreReportedWithTheirPlaceOrHarmless) {
  ChangeFields(false, kChanges);
}

TEST_F(StoreDamageTest, ChangedFieldsOfFiguresAreReportedWithTheirPlaceOrHarmless) {
  ChangeFields(true, kChanges / 10);
}

TEST_F(StoreDamageTest, AThousandChangedBytesAreReportedOrHarmless) {
  Random random(20261122);
  int reported = 0;
  for (int change = 0; change < kChanges; ++change) {
    const size_t offset = random.Below(bytes_.size());
    std::string bytes = bytes_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ (1 + random.Below(255)));
    Write(bytes);

    const Result<Content> content = ReadAll(path_);

    if (content.ok()) {
      EXPECT_EQ(*content, original_) << "offset " << offset;
      continue;
    }
    ++reported;
    EXPECT_NE(content.error().code(), StatusCode::kInternal) << content.error().ToString();
    EXPECT_THAT(content.error().message(), AnyOf(HasSubstr(path_), HasSubstr("able ")));
  }
  EXPECT_GT(reported, kChanges / 4);
}

TEST_F(StoreDamageTest, OverwrittenPagesAreReportedOrHarmless) {
  constexpr size_t kPageBytes = 4096;
  const size_t pages = bytes_.size() / kPageBytes;
  for (size_t page = 0; page < pages; ++page) {
    for (size_t other = 0; other < pages; other += 3) {
      if (other == page) continue;
      std::string bytes = bytes_;
      bytes.replace(page * kPageBytes, kPageBytes, bytes_, other * kPageBytes, kPageBytes);
      Write(bytes);

      const Result<Content> content = ReadAll(path_);

      if (content.ok()) {
        EXPECT_EQ(*content, original_) << "page " << other << " over page " << page;
      }
    }
  }
}

}  // namespace
}  // namespace attune
