#include "storage/sql/sql_store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/base64.h"
#include "attune/base/gzip.h"
#include "attune/base/process_variables.h"
#include "attune/base/unix_time.h"
#include "attune/record/rules.h"
#include "storage/sql/condition_rows.h"
#include "storage/sql/database_file.h"
#include "storage/sql/list_rows.h"
#include "storage/sql/revision_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sqlite_settings.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"
#include "storage/sql/trial_rows.h"

namespace attune {
namespace sql {
namespace {

// Ids of the problems that match a query, ascending.
Result<std::vector<int64_t>> MatchingProblems(Connection& connection, const RecordQuery& query) {
  std::vector<int64_t> ids;
  if (query.tag.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(ids, ReadTaggedIds(connection, *query.tag));
  }
  if (query.problem.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(const std::optional<int64_t> id,
                            FindText(connection, ProblemTable(), Text(*query.problem)));
    const bool is_wanted = id.has_value() && (!query.tag.has_value() ||
                                              std::binary_search(ids.begin(), ids.end(), *id));
    return is_wanted ? std::vector<int64_t>{*id} : std::vector<int64_t>{};
  }
  if (query.tag.has_value()) return ids;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {ProblemTable(), "id IS NOT NULL ORDER BY id", {}},
                                  [&](std::span<const Cell> row) {
                                    ids.push_back(row[0].integer);
                                    return Status::Ok();
                                  }));
  return ids;
}

using Visitor = std::function<Status(const RecordedSet&)>;

Status VisitSet(DatabaseSession& session, const RecordQuery& query, std::span<const Cell> set_row,
                const Visitor& visit) {
  Connection& connection = *session.connection;
  if (query.session_id.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(const auto session_id, FindSessionOfSet(connection, SetIdOf(set_row)));
    if (session_id != query.session_id) return Status::Ok();
  }
  RecordedSet recorded;
  ATTUNE_ASSIGN_OR_RETURN(recorded.set, session.sets.Parse(connection, set_row));
  if (query.backend.has_value() && recorded.set.target.backend != *query.backend) {
    return Status::Ok();
  }
  ATTUNE_ASSIGN_OR_RETURN(const SetProgress progress, ReadProgress(connection, set_row[0].integer));
  recorded.finished = progress.finished;
  if (query.finished_only && !recorded.finished) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(recorded.records, session.trials.Read(connection, progress,
                                                                {query.roles, query.with_samples}));
  ATTUNE_ASSIGN_OR_RETURN(recorded.conditions,
                          session.conditions.Read(connection, set_row[0].integer));
  return visit(recorded);
}

// A problem with its selected sets; all if null.
struct VisitedProblem {
  int64_t id = 0;
  const std::set<int64_t>* set_ids = nullptr;
};

Status VisitProblem(DatabaseSession& session, const RecordQuery& query,
                    const VisitedProblem& problem, const Visitor& visit) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Row> set_rows,
                          ReadSetRows(*session.connection, problem.id));
  for (const Row& row : set_rows) {
    if (problem.set_ids != nullptr && !problem.set_ids->contains(SetIdOf(row))) continue;
    ATTUNE_RETURN_IF_ERROR(VisitSet(session, query, row, visit));
  }
  return Status::Ok();
}

Status VisitAll(DatabaseSession& session, const RecordQuery& query, const Visitor& visit) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> problem_ids,
                          MatchingProblems(*session.connection, query));
  for (const int64_t id : problem_ids) {
    ATTUNE_RETURN_IF_ERROR(VisitProblem(session, query, {id}, visit));
  }
  return Status::Ok();
}

// The sets of a session, problem by problem.
Status VisitSession(DatabaseSession& session, const RecordQuery& query, const Visitor& visit) {
  Connection& connection = *session.connection;
  ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, *query.session_id));
  ATTUNE_ASSIGN_OR_RETURN(const auto set_ids, ReadSetsOfSession(connection, row));
  SetsOfProblems sets;
  for (const int64_t set_id : set_ids) {
    ATTUNE_ASSIGN_OR_RETURN(const Row set_row, ReadSetRowById(connection, set_id));
    sets[ProblemIdOf(set_row)].insert(set_id);
  }
  for (const auto& [problem_id, of_problem] : sets) {
    ATTUNE_RETURN_IF_ERROR(VisitProblem(session, query, {problem_id, &of_problem}, visit));
  }
  return Status::Ok();
}

