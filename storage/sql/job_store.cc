// The JobStore over a database.
#include "attune/jobs/job_store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "storage/sql/free_text.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

constexpr std::string_view kCompileFailed = "compile";
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
  const std::set<int64_t> ids(filter.ids.begin(), filter.ids.end());
  ATTUNE_RETURN_IF_ERROR(ReadJobsOf(session.session, connection, [&](JobRow row) {
    const bool is_its_problem = !problem_id.has_value() || *problem_id == row.problem_id;
    const bool is_listed = ids.empty() || ids.contains(row.job.id);
    if (is_its_problem && is_listed && Matches(filter, row.job)) rows.push_back(std::move(row));
    return Status::Ok();
  }));
  return rows;
}

void End(Job& job, JobState state, int64_t now_unix_ns) {
  job.state = state;
  job.deadline_unix_ns = 0;
  job.changed_unix_ns = now_unix_ns;
}

// Brings a queued measure job, or one that its compile job had cancelled, to what the state of that
// compile job allows: `compile` is null if there is none.
void Follow(const Job* compile, int64_t now_unix_ns, Job& measure) {
  const bool was_cancelled_by_it =
      measure.state == JobState::kCancelled && measure.error.kind == kCompileFailed;
  if (measure.state != JobState::kQueued && !was_cancelled_by_it) return;
  const bool is_over = compile != nullptr && (compile->state == JobState::kFailed ||
                                              compile->state == JobState::kCancelled);
  measure.is_ready = compile == nullptr || compile->state == JobState::kDone;
  if (!is_over) {
    if (!was_cancelled_by_it) return;
    End(measure, JobState::kQueued, now_unix_ns);
    measure.error = {};
    return;
  }
  End(measure, JobState::kCancelled, now_unix_ns);
  measure.error = {std::string(kCompileFailed),
                   fmt::format("Job {}, which compiles it, is {} ({}): {}", compile->id,
                               Name(compile->state), compile->error.kind, compile->error.text)};
}

// What became of a job, told to the one that depends on it, or asked of the one that it depends on.
// Called after every change of a state.
Status Settle(WriteTransaction& transaction, JobRow& row, int64_t now_unix_ns) {
  Connection& connection = transaction.connection();
  const JobSearch search = row.job.step.search;
  if (row.job.step.work == JobWork::kMeasure) {
    ATTUNE_ASSIGN_OR_RETURN(const auto compile,
                            FindJob(connection, row, {search, JobWork::kCompile}));
    Follow(compile.has_value() ? &compile->job : nullptr, now_unix_ns, row.job);
    return UpdateJob(transaction, row);
  }
  ATTUNE_RETURN_IF_ERROR(UpdateJob(transaction, row));
  ATTUNE_ASSIGN_OR_RETURN(auto measure, FindJob(connection, row, {search, JobWork::kMeasure}));
  if (!measure.has_value()) return Status::Ok();
  Follow(&row.job, now_unix_ns, measure->job);
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
    ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
  }
  return Status::Ok();
}

// That nobody has and that waits for nothing. A find job waits while somebody works on a perf job
// of its solver and problem: it takes the config that comes of that.
std::string LeasableWhere(const JobStep& step) {
  std::string where = "session_id = :p0 AND state = 'queued' AND ready = 1 AND step = :p1";
  if (step.search == JobSearch::kPerf) return where;
  where +=
      " AND NOT EXISTS (SELECT 1 FROM job AS perf WHERE perf.session_id = job.session_id AND "
      "perf.problem_id = job.problem_id AND perf.solver = job.solver AND perf.state = 'leased' AND "
      "perf.step IN ('perf:compile', 'perf:measure'))";
  return where;
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
  const std::string where = LeasableWhere(step);
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection, fmt::format("{} ORDER BY priority DESC, id LIMIT 1", where), keys, add));
  if (rows.empty()) return rows;
  keys.push_back(IntegerCell(rows.front().problem_id));
  rows.clear();
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection, fmt::format("{} AND problem_id = :p2 ORDER BY id", where), keys, add));
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
  bool has_compile_jobs = false;  // Of this load, or perhaps of an earlier one.
  bool raises = false;            // Some of the session's jobs have a lower priority.
  LoadedJobs loaded = {};

  bool Loads(const JobStep& step) const {
    return std::find(load.steps.begin(), load.steps.end(), step) != load.steps.end();
  }
};

// Whether a job of the session that has not ended has a lower priority: where none has, which is
// what loading the same again finds, nothing is looked for one by one.
Result<bool> HasBelow(Connection& connection, int64_t session_id, int64_t priority) {
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(priority)};
  bool has_any = false;
  ATTUNE_RETURN_IF_ERROR(ReadJobs(
      connection, "session_id = :p0 AND priority < :p1 AND state IN ('queued', 'leased') LIMIT 1",
      keys, [&](const JobRow&) {
        has_any = true;
        return Status::Ok();
      }));
  return has_any;
}

// What is to be done earlier than was said when it was loaded. What has ended has no turn to come.
Status Raise(WriteTransaction& transaction, const JobRow& like, const JobStep& step,
             Loading& loading) {
  if (!loading.raises) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(auto row, FindJob(transaction.connection(), like, step));
  if (!row.has_value() || row->job.priority >= loading.load.priority) return Status::Ok();
  if (row->job.state != JobState::kQueued && row->job.state != JobState::kLeased) {
    return Status::Ok();
  }
  row->job.priority = loading.load.priority;
  ++loading.loaded.raised;
  return UpdateJob(transaction, *row);
}

