// The JobStore over a database.
#include "attune/jobs/job_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/jobs/lease_keeper.h"
#include "storage/sql/free_text.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

constexpr std::string_view kCompileFailed = "compile";

template <class T>
bool IsAmong(const std::vector<T>& some, const T& one) {
  return some.empty() || std::find(some.begin(), some.end(), one) != some.end();
}

bool Matches(const JobFilter& filter, const Job& job, const std::optional<int64_t>& problem_id,
             int64_t its_problem_id) {
  return IsAmong(filter.steps, job.step) && IsAmong(filter.states, job.state) &&
         IsAmong(filter.ids, job.id) && (filter.solver.empty() || filter.solver == job.solver) &&
         (!problem_id.has_value() || *problem_id == its_problem_id);
}

// The jobs of a session that match, in order of their ids. kDataLoss if the session says that it
// has another number of them.
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
  const Cell key = IntegerCell(session_id);
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection, "session_id = :p0 ORDER BY id", {&key, 1}, [&](JobRow row) {
        ++count;
        if (Matches(filter, row.job, problem_id, row.problem_id)) rows.push_back(std::move(row));
        return Status::Ok();
      }));
  if (count == session.job_count) return rows;
  return DataLoss(fmt::format(
      "Row {} of table session_state: column job_count holds {}, but table job has {} such rows.",
      session_id, session.job_count, count));
}

void End(Job& job, JobState state, int64_t now_unix_ns) {
  job.state = state;
  job.deadline_unix_ns = 0;
  job.changed_unix_ns = now_unix_ns;
}

// What the end of a compile job means for the measure job of the same search.
Status TellMeasureJob(WriteTransaction& transaction, const JobRow& compile, int64_t now_unix_ns) {
  if (compile.job.step.work != JobWork::kCompile) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(auto measure, FindJob(transaction.connection(), compile,
                                                {compile.job.step.search, JobWork::kMeasure}));
  if (!measure.has_value()) return Status::Ok();
  Job& job = measure->job;
  if (compile.job.state == JobState::kDone) {
    job.is_ready = true;
  } else if (compile.job.state == JobState::kFailed && job.state == JobState::kQueued) {
    End(job, JobState::kCancelled, now_unix_ns);
    job.error = {std::string(kCompileFailed),
                 fmt::format("Job {}, which compiles it, failed ({}): {}", compile.job.id,
                             compile.job.error.kind, compile.job.error.text)};
  } else if (compile.job.state == JobState::kQueued) {
    // It is tried again, and so is what its failure had cancelled.
    job.is_ready = false;
    if (job.state == JobState::kCancelled && job.error.kind == kCompileFailed) {
      End(job, JobState::kQueued, now_unix_ns);
      job.error = {};
    }
  }
  return UpdateJob(transaction, *measure);
}

// What held a lease until after its deadline goes back, or has failed for good.
Status GiveBackExpired(WriteTransaction& transaction, int64_t session_id, int64_t now_unix_ns) {
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(now_unix_ns)};
  std::vector<JobRow> expired;
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(transaction.connection(),
               "session_id = :p0 AND state = 'leased' AND deadline_unix_ns < :p1 ORDER BY id", keys,
               [&](JobRow row) {
                 expired.push_back(std::move(row));
                 return Status::Ok();
               }));
  for (JobRow& row : expired) {
    row.job.error = {"abandoned",
                     fmt::format("{} had leased it and did not report; {} of {} leases "
                                 "were lost like that.",
                                 row.job.owner, ++row.job.lost, row.job.attempts)};
    End(row.job, row.job.lost >= kMostLostLeases ? JobState::kFailed : JobState::kQueued,
        now_unix_ns);
    ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
    if (row.job.state == JobState::kFailed) {
      ATTUNE_RETURN_IF_ERROR(TellMeasureJob(transaction, row, now_unix_ns));
    }
  }
  return Status::Ok();
}

// The leasable jobs of `step` and of the problem that is first.
Result<std::vector<JobRow>> FindLeasable(Connection& connection, int64_t session_id,
                                         const JobStep& step) {
  std::vector<Cell> keys = {IntegerCell(session_id), TextCell(::attune::Text(step))};
  std::vector<JobRow> rows;
  const auto add = [&](JobRow row) {
    rows.push_back(std::move(row));
    return Status::Ok();
  };
  ATTUNE_RETURN_IF_ERROR(ReadJobs(connection,
                                  "session_id = :p0 AND state = 'queued' AND ready = 1 AND step = "
                                  ":p1 ORDER BY priority DESC, id LIMIT 1",
                                  keys, add));
  if (rows.empty()) return rows;
  keys.push_back(IntegerCell(rows.front().problem_id));
  rows.clear();
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection,
               "session_id = :p0 AND problem_id = :p2 AND step = :p1 AND state = "
               "'queued' AND ready = 1 ORDER BY id",
               keys, add));
  return rows;
}

