// The SessionStore over a database.
#include "attune/session/session_store.h"

#include <functional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "attune/record/rules.h"
#include "attune/record/weighted_problems.h"
#include "storage/sql/condition_rows.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/list_rows.h"
#include "storage/sql/problem_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/solver_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/statement.h"
#include "storage/sql/text_table.h"

namespace attune {
namespace sql {
namespace {

Status UnknownSession(std::string_view name, const std::vector<SessionRow>& rows) {
  std::string known;
  for (const SessionRow& row : rows) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.session.name);
  }
  return NotFound(fmt::format(
      "There is no session '{}'. {}", name,
      known.empty()
          ? "The database has none yet; 'attune session new NAME --device DEVICE' makes one."
          : fmt::format("Sessions here: {}.", known)));
}

// Those of its tags.
Result<std::vector<TaggedProblem>> ReadTaggedProblems(Connection& connection,
                                                      const SessionRow& row) {
  ATTUNE_ASSIGN_OR_RETURN(const auto tag_ids, ReadSessionTags(connection, row));
  WeightedProblems problems;
  for (const int64_t tag_id : tag_ids) {
    ATTUNE_ASSIGN_OR_RETURN(const auto tag, ReadLabel(connection, TagLists(), tag_id));
    ATTUNE_ASSIGN_OR_RETURN(const auto tagged, ReadList(connection, TagLists(), tag));
    problems.Add(tagged);
  }
  return problems.Take();
}

// A source of problems of a session: the table, the session column that counts its rows, and a
// selection of them.
struct ProblemSource {
  std::string_view table;
  std::string_view count_column;
  std::string_view rows;
};
constexpr ProblemSource kJobs = {"job", "job_count", "FROM job AS work WHERE session_id = :p0"};
constexpr ProblemSource kSets = {
    "session_set", "set_count",
    "FROM session_set LEFT JOIN measurement_set AS work ON work.id = session_set.id "
    "WHERE session_set.session_id = :p0"};
constexpr std::string_view kTagged =
    "SELECT problem_id FROM problem_tag WHERE tag_id IN "
    "(SELECT tag_id FROM session_tag WHERE session_id = :p0)";

// Calls `visit` with the first two columns of each row, both integers.
Status VisitPairs(Connection& connection, const std::string& sql, const SessionRow& row,
                  const std::function<void(int64_t, int64_t)>& visit) {
  ATTUNE_ASSIGN_OR_RETURN(
      Statement* const statement,
      connection.Prepare(sql, {{CellType::kInteger}, {CellType::kInteger, CellType::kInteger}}));
  statement->SetParameters({IntegerCell(row.session.id)});
  ATTUNE_RETURN_IF_ERROR(statement->Start());
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Next());
    if (!has_row) return Status::Ok();
    visit(statement->row()[0].integer, statement->row()[1].integer);
  }
}

// Row numbers of the problems of a source, each once, in order of its rows. The rows are counted,
// not read. kDataLoss if their number differs from the session's count, or one has no problem.
Result<std::vector<int64_t>> ReadProblemIds(Connection& connection, const SessionRow& row,
                                            const ProblemSource& source, int64_t expected) {
  std::vector<int64_t> ids;
  int64_t count = 0;
  int64_t without_problem = 0;
  const std::string sql = fmt::format(
      "SELECT COALESCE(work.problem_id, 0), COUNT(*) {} GROUP BY work.problem_id ORDER BY "
      "MIN(work.id)",
      source.rows);
  ATTUNE_RETURN_IF_ERROR(VisitPairs(connection, sql, row, [&](int64_t id, int64_t rows) {
    ids.push_back(id);
    count += rows;
    if (id == 0) without_problem += rows;
  }));
  if (without_problem > 0) {
    return DataLoss(fmt::format(
        "{} rows of table {} that belong to row {} of table session_state have no problem: what "
        "they refer to is missing, as in table measurement_set.",
        without_problem, source.table, row.session.id));
  }
  if (count == expected) return ids;
  return DataLoss(fmt::format(
      "Row {} of table session_state: column {} holds {}, but table {} has {} such rows.",
      row.session.id, source.count_column, expected, source.table, count));
}