// `row` is of no step yet, or of the one before.
Status LoadOne(WriteTransaction& transaction, JobRow& row, const JobStep& step, Loading& loading) {
  row.job.step = step;
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new, InsertJob(transaction, row));
  if (is_new) {
    ++loading.loaded.added;
    if (loading.has_compile_jobs) {
      JobRow settled = row;
      ATTUNE_RETURN_IF_ERROR(Settle(transaction, settled, loading.now_unix_ns));
    }
  } else {
    ++loading.loaded.already_there;
    ATTUNE_RETURN_IF_ERROR(Raise(transaction, row, step, loading));
  }
  // One that waits for a job of a lower priority would have that one's.
  const JobStep compile = {step.search, JobWork::kCompile};
  if (step == compile || !loading.has_compile_jobs || loading.Loads(compile)) return Status::Ok();
  return Raise(transaction, row, compile, loading);
}

Status LoadProblem(WriteTransaction& transaction, const ProblemSolvers& problem, Loading& loading) {
  JobRow row;
  row.session_id = loading.session_id;
  // Most are there, under the tag that is loaded.
  const std::string text = ::attune::Text(problem.problem);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<int64_t> known,
                          FindText(transaction.connection(), ProblemTable(), text));
  if (known.has_value()) {
    row.problem_id = *known;
  } else {
    ATTUNE_ASSIGN_OR_RETURN(row.problem_id, InternText(transaction, ProblemTable(), text));
  }
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
      if (!loading.Loads(step)) continue;
      if (step.work == JobWork::kCompile && !compiles) continue;
      if (loading.load.left_out.contains({solver, step})) continue;
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
            return RefusedAsClosed(session.session, "it takes no jobs");
          }
          loading.has_compile_jobs =
              session.session.job_count > 0 ||
              (!load.compiling_solvers.empty() &&
               std::any_of(load.steps.begin(), load.steps.end(),
                           [](const JobStep& step) { return step.work == JobWork::kCompile; }));
          ATTUNE_ASSIGN_OR_RETURN(loading.raises,
                                  HasBelow(transaction.connection(), session_id, load.priority));
          for (const ProblemSolvers& problem : problems) {
            ATTUNE_RETURN_IF_ERROR(LoadProblem(transaction, problem, loading));
          }
          session.session.job_count += loading.loaded.added;
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
          ATTUNE_ASSIGN_OR_RETURN(const SessionRow session, ReadSession(connection, session_id));
          if (session.session.is_closed()) {
            return RefusedAsClosed(session.session, "none of its jobs is done");
          }
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

  Result<std::vector<bool>> Report(std::span<const JobReport> reports,
                                   int64_t now_unix_ns) override {
    std::vector<bool> taken;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          taken.clear();
          for (const JobReport& report : reports) {
            ATTUNE_ASSIGN_OR_RETURN(auto row, FindHeld(transaction.connection(), report.claim));
            taken.push_back(row.has_value());
            if (!row.has_value()) continue;
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
  // Of whoever has or had it.
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

  static Status Take(WriteTransaction& transaction, const JobReport& report, int64_t now_unix_ns,
                     JobRow& row) {
    ATTUNE_ASSIGN_OR_RETURN(const bool is_outdated, IsOutdated(transaction, report, row));
    End(row.job, is_outdated ? JobState::kQueued : report.state, now_unix_ns);
    row.job.error = report.error;
    // Whoever reports was not lost.
    row.job.lost = 0;
    if (report.state != JobState::kQueued) {
      row.job.entry_id = report.entry_id;
      row.job.set_id = report.set_id;
    }
    ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
    if (row.job.step != kPerfMeasure || report.state != JobState::kDone) return Status::Ok();
    // What find has measured was measured with parameters that are no longer those of the perf-db.
    ATTUNE_ASSIGN_OR_RETURN(auto find, FindJob(transaction.connection(), row, kFindMeasure));
    if (!find.has_value() || find->job.state != JobState::kDone) return Status::Ok();
    Queue(find->job);
    End(find->job, JobState::kQueued, now_unix_ns);
    return Settle(transaction, *find, now_unix_ns);
  }

  // Whether a find job was done with parameters that a perf job has replaced while it ran: it was
  // leased before the perf job was loaded.
  static Result<bool> IsOutdated(WriteTransaction& transaction, const JobReport& report,
                                 const JobRow& row) {
    if (row.job.step != kFindMeasure || report.state != JobState::kDone) return false;
    ATTUNE_ASSIGN_OR_RETURN(const auto perf, FindJob(transaction.connection(), row, kPerfMeasure));
    return perf.has_value() && perf->job.state == JobState::kDone &&
           perf->job.changed_unix_ns > row.job.changed_unix_ns;
  }

  // To be done again.
  static void Queue(Job& job) {
    job.state = JobState::kQueued;
    job.lost = 0;
    job.error = {};
  }

  struct JobChange {
    std::function<bool(JobState)> is_meant;
    std::function<void(Job&)> make;
    // What find measured with the parameters of a perf job that is done again goes with it, so that
    // no time stays beside parameters that it was not measured with.
    bool takes_finds_along;
  };

  // How many are then in the state that the change gives them: one whose compile job has failed is
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
            // As it is now: an earlier one of them may have changed it.
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