// The row of a lease that is still held; nothing for any other.
Result<std::optional<JobRow>> FindHeld(Connection& connection, const JobClaim& claim) {
  const Cell keys[] = {IntegerCell(claim.job_id), IntegerCell(claim.attempt)};
  std::optional<JobRow> held;
  ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, "id = :p0 AND state = 'leased' AND attempts = :p1",
                                  keys, [&](JobRow row) {
                                    held = std::move(row);
                                    return Status::Ok();
                                  }));
  return held;
}

// One problem's jobs of one load.
struct Loading {
  const JobLoad& load;
  int64_t session_id = 0;
  int64_t now_unix_ns = 0;
  bool session_has_jobs = false;
  LoadedJobs loaded = {};
};

Status LoadOne(WriteTransaction& transaction, JobRow row, const JobStep& step, Loading& loading) {
  row.job.step = step;
  const JobStep compile = {step.search, JobWork::kCompile};
  const bool waits_for_new = IsAmong(loading.load.steps, compile) && !loading.load.steps.empty();
  if (step.work == JobWork::kMeasure && (waits_for_new || loading.session_has_jobs)) {
    ATTUNE_ASSIGN_OR_RETURN(const auto its_compile,
                            FindJob(transaction.connection(), row, compile));
    if (its_compile.has_value()) row.job.is_ready = its_compile->job.state == JobState::kDone;
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new, InsertJob(transaction, row));
  ++(is_new ? loading.loaded.added : loading.loaded.already_there);
  return Status::Ok();
}

Status LoadProblem(WriteTransaction& transaction, const ProblemSolvers& problem, Loading& loading) {
  JobRow row;
  row.session_id = loading.session_id;
  ATTUNE_ASSIGN_OR_RETURN(row.problem_id,
                          InternText(transaction, ProblemTable(), ::attune::Text(problem.problem)));
  row.job.priority = loading.load.priority;
  row.job.reason = loading.load.reason;
  row.job.loaded_by = loading.load.loaded_by;
  row.job.loaded_unix_ns = row.job.changed_unix_ns = loading.now_unix_ns;
  const auto& compiling = loading.load.compiling_solvers;
  for (const std::string& solver : problem.solvers) {
    row.job.solver = solver;
    const bool compiles = std::find(compiling.begin(), compiling.end(), solver) != compiling.end();
    // Compiling before measuring, so that the second finds the first.
    for (const JobStep& step : AllJobSteps()) {
      if (std::find(loading.load.steps.begin(), loading.load.steps.end(), step) ==
          loading.load.steps.end()) {
        continue;
      }
      if (step.work == JobWork::kCompile && !compiles) continue;
      ATTUNE_RETURN_IF_ERROR(LoadOne(transaction, row, step, loading));
    }
  }
  return Status::Ok();
}

