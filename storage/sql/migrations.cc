#include "storage/sql/migrations.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/never_destroyed.h"
#include "attune/base/unix_time.h"
#include "attune/record/record.h"
#include "storage/sql/boundary_row.h"
#include "storage/sql/condition_rows.h"
#include "storage/sql/table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {
namespace {

std::string TextTableSql(std::string_view name) {
  return fmt::format(
      "CREATE TABLE {} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, "
      "checksum TEXT NOT NULL) STRICT",
      name);
}

std::string ListSql(std::string_view name) {
  return fmt::format(
      "CREATE TABLE {} (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, problem_count INTEGER "
      "NOT NULL, checksum TEXT NOT NULL) STRICT",
      name);
}

Migration ValuesMigration() {
  return {
      1,
      "values",
      {"CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, "
       "applied_unix_ns INTEGER NOT NULL) STRICT",
       "CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, checksum TEXT NOT "
       "NULL) STRICT",
       TextTableSql("target"), TextTableSql("environment"),
       "CREATE TABLE problem (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT "
       "NULL, "
       "set_count INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       TextTableSql("candidate"), ListSql("tag"),
       "CREATE TABLE problem_tag (id INTEGER PRIMARY KEY, tag_id INTEGER NOT NULL REFERENCES "
       "tag (id), problem_id INTEGER NOT NULL REFERENCES problem (id), weight INTEGER NOT NULL, "
       "checksum TEXT NOT NULL, UNIQUE (tag_id, problem_id)) STRICT"}};
}

Migration TrialsMigration() {
  return {
      2,
      "trials",
      {"CREATE TABLE measurement_set (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
       "problem_id INTEGER NOT NULL REFERENCES problem (id), target_id INTEGER NOT NULL "
       "REFERENCES target (id), environment_id INTEGER NOT NULL REFERENCES environment (id), "
       "f32_flops REAL NOT NULL, f64_flops REAL NOT NULL, bytes_per_second REAL NOT NULL, cache "
       "TEXT NOT NULL, seed TEXT NOT NULL, searcher TEXT NOT NULL, measured_by TEXT NOT NULL, "
       "attune_version TEXT NOT NULL, started_unix_ns INTEGER NOT NULL, checksum TEXT NOT NULL) "
       "STRICT",
       "CREATE INDEX measurement_set_by_problem ON measurement_set (problem_id, "
       "started_unix_ns)",
       "CREATE TABLE set_progress (id INTEGER PRIMARY KEY REFERENCES measurement_set (id), "
       "finished INTEGER NOT NULL, qualify_count INTEGER NOT NULL, screen_count INTEGER NOT "
       "NULL, final_count INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE trial (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES "
       "measurement_set (id), candidate_id INTEGER NOT NULL REFERENCES candidate (id), role TEXT "
       "NOT NULL, is_default INTEGER NOT NULL, failure_kind TEXT, failure_phase TEXT, "
       "failure_message TEXT, median_ns REAL, low_ns REAL, high_ns REAL, confidence REAL, cache "
       "TEXT, build_ns INTEGER NOT NULL, load_ns INTEGER NOT NULL, workspace_bytes INTEGER NOT "
       "NULL, max_error REAL, appended_unix_ns INTEGER NOT NULL, checksum TEXT NOT NULL, samples "
       "TEXT) STRICT",
       "CREATE INDEX trial_by_set ON trial (set_id, role)"}};
}

// The id is random, so it is not in a statement. From here on a missing counter is damage.
Status GiveDatabaseItsId(Connection& connection) {
  ATTUNE_RETURN_IF_ERROR(MakeCounter(connection));
  const Table& table = StoreIdentityTable();
  ATTUNE_ASSIGN_OR_RETURN(
      Statement * insert,
      connection.Prepare(table.insert_sql, {TypesOf(table, table.columns.size()), {}}));
  insert->SetParameters(
      RowWriter(table).Integer(kStoreIdentityRow).Text(NewDatabaseId()).Checksum().Take());
  return insert->Run();
}

Migration RevisionsMigration() {
  return {
      3,
      "revisions",
      {"CREATE TABLE store_identity (id INTEGER PRIMARY KEY, database_id TEXT NOT NULL, checksum "
       "TEXT NOT NULL) STRICT",
       "CREATE TABLE finished_set (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL UNIQUE "
       "REFERENCES measurement_set (id), checksum TEXT NOT NULL) STRICT"},
      GiveDatabaseItsId};
}

// Existing samples keep their form: a database of a million trials opens at once, and earlier
// exchanges are not certified.
Status BindNewSamples(Connection& connection) {
  return InsertBoundary(connection, BoundSamplesTable());
}

Migration BoundSamplesMigration() {
  return {4,
          "bound_samples",
          {"CREATE TABLE bound_samples (id INTEGER PRIMARY KEY, after_revision INTEGER NOT NULL, "
           "checksum TEXT NOT NULL) STRICT"},
          BindNewSamples};
}

Status KeepNewConditions(Connection& connection) {
  return InsertBoundary(connection, KeptConditionsTable());
}

std::string MomentColumns(std::string_view moment) {
  return fmt::format(
      "{0}_compute_clock_mhz INTEGER, {0}_memory_clock_mhz INTEGER, {0}_power_w REAL, "
      "{0}_power_limit_w REAL, {0}_temperature_c INTEGER, {0}_clock_reasons TEXT",
      moment);
}

// A row for each set from now on, so that one that damage hides is missed.
Migration ConditionsMigration() {
  return {5,
          "conditions",
          {fmt::format("CREATE TABLE set_conditions (id INTEGER PRIMARY KEY REFERENCES "
                       "measurement_set (id), {}, {}, checksum TEXT NOT NULL) STRICT",
                       MomentColumns("before"), MomentColumns("after")),
           "CREATE TABLE kept_conditions (id INTEGER PRIMARY KEY, after_revision INTEGER NOT NULL, "
           "checksum TEXT NOT NULL) STRICT"},
          KeepNewConditions};
}

// Files of other programs with their content, line by line. Also the number of rows of
// set_conditions: an empty page in the place of one of its pages would otherwise pass for sets
// without conditions.
Migration ImportsMigration() {
  return {
      6,
      "imports",
      {"CREATE TABLE imported_file (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT "
       "NULL, content_key TEXT NOT NULL, file_name TEXT NOT NULL, imported_by TEXT NOT NULL, "
       "imported_unix_ns INTEGER NOT NULL, revision INTEGER NOT NULL, line_count INTEGER NOT "
       "NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE imported_line (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES "
       "imported_file (id), key TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, "
       "checksum TEXT NOT NULL) STRICT",
       "CREATE INDEX imported_line_by_key ON imported_line (key)",
       "CREATE INDEX imported_line_by_file ON imported_line (file_id)",
       "CREATE TABLE condition_count (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, checksum "
       "TEXT NOT NULL) STRICT"},
      BeginCountOfConditions};
}

// Sessions with their jobs, and the networks that problems come from.
Migration SessionsMigration() {
  return {
      7,
      "sessions",
      {ListSql("network"),
       "CREATE TABLE network_problem (id INTEGER PRIMARY KEY, network_id INTEGER NOT NULL "
       "REFERENCES network (id), problem_id INTEGER NOT NULL REFERENCES problem (id), weight "
       "INTEGER NOT NULL, checksum TEXT NOT NULL, UNIQUE (network_id, problem_id)) STRICT",
       "CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, reason TEXT NOT "
       "NULL, backend TEXT NOT NULL, arch TEXT NOT NULL, created_by TEXT NOT NULL, created_unix_ns "
       "INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE session_state (id INTEGER PRIMARY KEY REFERENCES session (id), target_id "
       "INTEGER REFERENCES target (id), environment_id INTEGER REFERENCES environment (id), "
       "closed_by TEXT NOT NULL, closed_unix_ns INTEGER NOT NULL, generation INTEGER NOT NULL, "
       "tag_count INTEGER NOT NULL, set_count INTEGER NOT NULL, job_count INTEGER NOT NULL, "
       "solver_count INTEGER NOT NULL, applicability_count INTEGER NOT NULL, "
       "checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE session_tag (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES "
       "session (id), tag_id INTEGER NOT NULL REFERENCES tag (id), checksum TEXT NOT NULL, UNIQUE "
       "(session_id, tag_id)) STRICT",
       "CREATE TABLE session_set (id INTEGER PRIMARY KEY REFERENCES measurement_set (id), "
       "session_id INTEGER NOT NULL REFERENCES session (id), checksum TEXT NOT NULL) STRICT",
       "CREATE INDEX session_set_by_session ON session_set (session_id)",
       "CREATE TABLE session_solver (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL "
       "REFERENCES session (id), generation INTEGER NOT NULL, solver TEXT NOT NULL, operator TEXT "
       "NOT NULL, dynamic INTEGER NOT NULL, tunable INTEGER NOT NULL, compiles INTEGER NOT NULL, "
       "code TEXT NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE INDEX session_solver_by_session ON session_solver (session_id, generation)",
       "CREATE TABLE applicability (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES "
       "session (id), problem_id INTEGER NOT NULL REFERENCES problem (id), generation INTEGER NOT "
       "NULL, solvers TEXT NOT NULL, checksum TEXT NOT NULL, UNIQUE (session_id, problem_id)) "
       "STRICT",
       "CREATE TABLE job (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session "
       "(id), problem_id INTEGER NOT NULL REFERENCES problem (id), solver TEXT NOT NULL, step TEXT "
       "NOT NULL, priority INTEGER NOT NULL, reason TEXT NOT NULL, loaded_by TEXT NOT NULL, "
       "loaded_unix_ns INTEGER NOT NULL, state TEXT NOT NULL, ready INTEGER NOT NULL, attempts "
       "INTEGER NOT NULL, lost INTEGER NOT NULL, owner TEXT NOT NULL, deadline_unix_ns INTEGER NOT "
       "NULL, changed_unix_ns "
       "INTEGER NOT NULL, entry_id INTEGER NOT NULL, set_key TEXT NOT NULL, error_kind TEXT NOT "
       "NULL, error_text TEXT NOT NULL, checksum TEXT NOT NULL, UNIQUE (session_id, problem_id, "
       "step, solver)) STRICT",
       "CREATE INDEX job_by_state ON job (session_id, state, ready, step, priority DESC)"}};
}

// Golden versions: reviewed and approved results.
Migration GoldenMigration() {
  return {
      8,
      "golden",
      {"CREATE TABLE golden (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, base_id INTEGER "
       "REFERENCES golden (id), created_by TEXT NOT NULL, created_unix_ns INTEGER NOT NULL, "
       "checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE golden_state (id INTEGER PRIMARY KEY REFERENCES golden (id), approved_by "
       "TEXT NOT NULL, approved_unix_ns INTEGER NOT NULL, withdrawn_by TEXT NOT NULL, "
       "withdrawn_unix_ns INTEGER NOT NULL, withdrawn_because TEXT NOT NULL, entry_count "
       "INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE golden_entry (id INTEGER PRIMARY KEY, golden_id INTEGER NOT NULL "
       "REFERENCES golden (id), problem_id INTEGER NOT NULL REFERENCES problem (id), target_id "
       "INTEGER NOT NULL REFERENCES target (id), candidate_id INTEGER NOT NULL REFERENCES "
       "candidate (id), set_key TEXT NOT NULL, session TEXT NOT NULL, median_ns REAL NOT NULL, "
       "low_ns REAL NOT NULL, high_ns REAL NOT NULL, reason TEXT NOT NULL, added_by TEXT NOT "
       "NULL, added_unix_ns INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE INDEX golden_entry_by_version ON golden_entry (golden_id)"}};
}

Status BeginCountOfFigures(Connection& connection) {
  return InsertNumber(connection, FigureCountTable(), 0);
}

// Metrics of trials beside their time.
Migration FiguresMigration() {
  return {
      9,
      "figures",
      {"CREATE TABLE figure (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES "
       "measurement_set (id), candidate_id INTEGER NOT NULL REFERENCES candidate (id), role TEXT "
       "NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, direction TEXT NOT NULL, value REAL NOT "
       "NULL, low REAL NOT NULL, high REAL NOT NULL, confidence REAL NOT NULL, samples INTEGER NOT "
       "NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE INDEX figure_by_set ON figure (set_id)",
       "CREATE TABLE figure_count (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, checksum TEXT "
       "NOT NULL) STRICT"},
      BeginCountOfFigures};
}

// Workers on jobs, and the publishers that queue them.
Migration FleetMigration() {
  return {
      10,
      "fleet",
      {"CREATE TABLE worker (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT "
       "NULL, target TEXT NOT NULL, attune_version TEXT NOT NULL, began_unix_ns INTEGER NOT NULL, "
       "beat_unix_ns INTEGER NOT NULL, ended_unix_ns INTEGER NOT NULL, doing TEXT NOT NULL, "
       "done_count INTEGER NOT NULL, failed_count INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE publisher (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, owner TEXT NOT "
       "NULL, deadline_unix_ns INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT"}};
}

// Compiled kernels, which travel from builders to measuring workers.
Migration ArtifactsMigration() {
  return {
      11,
      "artifacts",
      {"CREATE TABLE artifact (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, size INTEGER NOT "
       "NULL, packing TEXT NOT NULL, packed_size INTEGER NOT NULL, chunk_count INTEGER NOT NULL, "
       "added_by TEXT NOT NULL, added_unix_ns INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT",
       "CREATE TABLE artifact_chunk (id INTEGER PRIMARY KEY, artifact_id INTEGER NOT NULL "
       "REFERENCES artifact (id), number INTEGER NOT NULL, content TEXT NOT NULL, checksum TEXT "
       "NOT NULL, UNIQUE (artifact_id, number)) STRICT",
       "CREATE TABLE built_kernel (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, artifact_id "
       "INTEGER NOT NULL REFERENCES artifact (id), checksum TEXT NOT NULL) STRICT"}};
}

// Lease order of jobs, as an index only. It begins with the state, so a query for the jobs of a
// problem never walks all queued jobs of a session. Before a server has statistics of a session,
// this index looks as good to it as one that begins with the session.
Migration TurnsMigration() {
  return {12,
          "turns",
          {"CREATE INDEX job_by_turn ON job (state, session_id, ready, step, priority DESC, id)"},
          nullptr,
          {{"job_by_state", "job"}}};
}

// Timelines of tunings.
Migration TimelineMigration() {
  return {13,
          "timeline",
          {"CREATE TABLE timeline (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES "
           "measurement_set (id), content TEXT NOT NULL, checksum TEXT NOT NULL) STRICT",
           "CREATE INDEX timeline_by_set ON timeline (set_id)"}};
}

// The names of the applied migrations that the database records, in order.
Result<std::vector<std::string>> AppliedMigrations(Connection& connection) {
  ATTUNE_ASSIGN_OR_RETURN(const auto tables, connection.Texts(connection.engine().texts().tables));
  if (tables.empty()) return std::vector<std::string>{};
  if (std::find(tables.begin(), tables.end(), "migration") == tables.end()) {
    return FailedPrecondition(
        fmt::format("'{}' is a database of another program (its tables are {}). Use another path.",
                    connection.name(), fmt::join(tables, ", ")));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto versions,
                          connection.Texts("SELECT version FROM migration ORDER BY version"));
  for (size_t i = 0; i < versions.size(); ++i) {
    if (versions[i] == fmt::format("{}", i + 1)) continue;
    return DataLoss(
        fmt::format("Table migration of database '{}' holds version {} where {} must be.",
                    connection.name(), versions[i], i + 1));
  }
  return connection.Texts("SELECT name FROM migration ORDER BY version");
}

Status CheckApplied(const Connection& connection, const std::vector<std::string>& applied,
                    std::span<const Migration> migrations) {
  if (applied.size() > migrations.size()) {
    return FailedPrecondition(
        fmt::format("Database '{}' has schema version {} (\"{}\"); this attune knows versions up "
                    "to {} (\"{}\"). "
                    "Use the attune that made it or a newer one, or another database.",
                    connection.name(), applied.size(), applied.back(), migrations.size(),
                    migrations.back().name));
  }
  for (size_t i = 0; i < applied.size(); ++i) {
    if (applied[i] == migrations[i].name) continue;
    return DataLoss(fmt::format(
        "Row {} of table migration of database '{}': column name holds '{}', but that migration is "
        "called '{}'.",
        i + 1, connection.name(), applied[i], migrations[i].name));
  }
  return Status::Ok();
}

Status Apply(Connection& connection, const Migration& migration) {
  for (const std::string& statement : migration.statements) {
    ATTUNE_RETURN_IF_ERROR(connection.Execute(statement));
  }
  const std::string& drop = connection.engine().texts().drop_index;
  for (const DroppedIndex& index : migration.dropped) {
    ATTUNE_RETURN_IF_ERROR(
        connection.Execute(fmt::format(fmt::runtime(drop), index.name, index.table)));
  }
  ATTUNE_RETURN_IF_ERROR(connection.Resume());
  if (migration.fill != nullptr) ATTUNE_RETURN_IF_ERROR(migration.fill(connection));
  ATTUNE_ASSIGN_OR_RETURN(
      Statement * insert,
      connection.Prepare("INSERT INTO migration (version, name, applied_unix_ns) VALUES (:p0, :p1, "
                         ":p2)",
                         {{CellType::kInteger, CellType::kText, CellType::kInteger}, {}}));
  insert->SetParameters(
      {IntegerCell(migration.version), TextCell(migration.name), IntegerCell(UnixNowNs())});
  return insert->Run();
}

Status ApplyMissing(Connection& connection, std::span<const Migration> migrations) {
  ATTUNE_RETURN_IF_ERROR(connection.LockSchema());
  // Checks again under the lock: another process may have been quicker.
  ATTUNE_ASSIGN_OR_RETURN(const auto applied, AppliedMigrations(connection));
  ATTUNE_RETURN_IF_ERROR(CheckApplied(connection, applied, migrations));
  for (const Migration& migration : migrations.subspan(applied.size())) {
    ATTUNE_RETURN_IF_ERROR(Apply(connection, migration));
  }
  return connection.Commit();
}

}  // namespace