Status VisitChanged(DatabaseSession& session, const RecordQuery& query, const Visitor& visit) {
  ATTUNE_ASSIGN_OR_RETURN(const SetsOfProblems changed,
                          ReadChangedSets(*session.connection, query.after_revision));
  const bool any_problem = !query.problem.has_value() && !query.tag.has_value();
  std::vector<int64_t> wanted;
  if (!any_problem && !changed.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(wanted, MatchingProblems(*session.connection, query));
  }
  for (const auto& [id, set_ids] : changed) {
    if (!any_problem && !std::binary_search(wanted.begin(), wanted.end(), id)) continue;
    ATTUNE_RETURN_IF_ERROR(VisitProblem(session, query, {id, &set_ids}, visit));
  }
  return Status::Ok();
}

Status FinishedSet(std::string_view set_id) {
  return FailedPrecondition(
      fmt::format("Measurement set {} is finished; begin a new set for further trials.", set_id));
}

Result<Timeline> ParseTimelineRow(std::span<const Cell> row) {
  constexpr size_t kContent = 2;
  constexpr size_t kMostBytes = size_t{64} << 20;
  const auto damaged = [&](std::string_view why) {
    return DamagedCell(TimelineTable(), row, kContent, why);
  };
  const std::optional<std::string> packed = FromBase64(row[kContent].text);
  if (!packed.has_value()) return damaged("which is no base64");
  const Result<std::string> text = Gunzip(*packed, kMostBytes);
  if (!text.ok()) return damaged(text.error().message());
  Result<Timeline> timeline = ParseTimeline(*text);
  if (!timeline.ok()) return damaged(timeline.error().message());
  return timeline;
}

