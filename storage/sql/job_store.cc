// The JobStore over a database.
#include "attune/session/job_store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "storage/sql/free_text.h"
#include "storage/sql/job_changes.h"
#include "storage/sql/job_loading.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

constexpr JobStep kPerfMeasure = {JobSearch::kPerf, JobWork::kMeasure};
constexpr JobStep kFindMeasure = {JobSearch::kFind, JobWork::kMeasure};

template <class T>
bool IsAmong(const std::vector<T>& some, const T& one) {
  return some.empty() || std::find(some.begin(), some.end(), one) != some.end();
}

bool Matches(const JobFilter& filter, const Job& job) {
  return IsAmong(filter.steps, job.step) && IsAmong(filter.states, job.state) &&
         (filter.solver.empty() || filter.solver == job.solver);
}

// The matching jobs of a session, in order of their ids. kDataLoss if the number of its jobs
// differs from the session's count.
Result<std::vector<JobRow>> ReadMatching(Connection& connection, int64_t session_id,
                                         const JobFilter& filter) {
  ATTUNE_ASSIGN_OR_RETURN(const SessionRow session, ReadSession(connection, session_id));
  std::optional<int64_t> problem_id;
  std::vector<JobRow> rows;
  if (filter.problem.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(problem_id,
                            FindText(connection, ProblemTable(), ::attune::Text(*filter.problem)));
    if (!problem_id.has_value()) return rows;
  }
  const std::set<int64_t> ids(filter.ids.begin(), filter.ids.end());
  ATTUNE_RETURN_IF_ERROR(ReadJobsOf(session.session, connection, [&](JobRow row) {
    const bool is_its_problem = !problem_id.has_value() || *problem_id == row.problem_id;
    const bool is_listed = ids.empty() || ids.contains(row.job.id);
    if (is_its_problem && is_listed && Matches(filter, row.job)) rows.push_back(std::move(row));
    return Status::Ok();
  }));
  return rows;
}

// The rows of leases that are still held, by their ids.
Result<std::map<int64_t, JobRow>> FindHeld(Connection& connection,
                                           std::span<const JobClaim> claims) {
  constexpr size_t kAtOnce = 64;
  std::map<int64_t, JobRow> held;
  for (size_t begin = 0; begin < claims.size(); begin += kAtOnce) {
    std::set<std::pair<int64_t, int64_t>> claimed;
    std::vector<int64_t> ids;
    for (const JobClaim& claim : claims.subspan(begin, std::min(kAtOnce, claims.size() - begin))) {
      claimed.emplace(claim.job_id, claim.attempt);
      ids.push_back(claim.job_id);
    }
    std::vector<Cell> keys;
    const std::string where = "id" + InList(ids, keys);
    ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, where, keys, [&](JobRow row) {
      const bool is_held =
          row.job.state == JobState::kLeased && claimed.contains({row.job.id, row.job.attempts});
      if (is_held) held.emplace(row.job.id, std::move(row));
      return Status::Ok();
    }));
  }
  return held;
}

// Returns true for a job whose change of state affects no other job, and which follows none.
bool EndsAlone(const Job& job) {
  return job.step.work == JobWork::kMeasure &&
         (job.state == JobState::kDone || job.state == JobState::kFailed);
}

class SqlJobStore final : public JobStore {
 public:
  explicit SqlJobStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<int64_t> NowUnixNs() override { return database_->NowUnixNs(); }

  Result<LoadedJobs> Load(int64_t session_id, const JobLoad& load,
                          std::span<const ProblemSolvers> problems) override {
    LoadedJobs loaded;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(loaded, LoadJobs(transaction, session_id, load, problems));
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return loaded;
  }