bool IsOfDroppedIndex(std::string_view statement, std::span<const Migration> migrations) {
  for (const Migration& migration : migrations) {
    for (const DroppedIndex& index : migration.dropped) {
      const std::string made = fmt::format("CREATE INDEX {} ON {} ", index.name, index.table);
      if (statement.starts_with(made)) return true;
    }
  }
  return false;
}

const std::vector<Migration>& Migrations() {
  static const NeverDestroyed<std::vector<Migration>> migrations(
      {ValuesMigration(), TrialsMigration(), RevisionsMigration(), BoundSamplesMigration(),
       ConditionsMigration(), ImportsMigration(), SessionsMigration(), GoldenMigration(),
       FiguresMigration(), FleetMigration(), ArtifactsMigration(), TurnsMigration(),
       TimelineMigration()});
  return *migrations;
}

Status Migrate(Connection& connection, std::span<const Migration> migrations) {
  ATTUNE_ASSIGN_OR_RETURN(const auto applied, AppliedMigrations(connection));
  ATTUNE_RETURN_IF_ERROR(CheckApplied(connection, applied, migrations));
  if (applied.size() < migrations.size()) {
    ATTUNE_RETURN_IF_ERROR(connection.BeginWrite());
    const Status status = ApplyMissing(connection, migrations);
    if (!status.ok()) connection.Rollback();
    connection.UnlockSchema();
    if (status.code() == StatusCode::kFailedPrecondition && !applied.empty()) {
      return FailedPrecondition(fmt::format(
          "Database '{}' has schema version {}, which is older than this attune's {}, and this "
          "user may not bring it up to date. The owner of its tables does, by any command of this "
          "attune that writes, as 'attune import'. {}",
          connection.name(), applied.size(), migrations.size(), status.message()));
    }
    ATTUNE_RETURN_IF_ERROR(status);
  }
  return connection.engine().CheckDefinitions(connection, migrations);
}