class SqlStore final : public RecordStore {
 public:
  explicit SqlStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Status AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) override {
    ATTUNE_RETURN_IF_ERROR(ValidateTagging(tag, problems));
    return database_->Write([&](DatabaseSession& session, WriteTransaction& transaction) {
      return AddToList(transaction, session.problems, TagLists(), tag, problems);
    });
  }

  Result<std::vector<TaggedProblem>> Problems(std::string_view tag) override {
    std::vector<TaggedProblem> problems;
    ATTUNE_RETURN_IF_ERROR(database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(problems, tag.empty()
                                            ? ReadAllProblems(*session.connection)
                                            : ReadList(*session.connection, TagLists(), tag));
      return Status::Ok();
    }));
    return problems;
  }

  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override {
    std::vector<std::pair<std::string, int64_t>> tags;
    ATTUNE_RETURN_IF_ERROR(database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(tags, ReadLabels(*session.connection, TagLists()));
      return Status::Ok();
    }));
    return tags;
  }

  Status AddNetwork(const Network& network, std::span<const TaggedProblem> problems) override {
    ATTUNE_RETURN_IF_ERROR(ValidateNetwork(network, problems));
    return database_->Write([&](DatabaseSession& session, WriteTransaction& transaction) {
      return AddToList(transaction, session.problems, NetworkLists(), Text(network), problems);
    });
  }

  Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) override {
    std::vector<TaggedProblem> problems;
    const auto read = [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(problems, ReadList(connection, NetworkLists(), Text(network)));
      return Status::Ok();
    };
    ATTUNE_RETURN_IF_ERROR(database_->ReadIfAny(NetworkTable(), read));
    return problems;
  }

  Result<std::vector<std::pair<Network, int64_t>>> Networks() override {
    std::vector<std::pair<Network, int64_t>> networks;
    const auto read = [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto labels, ReadLabels(connection, NetworkLists()));
      for (const auto& [label, count] : labels) {
        Result<Network> network = ParseNetwork(label);
        if (!network.ok()) {
          return DataLoss(fmt::format("Table network: {}", network.error().message()));
        }
        networks.emplace_back(std::move(*network), count);
      }
      return Status::Ok();
    };
    ATTUNE_RETURN_IF_ERROR(database_->ReadIfAny(NetworkTable(), read));
    return networks;
  }

  Status BeginSet(const MeasurementSet& set) override {
    ATTUNE_RETURN_IF_ERROR(ValidateSet(set));
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const int64_t set_id, InsertSet(transaction, set));
      return InsertConditions(transaction, set_id);
    });
  }

  Status Append(std::string_view set_id, std::span<const Trial> trials) override {
    ATTUNE_RETURN_IF_ERROR(ValidateTrials(trials));
    std::vector<Qualified> without_quick_times;
    for (const Trial& trial : trials) without_quick_times.push_back({trial, 0});
    return AppendAll(set_id, without_quick_times);
  }

  Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) override {
    ATTUNE_RETURN_IF_ERROR(ValidateQualified(results));
    return AppendAll(set_id, results);
  }

  Status NoteConditions(std::string_view set_id, const SetConditions& conditions) override {
    ATTUNE_RETURN_IF_ERROR(Validate(conditions));
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const SetProgress progress,
                              ReadProgressOf(transaction.connection(), set_id));
      if (progress.finished) return FinishedSet(set_id);
      return UpdateConditions(transaction, progress.set_id, Storable(conditions));
    });
  }

  Status NoteTimeline(std::string_view set_id, const Timeline& timeline) override {
    ATTUNE_ASSIGN_OR_RETURN(const std::string packed, Gzip(Text(timeline)));
    const std::string content = ToBase64(packed);
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const SetProgress progress,
                              ReadProgressOf(transaction.connection(), set_id));
      return transaction.Insert(TimelineTable(), RowWriter(TimelineTable())
                                                     .Integer(transaction.TakeId())
                                                     .Integer(progress.set_id)
                                                     .Text(content)
                                                     .Checksum()
                                                     .Take());
    });
  }

  Result<std::vector<Timeline>> TimelinesOf(std::string_view set_id) override {
    std::vector<Timeline> timelines;
    const auto read = [&](Connection& connection) -> Status {
      const auto progress = ReadProgressOf(connection, set_id);
      if (!progress.ok() && progress.error().code() == StatusCode::kNotFound) return Status::Ok();
      ATTUNE_RETURN_IF_ERROR(progress.status());
      const Cell id = IntegerCell(progress->set_id);
      return ReadRows(connection, {TimelineTable(), "set_id = :p0 ORDER BY id", {&id, 1}},
                      [&](std::span<const Cell> row) -> Status {
                        ATTUNE_ASSIGN_OR_RETURN(timelines.emplace_back(), ParseTimelineRow(row));
                        return Status::Ok();
                      });
    };
    ATTUNE_RETURN_IF_ERROR(database_->ReadIfAny(TimelineTable(), read));
    return timelines;
  }

  Status FinishSet(std::string_view set_id) override {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) {
      return sql::FinishSet(transaction, set_id);
    });
  }

  Result<StoreState> State() override {
    StoreState state;
    // A caller's saved revision must not outlive the commits it covers: those of other processes
    // reach the disk first.
    ATTUNE_RETURN_IF_ERROR(database_->Sync());
    ATTUNE_RETURN_IF_ERROR(database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(state, ReadState(*session.connection));
      return Status::Ok();
    }));
    return state;
  }

  Status Visit(const RecordQuery& query, const Visitor& visit) override {
    return database_->Read([&](DatabaseSession& session) -> Status {
      if (query.session_id.has_value()) {
        ATTUNE_ASSIGN_OR_RETURN(const bool has_any, HasTable(*session.connection, SessionTable()));
        if (!has_any) return Status::Ok();
        const bool is_whole =
            !query.problem.has_value() && !query.tag.has_value() && query.after_revision == 0;
        if (is_whole) return VisitSession(session, query, visit);
      }
      return query.after_revision > 0 ? VisitChanged(session, query, visit)
                                      : VisitAll(session, query, visit);
    });
  }

 private:
  Status AppendAll(std::string_view set_id, std::span<const Qualified> results) {
    return database_->Write([&](DatabaseSession& session, WriteTransaction& transaction) {
      return AppendTrials(session, transaction, set_id, results);
    });
  }

  static Status AppendTrials(DatabaseSession& session, WriteTransaction& transaction,
                             std::string_view set_id, std::span<const Qualified> results) {
    ATTUNE_ASSIGN_OR_RETURN(SetProgress progress, ReadProgressOf(transaction.connection(), set_id));
    if (progress.finished) return FinishedSet(set_id);
    TrialPlace place;
    place.set_id = progress.set_id;
    place.appended_unix_ns = UnixNowNs();
    for (const Qualified& result : results) {
      const Trial& trial = result.trial;
      ATTUNE_ASSIGN_OR_RETURN(place.candidate_id,
                              session.candidates.Intern(transaction, Text(trial.candidate)));
      place.id = transaction.TakeId();
      ATTUNE_RETURN_IF_ERROR(transaction.Insert(
          TrialTable(), TrialRow(place, Storable(trial), {result.quick_ns, result.verify_ns})));
      progress.counts.Add(trial.role);
    }
    return UpdateProgress(transaction, progress);
  }

  const std::shared_ptr<SqlDatabase> database_;
};