  Result<std::vector<Job>> Lease(int64_t session_id, const LeaseTerms& terms) override {
    std::vector<Job> leased;
    const Status ended = database_->Write([&](DatabaseSession&,
                                              WriteTransaction& transaction) -> Status {
      leased.clear();
      Connection& connection = transaction.connection();
      ATTUNE_ASSIGN_OR_RETURN(const SessionRow session, ReadSession(connection, session_id));
      if (session.session.is_closed()) {
        return RefusedAsClosed(session.session, "none of its jobs is done");
      }
      ATTUNE_RETURN_IF_ERROR(GiveBackExpired(transaction, session_id, terms.now_unix_ns).status());
      std::vector<JobRow> rows;
      for (const JobStep& step : terms.steps) {
        ATTUNE_ASSIGN_OR_RETURN(rows, FindLeasable(connection, session_id, step, terms));
        if (!rows.empty()) break;
      }
      for (JobRow& row : rows) {
        Job& job = row.job;
        End(job, JobState::kLeased, terms.now_unix_ns);
        job.deadline_unix_ns = terms.now_unix_ns + terms.lease_ns;
        job.owner = terms.owner;
        ++job.attempts;
      }
      ATTUNE_RETURN_IF_ERROR(UpdateJobs(transaction, rows));
      ATTUNE_RETURN_IF_ERROR(JobProblems().FillAll(connection, rows));
      for (JobRow& row : rows) leased.push_back(std::move(row.job));
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return leased;
  }

  Status ExpireLeasesOf(int64_t session_id, const std::string& owner) override {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      const Cell keys[] = {IntegerCell(session_id), TextCell(FreeText(owner))};
      ATTUNE_ASSIGN_OR_RETURN(
          auto held, ReadLeased(transaction.connection(),
                                "session_id = :p0 AND state = 'leased' AND owner = :p1", keys));
      for (JobRow& row : held) {
        row.job.deadline_unix_ns = 0;
        ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
      }
      return Status::Ok();
    });
  }

