// Rows of `job`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "attune/base/status.h"
#include "attune/session/job.h"
#include "attune/session/session.h"
#include "storage/sql/connection.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// A job with the values that its row refers to.
struct JobRow {
  Job job;  // Without its problem if the caller did not ask for it.
  int64_t session_id = 0;
  int64_t problem_id = 0;
};

// Adds it under a new id, which `row` then has. Returns false, and adds nothing, if the session has
// the job already.
Result<bool> InsertJob(WriteTransaction& transaction, JobRow& row);
Status UpdateJob(WriteTransaction& transaction, const JobRow& row);
// The same for many rows, several per statement.
Status InsertJobs(WriteTransaction& transaction, std::span<JobRow> rows);
Status UpdateJobs(WriteTransaction& transaction, std::span<const JobRow> rows);

// Jobs for which `where` holds ("session_id = :p0 ORDER BY id"), without their problems.
Status ReadJobs(Connection& connection, std::string_view where, std::span<const Cell> parameters,
                const std::function<Status(JobRow)>& visit);
// The same by the index of turns, for databases with this program's schema. The index keeps
// recently leased rows until the server has tidied up. Because it counts them, MariaDB may find it
// cheaper to read all jobs.
Status ReadJobsByTurn(Connection& connection, std::string_view where,
                      std::span<const Cell> parameters, const std::function<Status(JobRow)>& visit);
// All jobs of a session in order of their ids, without their problems. kDataLoss if their number
// differs from the session's count.
Status ReadJobsOf(const Session& session, Connection& connection,
                  const std::function<Status(JobRow)>& visit);
// The job of a step for a solver on a problem; nothing if there is none.
Result<std::optional<JobRow>> FindJob(Connection& connection, const JobRow& like,
                                      const JobStep& step);

// Reads the problems of jobs and caches them. Not thread-safe.
class JobProblems {
 public:
  JobProblems() : problems_(ProblemTable(), ParseProblem) {}
  Status Fill(Connection& connection, JobRow& row);
  // Reads all unknown problems at once.
  Status FillAll(Connection& connection, std::span<JobRow> rows);

 private:
  ParsedTexts<Problem> problems_;
};

}  // namespace attune::sql
