// The FleetStore over a database.
#include "attune/session/fleet_store.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/fleet_rows.h"
#include "storage/sql/job_changes.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

// Runs a query with one integer in each row.
Result<std::vector<int64_t>> ReadIntegers(Connection& connection, const std::string& sql,
                                          std::span<const Cell> parameters) {
  std::vector<CellType> types;
  for (const Cell& parameter : parameters) types.push_back(parameter.type);
  ATTUNE_ASSIGN_OR_RETURN(Statement * statement,
                          connection.Prepare(sql, {types, {CellType::kInteger}}));
  statement->SetParameters(parameters);
  ATTUNE_RETURN_IF_ERROR(statement->Start());
  std::vector<int64_t> values;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Next());
    if (!has_row) return values;
    values.push_back(statement->row()[0].integer);
  }
}

class SqlFleetStore final : public FleetStore {
 public:
  explicit SqlFleetStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<std::vector<Session>> OpenSessions() override {
    std::vector<Session> open;
    const Status read = database_->ReadIfAny(JobTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto ids,
                              ReadIntegers(connection,
                                           "SELECT id FROM session_state WHERE closed_unix_ns = 0 "
                                           "AND job_count > 0 ORDER BY id",
                                           {}));
      for (const int64_t id : ids) {
        ATTUNE_ASSIGN_OR_RETURN(SessionRow row, ReadSession(connection, id));
        open.push_back(std::move(row.session));
      }
      return Status::Ok();
    });
    if (!read.ok()) return read;
    return open;
  }

  Result<Backlog> BacklogOf(int64_t session_id, const JobStep& step, int64_t most) override {
    Backlog backlog;
    backlog.session_id = session_id;
    const Status read = database_->Read([&](DatabaseSession& session) -> Status {
      Connection& connection = *session.connection;
      std::vector<Cell> keys = {IntegerCell(session_id), TextCell(::attune::Text(step)),
                                IntegerCell(most)};
      const std::string where = LeasableWhere(step) + " ORDER BY priority DESC, id LIMIT :p2";
      ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, where, keys, [&](const JobRow& row) {
        backlog.jobs.push_back({row.job.id, row.job.attempts, row.job.priority});
        return Status::Ok();
      }));
      if (backlog.jobs.empty()) return Status::Ok();
      keys.pop_back();
      ATTUNE_ASSIGN_OR_RETURN(
          const auto counts,
          ReadIntegers(connection,
                       "SELECT count(*) FROM job WHERE session_id = :p0 AND state = 'leased' AND "
                       "step = :p1",
                       keys));
      backlog.leased = counts.empty() ? 0 : counts.front();
      return Status::Ok();
    });
    if (!read.ok()) return read;
    return backlog;
  }

  Result<bool> HasOpenJobs(int64_t session_id, std::span<const JobStep> steps) override {
    bool has_any = false;
    const Status read = database_->Read([&](DatabaseSession& session) -> Status {
      for (const JobStep& step : steps) {
        for (const std::string_view state : {"queued", "leased"}) {
          const Cell keys[] = {IntegerCell(session_id), TextCell(state),
                               TextCell(::attune::Text(step))};
          // Names every column of the index, so that rows of other steps are skipped.
          ATTUNE_ASSIGN_OR_RETURN(const auto found,
                                  ReadIntegers(*session.connection,
                                               "SELECT id FROM job WHERE session_id = :p0 AND "
                                               "state = :p1 AND ready IN (0, 1) AND step = :p2 "
                                               "LIMIT 1",
                                               keys));
          has_any = has_any || !found.empty();
          if (has_any) return Status::Ok();
        }
      }
      return Status::Ok();
    });
    if (!read.ok()) return read;
    return has_any;
  }

  Result<std::vector<FoundJob>> Find(std::span<const int64_t> ids) override {
    std::vector<FoundJob> found;
    if (ids.empty()) return found;
    const Status read = database_->Read([&](DatabaseSession& session) {
      std::vector<Cell> keys;
      const std::string where = "id" + InList(ids.first(std::min(ids.size(), kMostFound)), keys);
      return ReadJobs(*session.connection, where, keys, [&](const JobRow& row) {
        found.push_back(
            {row.job.id, row.session_id, row.job.step, row.job.state, row.job.attempts});
        return Status::Ok();
      });
    });
    if (!read.ok()) return read;
    return found;
  }

  Result<std::vector<std::string>> LeaseOwners(int64_t session_id) override {
    std::set<std::string> owners;
    const Status read = database_->Read([&](DatabaseSession& session) {
      const Cell key = IntegerCell(session_id);
      return ReadJobs(*session.connection, "session_id = :p0 AND state = 'leased'", {&key, 1},
                      [&](const JobRow& row) {
                        owners.insert(row.job.owner);
                        return Status::Ok();
                      });
    });
    if (!read.ok()) return read;
    return std::vector<std::string>(owners.begin(), owners.end());
  }

  Result<int64_t> GiveBackExpired(int64_t session_id, int64_t now_unix_ns) override {
    // Takes no write lock if nothing has expired.
    std::vector<JobRow> expired;
    const Status read = database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(expired, ReadExpired(*session.connection, session_id, now_unix_ns));
      return Status::Ok();
    });
    if (!read.ok()) return read;
    if (expired.empty()) return 0;
    int64_t given_back = 0;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(given_back,
                                  sql::GiveBackExpired(transaction, session_id, now_unix_ns));
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return given_back;
  }

  Result<bool> Bury(const DeadLetter& letter, int64_t now_unix_ns) override {
    bool was_buried = false;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          was_buried = false;
          const Cell keys[] = {IntegerCell(letter.job.job_id), IntegerCell(letter.job.attempt)};
          std::vector<JobRow> rows;
          ATTUNE_RETURN_IF_ERROR(ReadJobs(transaction.connection(),
                                          "id = :p0 AND state = 'queued' AND attempts = :p1", keys,
                                          [&](JobRow row) {
                                            rows.push_back(std::move(row));
                                            return Status::Ok();
                                          }));
          for (JobRow& row : rows) {
            ++row.job.attempts;
            row.job.error = {"abandoned",
                             fmt::format("Its message was given up after {} deliveries: {}",
                                         letter.deliveries, letter.reason)};
            End(row.job, JobState::kFailed, now_unix_ns);
            ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
            was_buried = true;
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return was_buried;
  }

  Result<bool> HoldPublishing(std::string_view token, const std::string& owner, int64_t now_unix_ns,
                              int64_t deadline_unix_ns) override {
    const auto may_hold = [&](const std::optional<PublisherRow>& row) {
      return !row.has_value() || row->owner == owner || row->deadline_unix_ns < now_unix_ns;
    };
    std::optional<PublisherRow> row;
    const Status read = database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(row, FindPublisher(*session.connection, token));
      return Status::Ok();
    });
    if (!read.ok()) return read;
    if (!may_hold(row)) return false;
    bool holds = false;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(row, FindPublisher(transaction.connection(), token));
          holds = may_hold(row);
          if (!holds) return Status::Ok();
          const int64_t id = row.has_value() ? row->id : 0;
          return PutPublisher(transaction, {id, std::string(token), owner, deadline_unix_ns});
        });
    if (!ended.ok()) return ended;
    return holds;
  }

  Status LetGoOfPublishing(const std::string& owner) override {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(auto rows, ReadPublishers(transaction.connection()));
      for (PublisherRow& row : rows) {
        if (row.owner != owner || row.deadline_unix_ns == 0) continue;
        row.deadline_unix_ns = 0;
        ATTUNE_RETURN_IF_ERROR(PutPublisher(transaction, row));
      }
      return Status::Ok();
    });
  }

  Status PutWorker(const WorkerState& worker) override {
    if (worker.name.empty() || worker.name.size() > kMostWorkerNameBytes) {
      return InvalidArgument(fmt::format("The name of a worker has {} bytes; it takes 1 to {}.",
                                         worker.name.size(), kMostWorkerNameBytes));
    }
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) {
      return PutWorkerRow(transaction, worker);
    });
  }

  Result<std::vector<WorkerState>> Workers() override {
    std::vector<WorkerState> workers;
    const Status read = database_->ReadIfAny(WorkerTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(workers, ReadWorkers(connection));
      return Status::Ok();
    });
    if (!read.ok()) return read;
    return workers;
  }

 private:
  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<FleetStore> FleetIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlFleetStore>(std::move(database));
}

}  // namespace attune