ConnectionOptions ConnectionOptionsOf(const SqlStoreOptions& options) {
  return {options.busy_timeout, options.max_size_bytes, Access::kWrite, options.is_cancelled};
}

Status CheckRows(Connection& connection) {
  for (const Table* table : AllTables()) {
    ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {*table, "id IS NOT NULL", {}},
                                    [](std::span<const Cell>) { return Status::Ok(); }));
  }
  return Status::Ok();
}

// Reading everything as a user would checks references and counts of rows.
Status ReadEverything(RecordStore& store) {
  ATTUNE_RETURN_IF_ERROR(store.State().status());
  ATTUNE_ASSIGN_OR_RETURN(const auto tags, store.Tags());
  for (const auto& [tag, count] : tags) {
    ATTUNE_RETURN_IF_ERROR(store.Problems(tag).status());
  }
  return store.Visit({}, [](const RecordedSet&) { return Status::Ok(); });
}

// The user did not choose the folder of the default database. A missing folder that a user names is
// a mistyped path.
MissingFolder MissingFolderAt(const std::filesystem::path& path) {
  const auto usual = DefaultDatabasePath();
  return usual.ok() && path == *usual ? MissingFolder::kCreated : MissingFolder::kRefused;
}

void ImportRecorded(SqlDatabase& database, const std::filesystem::path& path,
                    const SqlStoreOptions& options) {
  SpoolImportOptions import;
  import.patience = options.busy_timeout;
  import.is_told = options.imported != nullptr;
  const SpoolImport imported = ImportSpools(database, path, import);
  if (import.is_told) options.imported(imported);
}

Result<std::shared_ptr<SqlDatabase>> OpenOnServer(const std::string& url,
                                                  const SqlStoreOptions& options) {
  if (options.server_at == nullptr) {
    return Unsupported(fmt::format(
        "Databases on servers ('{}') are for the program attune; this uses files (a path or "
        "sqlite:PATH).",
        url.substr(0, url.find("://"))));
  }
  ATTUNE_ASSIGN_OR_RETURN(auto server, options.server_at(url, {options.busy_timeout}));
  const Access access = options.use == StoreUse::kRecord ? Access::kWrite : Access::kRead;
  ATTUNE_ASSIGN_OR_RETURN(auto connection, OpenDatabase(*server, access));
  return std::make_shared<SqlDatabase>(std::move(server), access, std::move(connection),
                                       sql::Reconnecting{options.reconnecting, options.outages});
}

