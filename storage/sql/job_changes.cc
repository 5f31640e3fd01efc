#include "storage/sql/job_changes.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace attune::sql {
namespace {

constexpr std::string_view kCompileFailed = "compile";
// Row numbers that one statement names: it has that many parameters, and the last number is
// repeated, so that few different statements are prepared.
constexpr size_t kListSizes[] = {1, 8, 64, 256};

// A find job waits while a perf job of its solver and problem runs, because it uses the resulting
// config.
std::string_view FindWhere(const JobStep& step) {
  if (step.search == JobSearch::kPerf) return "";
  return " AND NOT EXISTS (SELECT 1 FROM job AS perf WHERE perf.session_id = job.session_id AND "
         "perf.problem_id = job.problem_id AND perf.solver = job.solver AND perf.state = 'leased' "
         "AND perf.step IN ('perf:compile', 'perf:measure'))";
}

bool IsLeasable(const Job& job) { return job.state == JobState::kQueued && job.is_ready; }

// The jobs that determine which searches are leased, in order of priority.
Result<std::vector<JobRow>> ReadSeeds(Connection& connection, int64_t session_id,
                                      const JobStep& step, const LeaseTerms& terms) {
  std::vector<Cell> keys;
  std::string where;
  if (terms.ids.empty()) {
    keys = {IntegerCell(session_id), TextCell(::attune::Text(step)),
            IntegerCell(std::max<int64_t>(terms.most, 1))};
    where = LeasableWhere(step) + " ORDER BY priority DESC, id LIMIT :p2";
  } else {
    // By nothing else: PostgreSQL may look through all of the session for its number.
    where = "id" + InList(terms.ids, keys) + std::string(FindWhere(step)) +
            " ORDER BY priority DESC, id";
  }
  std::vector<JobRow> rows;
  ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, where, keys, [&](JobRow row) {
    const bool is_meant = row.session_id == session_id && row.job.step == step;
    if (is_meant && IsLeasable(row.job)) rows.push_back(std::move(row));
    return Status::Ok();
  }));
  return rows;
}

}  // namespace

std::string InList(std::span<const int64_t> ids, std::vector<Cell>& keys) {
  const size_t size = *std::find_if(std::begin(kListSizes), std::end(kListSizes) - 1,
                                    [&](size_t each) { return each >= ids.size(); });
  std::string list = " IN (";
  for (size_t i = 0; i < size; ++i) {
    fmt::format_to(std::back_inserter(list), "{}:p{}", i == 0 ? "" : ", ", keys.size());
    keys.push_back(IntegerCell(ids[std::min(i, ids.size() - 1)]));
  }
  return list + ")";
}

void End(Job& job, JobState state, int64_t now_unix_ns) {
  job.state = state;
  job.deadline_unix_ns = 0;
  job.changed_unix_ns = now_unix_ns;
}

namespace {

// Updates a measure job that is queued, or that its compile job had cancelled, to the state that
// its compile job allows; `compile` is null if there is none.
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

}  // namespace

Status Settle(WriteTransaction& transaction, JobRow& row, int64_t now_unix_ns) {
  Connection& connection = transaction.connection();
  const JobSearch search = row.job.step.search;
  if (row.job.step.work == JobWork::kMeasure) {
    // A job that has ended or is leased no longer follows its compile job.
    const bool follows =
        row.job.state == JobState::kQueued || row.job.state == JobState::kCancelled;
    if (!follows) return UpdateJob(transaction, row);
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

Result<std::vector<JobRow>> ReadLeased(Connection& connection, const std::string& where,
                                       std::span<const Cell> keys) {
  std::vector<JobRow> leased;
  ATTUNE_RETURN_IF_ERROR(ReadJobsByTurn(connection, where, keys, [&](JobRow row) {
    leased.push_back(std::move(row));
    return Status::Ok();
  }));
  std::sort(leased.begin(), leased.end(),
            [](const JobRow& a, const JobRow& b) { return a.job.id < b.job.id; });
  return leased;
}

Result<std::vector<JobRow>> ReadExpired(Connection& connection, int64_t session_id,
                                        int64_t now_unix_ns) {
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(now_unix_ns)};
  return ReadLeased(connection, "session_id = :p0 AND state = 'leased' AND deadline_unix_ns < :p1",
                    keys);
}

Result<int64_t> GiveBackExpired(WriteTransaction& transaction, int64_t session_id,
                                int64_t now_unix_ns) {
  ATTUNE_ASSIGN_OR_RETURN(auto expired,
                          ReadExpired(transaction.connection(), session_id, now_unix_ns));
  for (JobRow& row : expired) {
    row.job.error = {"abandoned",
                     fmt::format("{} had leased it and did not report; {} of {} leases "
                                 "were lost like that.",
                                 row.job.owner, ++row.job.lost, row.job.attempts)};
    End(row.job, row.job.lost >= kMostLostLeases ? JobState::kFailed : JobState::kQueued,
        now_unix_ns);
    ATTUNE_RETURN_IF_ERROR(Settle(transaction, row, now_unix_ns));
  }
  return std::ssize(expired);
}

std::string LeasableWhere(const JobStep& step) {
  return "session_id = :p0 AND state = 'queued' AND ready = 1 AND step = :p1" +
         std::string(FindWhere(step));
}

Result<std::vector<JobRow>> FindLeasable(Connection& connection, int64_t session_id,
                                         const JobStep& step, const LeaseTerms& terms) {
  ATTUNE_ASSIGN_OR_RETURN(const auto seeds, ReadSeeds(connection, session_id, step, terms));
  if (seeds.empty()) return seeds;
  std::map<int64_t, size_t> order;  // Order of the problems.
  std::vector<int64_t> problems;
  for (const JobRow& seed : seeds) {
    if (order.emplace(seed.problem_id, order.size()).second) problems.push_back(seed.problem_id);
  }
  std::vector<Cell> keys = {IntegerCell(session_id), TextCell(::attune::Text(step))};
  // By their problems, because the index for them leads to few rows; the state would lead to all
  // queued ones.
  const std::string where = "session_id = :p0 AND step = :p1 AND problem_id" +
                            InList(problems, keys) + std::string(FindWhere(step));
  std::vector<JobRow> rows;
  ATTUNE_RETURN_IF_ERROR(ReadJobs(connection, where, keys, [&](JobRow row) {
    if (IsLeasable(row.job)) rows.push_back(std::move(row));
    return Status::Ok();
  }));
  std::sort(rows.begin(), rows.end(), [&](const JobRow& a, const JobRow& b) {
    return std::pair(order.at(a.problem_id), a.job.id) <
           std::pair(order.at(b.problem_id), b.job.id);
  });
  return rows;
}

}  // namespace attune::sql