Status CheckWritable(Connection& connection, std::span<const Migration> migrations) {
  ATTUNE_ASSIGN_OR_RETURN(
      Statement * statement,
      connection.Prepare("SELECT max(version) FROM migration", {{}, {CellType::kInteger}}));
  ATTUNE_RETURN_IF_ERROR(statement->Start());
  int64_t version = 0;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Next());
    if (!has_row) break;
    version = statement->row()[0].integer;
  }
  if (version <= migrations.back().version) return Status::Ok();
  return FailedPrecondition(fmt::format(
      "Nothing was written to database '{}': another attune has brought it to schema version {} "
      "since this process opened it, and this attune writes versions up to {}. Run the same "
      "command again with an attune that is as new.",
      connection.name(), version, migrations.back().version));
}

Status CheckReadable(Connection& connection, std::span<const Migration> migrations) {
  ATTUNE_ASSIGN_OR_RETURN(const auto applied, AppliedMigrations(connection));
  ATTUNE_RETURN_IF_ERROR(CheckApplied(connection, applied, migrations));
  if (applied.empty()) {
    return FailedPrecondition(fmt::format(
        "Database '{}' is empty, so there is nothing to be read. Its first command that writes, as "
        "'attune import' or 'attune session new', makes the tables.",
        connection.name()));
  }
  if (applied.size() < kOldestReadableVersion) {
    return FailedPrecondition(fmt::format(
        "Database '{}' has schema version {}; this attune reads versions {} to {}. 'attune import' "
        "or 'attune tune' with it brings it up to date.",
        connection.name(), applied.size(), kOldestReadableVersion, migrations.size()));
  }
  return connection.engine().CheckDefinitions(connection, migrations.first(applied.size()));
}

}  // namespace attune::sql