Result<std::unique_ptr<Connection>> ConnectTo(const std::filesystem::path& path, StoreUse use,
                                              ConnectionOptions& options) {
  switch (use) {
    case StoreUse::kRead:
      return OpenToRead(path, options);
    case StoreUse::kReadAsGuest:
      return OpenAsGuest(path, options);
    case StoreUse::kRecord:
      break;
  }
  ATTUNE_RETURN_IF_ERROR(CreateIfMissing(path, options, MissingFolderAt(path)));
  return OpenDatabase(path, options);
}

}  // namespace
}  // namespace sql

bool IsOnServer(const std::string& url_or_path) { return sql::NamesServer(url_or_path); }

void LoadSqlLibrary() {
  GuardSqliteForks();
  sql::Connection::LoadLibrary();
}

Result<std::shared_ptr<SqlDatabase>> OpenSqlDatabase(const std::string& url_or_path,
                                                     const SqlStoreOptions& options) {
  if (sql::NamesServer(url_or_path)) return sql::OpenOnServer(url_or_path, options);
  sql::ConnectionOptions connection_options = sql::ConnectionOptionsOf(options);
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path path, sql::DatabasePath(url_or_path));
  ATTUNE_ASSIGN_OR_RETURN(auto connection, sql::ConnectTo(path, options.use, connection_options));
  std::error_code error;
  const auto size_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  // Skips the check for a guest, which reads repeatedly and checks each row that it reads.
  const bool is_checked = options.use != StoreUse::kReadAsGuest;
  if (is_checked && !error && size_bytes <= sql::kCheckedAtOpenBytes) {
    ATTUNE_RETURN_IF_ERROR(sql::CheckPages(*connection));
  }
  auto database = std::make_shared<SqlDatabase>(path, connection_options, std::move(connection),
                                                options.on_write_lock);
  if (options.use == StoreUse::kRecord) sql::ImportRecorded(*database, path, options);
  return database;
}

std::unique_ptr<RecordStore> RecordsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlStore>(std::move(database));
}

Result<std::unique_ptr<RecordStore>> OpenSqlStore(const std::string& url_or_path,
                                                  const SqlStoreOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(auto database, OpenSqlDatabase(url_or_path, options));
  return RecordsIn(std::move(database));
}

Status CheckMayBeDatabase(const std::filesystem::path& path) {
  return sql::CheckMayBeDatabase(path, sql::MissingFolderAt(path));
}

Result<std::filesystem::path> SqlStorePath(const std::string& url_or_path) {
  return sql::DatabasePath(url_or_path);
}

Status CheckSqlStore(const std::string& url_or_path, const SqlStoreOptions& options) {
  if (sql::NamesServer(url_or_path)) {
    ATTUNE_ASSIGN_OR_RETURN(const auto database, OpenSqlDatabase(url_or_path, options));
    ATTUNE_RETURN_IF_ERROR(database->Read(
        [](sql::DatabaseSession& session) { return sql::CheckRows(*session.connection); }));
    return sql::ReadEverything(*RecordsIn(database));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path path, sql::DatabasePath(url_or_path));
  {
    ATTUNE_ASSIGN_OR_RETURN(const auto connection,
                            sql::OpenDatabase(path, sql::ConnectionOptionsOf(options)));
    ATTUNE_RETURN_IF_ERROR(sql::CheckPages(*connection));
    ATTUNE_RETURN_IF_ERROR(sql::CheckRows(*connection));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto store, OpenSqlStore(url_or_path, options));
  return sql::ReadEverything(*store);
}

Result<std::string> DefaultDatabasePath() {
  constexpr std::string_view kName = "attune/attune.db";
  if (const std::string data = VariableOr("XDG_DATA_HOME", ""); data.starts_with('/')) {
    return fmt::format("{}/{}", data, kName);
  }
  if (const std::string home = VariableOr("HOME", ""); home.starts_with('/')) {
    return fmt::format("{}/.local/share/{}", home, kName);
  }
  return FailedPrecondition(
      "Neither XDG_DATA_HOME nor HOME is an absolute path, so there is no default database; name "
      "one.");
}

}  // namespace attune
