#include "storage/sql/job_loading.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/unix_time.h"
#include "storage/sql/job_changes.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

// One problem's jobs of one load.
struct Loading {
  const JobLoad& load;
  int64_t session_id = 0;
  int64_t now_unix_ns = 0;
  bool has_compile_jobs = false;       // From this load, or perhaps an earlier one.
  bool raises = false;                 // Some of the session's jobs have a lower priority.
  bool had_jobs = false;               // The session had jobs before this load.
  std::set<int64_t> problem_ids = {};  // Problems loaded here.
  LoadedJobs loaded = {};

  bool Loads(const JobStep& step) const {
    return std::find(load.steps.begin(), load.steps.end(), step) != load.steps.end();
  }
};

// Returns true if an unfinished job of the session has a lower priority. Loading the same list
// again finds none and so skips the look-up of single jobs.
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

// Raises the priority of a job that was loaded with a lower one. A job that has ended keeps its
// priority.
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
  // A job that waits for one of a lower priority would inherit that priority.
  const JobStep compile = {step.search, JobWork::kCompile};
  if (step == compile || !loading.has_compile_jobs || loading.Loads(compile)) return Status::Ok();
  return Raise(transaction, row, compile, loading);
}

// Calls `load` for each job of `problem` with its row, compiling before measuring, so that the
// second finds the first.
Status ForEachJob(const ProblemSolvers& problem, int64_t problem_id, const Loading& loading,
                  const std::function<Status(JobRow&, const JobStep&)>& load) {
  JobRow row;
  row.session_id = loading.session_id;
  row.problem_id = problem_id;
  row.job.priority = loading.load.priority;
  row.job.reason = loading.load.reason;
  row.job.loaded_by = loading.load.loaded_by;
  row.job.loaded_unix_ns = row.job.changed_unix_ns = loading.now_unix_ns;
  const auto& compiling = loading.load.compiling_solvers;
  for (const std::string& solver : problem.solvers) {
    row.job.solver = solver;
    const bool compiles = std::find(compiling.begin(), compiling.end(), solver) != compiling.end();
    for (const JobStep& step : AllJobSteps()) {
      if (!loading.Loads(step)) continue;
      if (step.work == JobWork::kCompile && !compiles) continue;
      if (loading.load.left_out.contains({solver, step})) continue;
      ATTUNE_RETURN_IF_ERROR(load(row, step));
    }
  }
  return Status::Ok();
}

// For a problem with possible jobs in the session.
Status LoadProblem(WriteTransaction& transaction, const ProblemSolvers& problem, int64_t problem_id,
                   Loading& loading) {
  return ForEachJob(problem, problem_id, loading, [&](JobRow& row, const JobStep& step) {
    return LoadOne(transaction, row, step, loading);
  });
}

// For a problem without jobs in the session: a measure job waits for the compile job that is loaded
// with it.
Status AddRows(const ProblemSolvers& problem, int64_t problem_id, const Loading& loading,
               std::vector<JobRow>& rows) {
  std::set<std::pair<std::string, JobStep>> compiled;
  return ForEachJob(problem, problem_id, loading, [&](JobRow& row, const JobStep& step) {
    const JobStep compile = {step.search, JobWork::kCompile};
    // A solver that is listed twice has one job.
    if (!compiled.emplace(row.job.solver, step).second) return Status::Ok();
    JobRow& added = rows.emplace_back(row);
    added.job.step = step;
    added.job.is_ready = step == compile || !compiled.contains({row.job.solver, compile});
    return Status::Ok();
  });
}

// Ids of the problems; adds unknown ones.
Result<std::vector<int64_t>> IdsOf(WriteTransaction& transaction,
                                   std::span<const ProblemSolvers> problems) {
  std::vector<std::string> texts;
  for (const ProblemSolvers& problem : problems) {
    texts.push_back(::attune::Text(problem.problem));
  }
  return InternTexts(transaction, ProblemTable(), texts);
}

// Problems for which the session has jobs.
Result<std::set<int64_t>> WithJobs(Connection& connection, int64_t session_id,
                                   std::span<const int64_t> problem_ids) {
  std::vector<Cell> keys = {IntegerCell(session_id)};
  const std::string where = "session_id = :p0 AND problem_id" + InList(problem_ids, keys);
  std::set<int64_t> found;
  ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, where, keys, [&](const JobRow& row) {
    found.insert(row.problem_id);
    return Status::Ok();
  }));
  return found;
}

constexpr size_t kProblemsAtOnce = 256;

Status LoadSome(WriteTransaction& transaction, std::span<const ProblemSolvers> problems,
                Loading& loading) {
  ATTUNE_ASSIGN_OR_RETURN(const auto ids, IdsOf(transaction, problems));
  std::set<int64_t> with_jobs;
  if (loading.had_jobs) {
    ATTUNE_ASSIGN_OR_RETURN(with_jobs, WithJobs(transaction.connection(), loading.session_id, ids));
  }
  std::vector<JobRow> rows;
  for (size_t i = 0; i < problems.size(); ++i) {
    // A problem that is listed twice has its jobs by the second time.
    const bool is_new = !with_jobs.contains(ids[i]) && loading.problem_ids.insert(ids[i]).second;
    if (is_new) ATTUNE_RETURN_IF_ERROR(AddRows(problems[i], ids[i], loading, rows));
  }
  loading.loaded.added += std::ssize(rows);
  ATTUNE_RETURN_IF_ERROR(InsertJobs(transaction, rows));
  std::set<int64_t> added;
  for (const JobRow& row : rows) added.insert(row.problem_id);
  for (size_t i = 0; i < problems.size(); ++i) {
    // The first time that a new one is listed is done.
    if (added.erase(ids[i]) > 0) continue;
    ATTUNE_RETURN_IF_ERROR(LoadProblem(transaction, problems[i], ids[i], loading));
  }
  return Status::Ok();
}

}  // namespace

Result<LoadedJobs> LoadJobs(WriteTransaction& transaction, int64_t session_id, const JobLoad& load,
                            std::span<const ProblemSolvers> problems) {
  Loading loading{load, session_id, UnixNowNs()};
  ATTUNE_ASSIGN_OR_RETURN(SessionRow session, ReadSession(transaction.connection(), session_id));
  if (session.session.is_closed()) return RefusedAsClosed(session.session, "it takes no jobs");
  loading.has_compile_jobs =
      session.session.job_count > 0 ||
      (!load.compiling_solvers.empty() &&
       std::any_of(load.steps.begin(), load.steps.end(),
                   [](const JobStep& step) { return step.work == JobWork::kCompile; }));
  ATTUNE_ASSIGN_OR_RETURN(loading.raises,
                          HasBelow(transaction.connection(), session_id, load.priority));
  loading.had_jobs = session.session.job_count > 0;
  for (size_t begin = 0; begin < problems.size(); begin += kProblemsAtOnce) {
    const size_t count = std::min(kProblemsAtOnce, problems.size() - begin);
    ATTUNE_RETURN_IF_ERROR(LoadSome(transaction, problems.subspan(begin, count), loading));
  }
  session.session.job_count += loading.loaded.added;
  ATTUNE_RETURN_IF_ERROR(UpdateSession(transaction, session));
  return loading.loaded;
}

}  // namespace attune::sql