// Appends problems of the session without a tag: those of its jobs, then of its sets. A problem
// with a tag, as most have, is not read again.
Status AddUntaggedProblems(Connection& connection, const SessionRow& row,
                           std::vector<TaggedProblem>& problems) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<int64_t> ids,
                          ReadProblemIds(connection, row, kJobs, row.session.job_count));
  ATTUNE_ASSIGN_OR_RETURN(const auto of_sets,
                          ReadProblemIds(connection, row, kSets, row.session.set_count));
  ids.insert(ids.end(), of_sets.begin(), of_sets.end());
  std::unordered_set<int64_t> known;  // Problems present before, and added here.
  ATTUNE_RETURN_IF_ERROR(VisitPairs(connection,
                                    fmt::format("SELECT problem_id, 0 FROM ({}) AS t", kTagged),
                                    row, [&](int64_t id, int64_t) { known.insert(id); }));
  std::erase_if(ids, [&](int64_t id) { return !known.insert(id).second; });
  if (ids.empty()) return Status::Ok();
  const std::string untagged =
      fmt::format("SELECT work.problem_id {} UNION SELECT work.problem_id {} EXCEPT {}", kJobs.rows,
                  kSets.rows, kTagged);
  const Cell session_id = IntegerCell(row.session.id);
  ATTUNE_ASSIGN_OR_RETURN(ProblemsById by_id,
                          ProblemsById::Read(connection, untagged, {&session_id, 1}));
  for (const int64_t id : ids) {
    ATTUNE_ASSIGN_OR_RETURN(Problem problem, by_id.Take(connection, id));
    problems.push_back({std::move(problem), 1});
  }
  return Status::Ok();
}

class SqlSessionStore final : public SessionStore {
 public:
  explicit SqlSessionStore(std::shared_ptr<SqlDatabase> database)
      : database_(std::move(database)) {}