  Result<int64_t> Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) override {
    int64_t renewed = 0;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(auto held, FindHeld(transaction.connection(), claims));
          std::vector<JobRow> rows;
          for (auto& [id, row] : held) {
            row.job.deadline_unix_ns = deadline_unix_ns;
            rows.push_back(std::move(row));
          }
          renewed = std::ssize(rows);
          return UpdateJobs(transaction, rows);
        });
    if (!ended.ok()) return ended;
    return renewed;
  }

  Result<std::vector<bool>> Report(std::span<const JobReport> reports,
                                   int64_t now_unix_ns) override {
    std::vector<bool> taken;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          taken.clear();
          std::vector<JobClaim> claims;
          for (const JobReport& report : reports) claims.push_back(report.claim);
          ATTUNE_ASSIGN_OR_RETURN(auto held, FindHeld(transaction.connection(), claims));
          std::vector<JobRow> alone;  // Jobs without dependents, written together.
          DoneFinds done_finds;
          for (const JobReport& report : reports) {
            const auto row = held.find(report.claim.job_id);
            taken.push_back(row != held.end() && row->second.job.attempts == report.claim.attempt);
            if (!taken.back()) continue;
            if (row->second.job.step == kFindMeasure) {
              // A find job depends on perf jobs, and one may have ended here.
              ATTUNE_RETURN_IF_ERROR(UpdateJobs(transaction, alone));
              alone.clear();
              done_finds.clear();
            }
            if (report.finishes_set) {
              ATTUNE_RETURN_IF_ERROR(FinishSet(transaction, report.set_id));
            }
            ATTUNE_RETURN_IF_ERROR(Take(transaction, report, now_unix_ns, row->second, done_finds));
            if (EndsAlone(row->second.job)) alone.push_back(row->second);
            held.erase(row);
          }
          return UpdateJobs(transaction, alone);
        });
    if (!ended.ok()) return ended;
    return taken;
  }

  Result<int64_t> Cancel(int64_t session_id, const JobFilter& filter,
                         const JobError& why) override {
    const auto is_open = [](JobState state) {
      return state == JobState::kQueued || state == JobState::kLeased;
    };
    const auto cancel = [&why](Job& job) {
      job.state = JobState::kCancelled;
      job.error = why;
    };
    return ChangeMatching(session_id, filter, {is_open, cancel, false});
  }

  Result<int64_t> Requeue(int64_t session_id, const JobFilter& filter) override {
    const auto has_ended = [](JobState state) {
      return state != JobState::kQueued && state != JobState::kLeased;
    };
    return ChangeMatching(session_id, filter, {has_ended, Queue, true});
  }

  Result<std::vector<Job>> List(int64_t session_id, const JobFilter& filter) override {
    std::vector<Job> jobs;
    const Status ended = database_->ReadIfAny(JobTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(auto rows, ReadMatching(connection, session_id, filter));
      JobProblems problems;
      for (JobRow& row : rows) {
        ATTUNE_RETURN_IF_ERROR(problems.Fill(connection, row));
        jobs.push_back(std::move(row.job));
      }
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return jobs;
  }

  Result<JobCounts> Count(int64_t session_id, int64_t since_unix_ns) override {
    JobCounts counts;
    const Status ended = database_->ReadIfAny(JobTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadMatching(connection, session_id, {}));
      for (const JobRow& row : rows) {
        const Job& job = row.job;
        ++counts.steps[job.step][static_cast<size_t>(job.state)];
        if (job.state == JobState::kFailed) ++counts.failures[job.error.kind];
        NoteWork(job, since_unix_ns, counts);
        if (job.state != JobState::kDone && job.state != JobState::kFailed) continue;
        ++counts.ended_by_entry[job.entry_id];
      }
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return counts;
  }

 private:
  // Adds a job to the work of its present or last owner.
  static void NoteWork(const Job& job, int64_t since_unix_ns, JobCounts& counts) {
    if (job.state == JobState::kLeased) {
      OwnerWork& work = counts.owners[job.owner];
      work.deadline_unix_ns = std::max(work.deadline_unix_ns, job.deadline_unix_ns);
    }
    const bool has_ended = job.state == JobState::kDone || job.state == JobState::kFailed;
    if (!has_ended || job.changed_unix_ns <= since_unix_ns) return;
    OwnerWork& work = counts.owners[job.owner];
    const int64_t ended_ns = job.changed_unix_ns;
    if (work.ended++ == 0 || ended_ns < work.first_ended_unix_ns) {
      work.first_ended_unix_ns = ended_ns;
      work.ended_first = 0;
    }
    work.ended_first += ended_ns == work.first_ended_unix_ns ? 1 : 0;
    work.last_ended_unix_ns = std::max(work.last_ended_unix_ns, ended_ns);
  }

  // Cached per session: whether it has find jobs that are done.
  using DoneFinds = std::map<int64_t, bool>;

  // Most have none, so that all reports of a transaction ask once.
  static Result<bool> HasDoneFinds(WriteTransaction& transaction, int64_t session_id,
                                   DoneFinds& known) {
    const auto [found, is_new] = known.try_emplace(session_id, false);
    if (!is_new) return found->second;
    const Cell key = IntegerCell(session_id);
    bool& has_any = found->second;
    ATTUNE_RETURN_IF_ERROR(ReadJobs(
        transaction.connection(),
        "session_id = :p0 AND state = 'done' AND ready = 1 AND step = 'find:measure' LIMIT 1",
        {&key, 1}, [&](const JobRow&) {
          has_any = true;
          return Status::Ok();
        }));
    return has_any;
  }

  // Applies the result of a job. If it EndsAlone(), the caller writes the row.
  static Status Take(WriteTransaction& transaction, const JobReport& report, int64_t now_unix_ns,
                     JobRow& row, DoneFinds& done_finds) {
    ATTUNE_ASSIGN_OR_RETURN(const bool is_outdated, IsOutdated(transaction, report, row));
    End(row.job, is_outdated ? JobState::kQueued : report.state, now_unix_ns);
    row.job.error = report.error;
    // A worker that reports was not lost.
    row.job.lost = 0;
    if (report.state != JobState::kQueued) {
      row.job.entry_id = report.entry_id;
      row.job.set_id = report.set_id;
    }
    if (!EndsAlone(row.job)) ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
    if (row.job.step != kPerfMeasure || report.state != JobState::kDone) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const bool has_finds,
                            HasDoneFinds(transaction, row.session_id, done_finds));
    if (!has_finds) return Status::Ok();
    // The find result was measured with parameters that the perf-db no longer has.
    ATTUNE_ASSIGN_OR_RETURN(auto find, FindJob(transaction.connection(), row, kFindMeasure));
    if (!find.has_value() || find->job.state != JobState::kDone) return Status::Ok();
    Queue(find->job);
    End(find->job, JobState::kQueued, now_unix_ns);
    return Settle(transaction, *find, now_unix_ns);
  }

  // Returns true if a find job used parameters that a perf job replaced while it ran: the find job
  // was leased before the perf job was loaded.
  static Result<bool> IsOutdated(WriteTransaction& transaction, const JobReport& report,
                                 const JobRow& row) {
    if (row.job.step != kFindMeasure || report.state != JobState::kDone) return false;
    ATTUNE_ASSIGN_OR_RETURN(const auto perf, FindJob(transaction.connection(), row, kPerfMeasure));
    return perf.has_value() && perf->job.state == JobState::kDone &&
           perf->job.changed_unix_ns > row.job.changed_unix_ns;
  }

  // Queues it again.
  static void Queue(Job& job) {
    job.state = JobState::kQueued;
    job.lost = 0;
    job.error = {};
  }

  struct JobChange {
    std::function<bool(JobState)> is_meant;
    std::function<void(Job&)> make;
    // A find job that used the parameters of a repeated perf job is repeated too. No time then
    // remains beside parameters that it was not measured with.
    bool takes_finds_along;
  };

  // Returns the number of jobs that end up in the new state: one whose compile job has failed is
  // cancelled again at once.
  Result<int64_t> ChangeMatching(int64_t session_id, const JobFilter& filter,
                                 const JobChange& change) {
    std::set<int64_t> changed;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          changed.clear();
          Connection& connection = transaction.connection();
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow session, ReadSession(connection, session_id));
          if (session.session.is_closed()) {
            return RefusedAsClosed(session.session, "its jobs stay as they are");
          }
          ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadMatching(connection, session_id, filter));
          for (const JobRow& matching : rows) {
            if (!change.is_meant(matching.job.state)) continue;
            // In its present state: an earlier one of them may have changed it.
            ATTUNE_ASSIGN_OR_RETURN(auto row, FindJob(connection, matching, matching.job.step));
            if (!row.has_value()) continue;
            ATTUNE_RETURN_IF_ERROR(Change(transaction, change, *row, changed));
            if (!change.takes_finds_along || matching.job.step != kPerfMeasure) continue;
            ATTUNE_ASSIGN_OR_RETURN(auto find, FindJob(connection, *row, kFindMeasure));
            if (!find.has_value() || find->job.state != JobState::kDone) continue;
            ATTUNE_RETURN_IF_ERROR(Change(transaction, change, *find, changed));
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return std::ssize(changed);
  }

  static Status Change(WriteTransaction& transaction, const JobChange& change, JobRow& row,
                       std::set<int64_t>& changed) {
    const int64_t now_unix_ns = UnixNowNs();
    change.make(row.job);
    const JobState wanted = row.job.state;
    End(row.job, wanted, now_unix_ns);
    ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
    if (row.job.state == wanted) changed.insert(row.job.id);
    return Status::Ok();
  }

  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<JobStore> JobsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlJobStore>(std::move(database));
}

}  // namespace attune
