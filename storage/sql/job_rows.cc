#include "storage/sql/job_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

enum JobColumn : size_t {
  kId,
  kSessionId,
  kProblemId,
  kSolver,
  kStep,
  kPriority,
  kReason,
  kLoadedBy,
  kLoadedUnixNs,
  kState,
  kReady,
  kAttempts,
  kLost,
  kOwner,
  kDeadlineUnixNs,
  kChangedUnixNs,
  kEntryId,
  kSetKey,
  kErrorKind,
  kErrorText,
};

Row CellsOf(const JobRow& row) {
  const Job& job = row.job;
  return RowWriter(JobTable())
      .Integer(job.id)
      .Integer(row.session_id)
      .Integer(row.problem_id)
      .Text(job.solver)
      .Text(::attune::Text(job.step))
      .Integer(job.priority)
      .Text(FreeText(job.reason))
      .Text(FreeText(job.loaded_by))
      .Integer(job.loaded_unix_ns)
      .Text(Name(job.state))
      .Integer(job.is_ready ? 1 : 0)
      .Integer(job.attempts)
      .Integer(job.lost)
      .Text(FreeText(job.owner))
      .Integer(job.deadline_unix_ns)
      .Integer(job.changed_unix_ns)
      .Integer(job.entry_id)
      .Text(job.set_id)
      .Text(FreeText(job.error.kind))
      .Text(FreeText(job.error.text))
      .Checksum()
      .Take();
}

Result<JobRow> Parse(std::span<const Cell> cells) {
  JobRow row;
  row.session_id = cells[kSessionId].integer;
  row.problem_id = cells[kProblemId].integer;
  Job& job = row.job;
  job.id = cells[kId].integer;
  job.solver = cells[kSolver].text;
  job.priority = cells[kPriority].integer;
  job.loaded_unix_ns = cells[kLoadedUnixNs].integer;
  job.is_ready = cells[kReady].integer != 0;
  job.attempts = cells[kAttempts].integer;
  job.lost = cells[kLost].integer;
  job.deadline_unix_ns = cells[kDeadlineUnixNs].integer;
  job.changed_unix_ns = cells[kChangedUnixNs].integer;
  job.entry_id = cells[kEntryId].integer;
  job.set_id = cells[kSetKey].text;
  const auto step = ParseJobStep(cells[kStep].text);
  if (!step.ok()) return DamagedCell(JobTable(), cells, kStep, "which is no step");
  job.step = *step;
  const auto state = ParseJobState(cells[kState].text);
  if (!state.ok()) return DamagedCell(JobTable(), cells, kState, "which is no state");
  job.state = *state;
  const std::pair<size_t, std::string*> texts[] = {{kReason, &job.reason},
                                                   {kLoadedBy, &job.loaded_by},
                                                   {kOwner, &job.owner},
                                                   {kErrorKind, &job.error.kind},
                                                   {kErrorText, &job.error.text}};
  for (const auto& [column, text] : texts) {
    ATTUNE_RETURN_IF_ERROR(TakeFreeText(JobTable(), cells, column, *text));
  }
  return row;
}

Status ReadSelected(Connection& connection, const Selection& selection,
                    const std::function<Status(JobRow)>& visit) {
  return ReadRows(connection, selection, [&](std::span<const Cell> cells) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(JobRow row, Parse(cells));
    return visit(std::move(row));
  });
}

}  // namespace

Result<bool> InsertJob(WriteTransaction& transaction, JobRow& row) {
  row.job.id = transaction.TakeId();
  ATTUNE_ASSIGN_OR_RETURN(
      const bool is_new,
      transaction.InsertIfNew(JobTable(), "session_id, problem_id, step, solver", CellsOf(row)));
  if (!is_new) transaction.GiveBackId();
  return is_new;
}

Status UpdateJob(WriteTransaction& transaction, const JobRow& row) {
  return transaction.Update(JobTable(), CellsOf(row));
}

Status InsertJobs(WriteTransaction& transaction, std::span<JobRow> rows) {
  std::vector<Row> cells;
  for (JobRow& row : rows) {
    row.job.id = transaction.TakeId();
    cells.push_back(CellsOf(row));
  }
  return transaction.InsertAll(JobTable(), cells);
}

Status UpdateJobs(WriteTransaction& transaction, std::span<const JobRow> rows) {
  std::vector<Row> cells;
  for (const JobRow& row : rows) cells.push_back(CellsOf(row));
  return transaction.UpdateAll(JobTable(), cells);
}

Status ReadJobs(Connection& connection, std::string_view where, std::span<const Cell> parameters,
                const std::function<Status(JobRow)>& visit) {
  return ReadSelected(connection, {JobTable(), where, parameters}, visit);
}

Status ReadJobsByTurn(Connection& connection, std::string_view where,
                      std::span<const Cell> parameters,
                      const std::function<Status(JobRow)>& visit) {
  return ReadSelected(connection, {JobTable(), where, parameters, true, "job_by_turn"}, visit);
}

Status ReadJobsOf(const Session& session, Connection& connection,
                  const std::function<Status(JobRow)>& visit) {
  const Cell key = IntegerCell(session.id);
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection, "session_id = :p0 ORDER BY id", {&key, 1}, [&](JobRow row) {
        ++count;
        return visit(std::move(row));
      }));
  if (count == session.job_count) return Status::Ok();
  return DataLoss(fmt::format(
      "Row {} of table session_state: column job_count holds {}, but table job has {} such rows.",
      session.id, session.job_count, count));
}

Result<std::optional<JobRow>> FindJob(Connection& connection, const JobRow& like,
                                      const JobStep& step) {
  const Cell keys[] = {IntegerCell(like.session_id), IntegerCell(like.problem_id),
                       TextCell(::attune::Text(step)), TextCell(like.job.solver)};
  std::optional<JobRow> found;
  ATTUNE_RETURN_IF_ERROR(
      ReadJobs(connection, "session_id = :p0 AND problem_id = :p1 AND step = :p2 AND solver = :p3",
               keys, [&](JobRow row) {
                 found = std::move(row);
                 return Status::Ok();
               }));
  return found;
}

Status JobProblems::Fill(Connection& connection, JobRow& row) {
  ATTUNE_ASSIGN_OR_RETURN(row.job.problem, problems_.At(connection, row.problem_id));
  return Status::Ok();
}

Status JobProblems::FillAll(Connection& connection, std::span<JobRow> rows) {
  std::vector<int64_t> ids;
  for (const JobRow& row : rows) ids.push_back(row.problem_id);
  ATTUNE_RETURN_IF_ERROR(problems_.Read(connection, ids));
  for (JobRow& row : rows) ATTUNE_RETURN_IF_ERROR(Fill(connection, row));
  return Status::Ok();
}

}  // namespace attune::sql