  Result<Session> Create(const Session& session) override {
    ATTUNE_RETURN_IF_ERROR(ValidateSessionName(session.name));
    Session created;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const auto present,
                                  FindSession(transaction.connection(), session.name));
          if (present.has_value()) {
            return FailedPrecondition(
                fmt::format("There is a session '{}' already. Sessions are never made anew; choose "
                            "another name.",
                            session.name));
          }
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, InsertSession(transaction, session));
          created = row.session;
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return created;
  }

  Result<std::vector<Session>> List() override {
    std::vector<Session> sessions;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadSessions(connection));
          for (const SessionRow& row : rows) sessions.push_back(row.session);
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return sessions;
  }

  Result<Session> Find(std::string_view name) override {
    std::optional<SessionRow> found;
    std::vector<SessionRow> all;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(found, FindSession(connection, name));
          if (found.has_value()) return Status::Ok();
          ATTUNE_ASSIGN_OR_RETURN(all, ReadSessions(connection));
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    if (found.has_value()) return std::move(found->session);
    return UnknownSession(name, all);
  }

  Result<Session> Bind(int64_t session_id, const Target& target,
                       const Environment& fixed) override {
    Session bound;
    const Status ended = Change(session_id, [&](WriteTransaction&, SessionRow& row) -> Status {
      Session& session = row.session;
      if (!session.terms.target.has_value()) {
        ATTUNE_RETURN_IF_ERROR(CheckBelongs(session, target, {}));
        session.terms.target = target;
        session.terms.fixed = fixed;
      } else if (!DifferencesOf(session.terms, target, fixed).empty()) {
        return FailedPrecondition(
            fmt::format("Session '{}' is for {} by now. Make a new session for {}.", session.name,
                        ::attune::Text(*session.terms.target), ::attune::Text(target)));
      }
      bound = session;
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return bound;
  }

  Status Close(int64_t session_id, std::string_view closed_by) override {
    return Change(session_id, [&](WriteTransaction&, SessionRow& row) {
      if (row.session.is_closed()) return Status::Ok();
      row.session.closed_by = closed_by;
      row.session.closed_unix_ns = UnixNowNs();
      return Status::Ok();
    });
  }

  Status AddTag(int64_t session_id, std::string_view tag) override {
    return Change(session_id, [&](WriteTransaction& transaction, SessionRow& row) -> Status {
      if (row.session.is_closed())
        return RefusedAsClosed(row.session, "nothing more is added to it");
      ATTUNE_ASSIGN_OR_RETURN(const auto tag_id,
                              FindLabel(transaction.connection(), TagLists(), tag));
      if (!tag_id.has_value()) {
        return NotFound(
            fmt::format("There is no tag '{}'. 'attune import FILE --tag {}' makes it.", tag, tag));
      }
      ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                              InsertSessionTag(transaction, session_id, *tag_id));
      if (is_new) ++row.tag_count;
      return Status::Ok();
    });
  }

  Result<std::vector<std::string>> Tags(int64_t session_id) override {
    std::vector<std::string> tags;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, session_id));
          ATTUNE_ASSIGN_OR_RETURN(const auto tag_ids, ReadSessionTags(connection, row));
          for (const int64_t tag_id : tag_ids) {
            ATTUNE_ASSIGN_OR_RETURN(tags.emplace_back(), ReadLabel(connection, TagLists(), tag_id));
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return tags;
  }

  Result<std::vector<TaggedProblem>> Problems(int64_t session_id) override {
    std::vector<TaggedProblem> problems;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, session_id));
          ATTUNE_ASSIGN_OR_RETURN(problems, ReadTaggedProblems(connection, row));
          return AddUntaggedProblems(connection, row, problems);
        });
    if (!ended.ok()) return ended;
    return problems;
  }

  Status BeginSet(int64_t session_id, const MeasurementSet& set) override {
    ATTUNE_RETURN_IF_ERROR(ValidateSet(set));
    return Change(session_id, [&](WriteTransaction& transaction, SessionRow& row) -> Status {
      ATTUNE_RETURN_IF_ERROR(CheckBelongs(row.session, set.target, set.environment));
      ATTUNE_ASSIGN_OR_RETURN(const int64_t set_id, InsertSet(transaction, set));
      ATTUNE_RETURN_IF_ERROR(InsertConditions(transaction, set_id));
      ATTUNE_ASSIGN_OR_RETURN(const bool is_new, InsertSessionSet(transaction, session_id, set_id));
      if (is_new) ++row.session.set_count;
      return Status::Ok();
    });
  }

  Result<SolverTable> Solvers(int64_t session_id) override {
    SolverTable table;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, session_id));
          return ReadNewest(connection, row, table);
        });
    if (!ended.ok()) return ended;
    return table;
  }

  Result<std::vector<SolverEntry>> AllSolvers(int64_t session_id) override {
    std::vector<SolverEntry> entries;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, session_id));
          ATTUNE_ASSIGN_OR_RETURN(entries, ReadSolvers(connection, row, 0));
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return entries;
  }

  Result<SolverTable> UpdateSolvers(int64_t session_id,
                                    std::span<const SolverEntry> entries) override {
    SolverTable table;
    const Status ended =
        Change(session_id, [&](WriteTransaction& transaction, SessionRow& row) -> Status {
          ATTUNE_RETURN_IF_ERROR(ReadNewest(transaction.connection(), row, table));
          const bool is_same =
              std::equal(entries.begin(), entries.end(), table.entries.begin(), table.entries.end(),
                         [](const SolverEntry& a, const SolverEntry& b) { return a.SameAs(b); });
          if (is_same && row.generation > 0) return Status::Ok();
          if (row.session.is_closed())
            return RefusedAsClosed(row.session, "nothing more is added to it");
          table.generation = ++row.generation;
          table.entries.assign(entries.begin(), entries.end());
          row.solver_count += std::ssize(entries);
          return InsertSolvers(transaction, session_id, table.generation, table.entries);
        });
    if (!ended.ok()) return ended;
    return table;
  }

  Status SetApplicability(int64_t session_id, int64_t generation,
                          std::span<const ProblemSolvers> problems) override {
    return Change(session_id, [&](WriteTransaction& transaction, SessionRow& row) -> Status {
      if (row.session.is_closed())
        return RefusedAsClosed(row.session, "nothing more is added to it");
      for (const ProblemSolvers& problem : problems) {
        ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                                PutApplicability(transaction, session_id, generation, problem));
        if (is_new) ++row.applicability_count;
      }
      return Status::Ok();
    });
  }

  Result<std::vector<ProblemSolvers>> Applicability(int64_t session_id,
                                                    int64_t generation) override {
    std::vector<ProblemSolvers> problems;
    const Status ended =
        database_->ReadIfAny(SessionTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow row, ReadSession(connection, session_id));
          ATTUNE_ASSIGN_OR_RETURN(problems, ReadApplicability(connection, row, generation));
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return problems;
  }

 private:
  static Status ReadNewest(Connection& connection, const SessionRow& row, SolverTable& table) {
    table.generation = row.generation;
    if (row.generation == 0) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(table.entries, ReadSolvers(connection, row, row.generation));
    return Status::Ok();
  }

  Status Change(int64_t session_id,
                const std::function<Status(WriteTransaction&, SessionRow&)>& body) {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(SessionRow row, ReadSession(transaction.connection(), session_id));
      ATTUNE_RETURN_IF_ERROR(body(transaction, row));
      return UpdateSession(transaction, row);
    });
  }

  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<SessionStore> SessionsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlSessionStore>(std::move(database));
}

}  // namespace attune