class SqlJobStore final : public JobStore {
 public:
  explicit SqlJobStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<LoadedJobs> Load(int64_t session_id, const JobLoad& load,
                          std::span<const ProblemSolvers> problems) override {
    Loading loading{load, session_id, UnixNowNs()};
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          loading.loaded = {};
          ATTUNE_ASSIGN_OR_RETURN(SessionRow session,
                                  ReadSession(transaction.connection(), session_id));
          if (session.session.is_closed()) {
            return FailedPrecondition(
                fmt::format("Session '{}' is closed. Make a new one.", session.session.name));
          }
          loading.session_has_jobs = session.job_count > 0;
          for (const ProblemSolvers& problem : problems) {
            ATTUNE_RETURN_IF_ERROR(LoadProblem(transaction, problem, loading));
          }
          session.job_count += loading.loaded.added;
          return UpdateSession(transaction, session);
        });
    if (!ended.ok()) return ended;
    return loading.loaded;
  }

  Result<std::vector<Job>> Lease(int64_t session_id, const LeaseTerms& terms) override {
    std::vector<Job> leased;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          leased.clear();
          Connection& connection = transaction.connection();
          ATTUNE_RETURN_IF_ERROR(GiveBackExpired(transaction, session_id, terms.now_unix_ns));
          std::vector<JobRow> rows;
          for (const JobStep& step : terms.steps) {
            ATTUNE_ASSIGN_OR_RETURN(rows, FindLeasable(connection, session_id, step));
            if (!rows.empty()) break;
          }
          JobProblems problems;
          for (JobRow& row : rows) {
            Job& job = row.job;
            End(job, JobState::kLeased, terms.now_unix_ns);
            job.deadline_unix_ns = terms.now_unix_ns + terms.lease_ns;
            job.owner = terms.owner;
            ++job.attempts;
            ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
            ATTUNE_RETURN_IF_ERROR(problems.Fill(connection, row));
            leased.push_back(std::move(row.job));
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return leased;
  }

  Status ExpireLeasesOf(int64_t session_id, const std::string& owner) override {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      const Cell keys[] = {IntegerCell(session_id), TextCell(FreeText(owner))};
      std::vector<JobRow> held;
      ATTUNE_RETURN_IF_ERROR(
          ReadJobs(transaction.connection(),
                   "session_id = :p0 AND state = 'leased' AND owner = :p1 ORDER BY id", keys,
                   [&](JobRow row) {
                     held.push_back(std::move(row));
                     return Status::Ok();
                   }));
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
          renewed = 0;
          for (const JobClaim& claim : claims) {
            ATTUNE_ASSIGN_OR_RETURN(auto row, FindHeld(transaction.connection(), claim));
            if (!row.has_value()) continue;
            row->job.deadline_unix_ns = deadline_unix_ns;
            ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, *row));
            ++renewed;
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return renewed;
  }

  Result<int64_t> Report(std::span<const JobReport> reports, int64_t now_unix_ns) override {
    int64_t taken = 0;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          taken = 0;
          for (const JobReport& report : reports) {
            ATTUNE_ASSIGN_OR_RETURN(auto row, FindHeld(transaction.connection(), report.claim));
            if (!row.has_value()) continue;
            ++taken;
            ATTUNE_RETURN_IF_ERROR(Take(transaction, report, now_unix_ns, *row));
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return taken;
  }

  Result<int64_t> Cancel(int64_t session_id, const JobFilter& filter,
                         const JobError& why) override {
    const auto is_open = [](JobState state) {
      return state == JobState::kQueued || state == JobState::kLeased;
    };
    return ChangeMatching(session_id, filter, is_open,
                          [&](WriteTransaction&, JobRow& row, int64_t now_unix_ns) {
                            End(row.job, JobState::kCancelled, now_unix_ns);
                            row.job.error = why;
                            return Status::Ok();
                          });
  }

  Result<int64_t> Requeue(int64_t session_id, const JobFilter& filter) override {
    const auto has_ended = [](JobState state) {
      return state != JobState::kQueued && state != JobState::kLeased;
    };
    return ChangeMatching(session_id, filter, has_ended,
                          [](WriteTransaction& transaction, JobRow& row, int64_t now_unix_ns) {
                            End(row.job, JobState::kQueued, now_unix_ns);
                            row.job.lost = 0;
                            row.job.error = {};
                            return TellMeasureJob(transaction, row, now_unix_ns);
                          });
  }

  Result<std::vector<Job>> List(int64_t session_id, const JobFilter& filter) override {
    std::vector<Job> jobs;
    const Status ended = ReadIfAny([&](Connection& connection) -> Status {
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
    const Status ended = ReadIfAny([&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadMatching(connection, session_id, {}));
      for (const JobRow& row : rows) {
        const Job& job = row.job;
        ++counts.steps[job.step][static_cast<size_t>(job.state)];
        if (job.state == JobState::kFailed) ++counts.failures[job.error.kind];
        const bool has_ended = job.state == JobState::kDone || job.state == JobState::kFailed;
        if (has_ended && job.changed_unix_ns > since_unix_ns) ++counts.ended_since;
      }
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return counts;
  }

 private:
  static Status Take(WriteTransaction& transaction, const JobReport& report, int64_t now_unix_ns,
                     JobRow& row) {
    End(row.job, report.state, now_unix_ns);
    row.job.error = report.error;
    if (report.state == JobState::kQueued) return UpdateJob(transaction, row);
    row.job.entry_id = report.entry_id;
    row.job.set_id = report.set_id;
    ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
    return TellMeasureJob(transaction, row, now_unix_ns);
  }

  Result<int64_t> ChangeMatching(
      int64_t session_id, const JobFilter& filter, const std::function<bool(JobState)>& is_meant,
      const std::function<Status(WriteTransaction&, JobRow&, int64_t)>& change) {
    int64_t changed = 0;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          changed = 0;
          ATTUNE_ASSIGN_OR_RETURN(auto rows,
                                  ReadMatching(transaction.connection(), session_id, filter));
          const int64_t now_unix_ns = UnixNowNs();
          for (JobRow& row : rows) {
            if (!is_meant(row.job.state)) continue;
            ATTUNE_RETURN_IF_ERROR(change(transaction, row, now_unix_ns));
            ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
            ++changed;
          }
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return changed;
  }

  // A database that is only read may be older than jobs: then there are none.
  Status ReadIfAny(const std::function<Status(Connection&)>& body) {
    return database_->Read([&](DatabaseSession& session) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const bool has_any, HasTable(*session.connection, JobTable()));
      return has_any ? body(*session.connection) : Status::Ok();
    });
  }

  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<JobStore> JobsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlJobStore>(std::move(database));
}

}  // namespace attune
