#include "storage/sql/solver_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/sql/free_text.h"
#include "storage/sql/problem_rows.h"
#include "storage/sql/table.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

enum SolverColumn : size_t {
  kId,
  kSessionId,
  kGeneration,
  kSolver,
  kOperator,
  kDynamic,
  kTunable,
  kCompiles,
  kCode,
};
enum ApplicabilityColumn : size_t { kRowId, kRowSession, kProblemId, kRowGeneration, kSolvers };

Result<SolverEntry> ParseEntry(std::span<const Cell> row) {
  SolverEntry entry;
  entry.id = row[kId].integer;
  const std::string& solver = row[kSolver].text;
  const size_t at = solver.rfind('@');
  const char* const end = solver.data() + solver.size();
  if (at == std::string::npos ||
      std::from_chars(solver.data() + at + 1, end, entry.solver.version).ptr != end) {
    return DamagedCell(SessionSolverTable(), row, kSolver, "which is no solver@version");
  }
  entry.solver.name = solver.substr(0, at);
  entry.operator_name = row[kOperator].text;
  entry.dynamic = row[kDynamic].integer != 0;
  entry.tunable = row[kTunable].integer != 0;
  entry.compiles = row[kCompiles].integer != 0;
  const std::optional<std::string> code = FromFreeText(row[kCode].text);
  Result<Environment> parsed = ParseEnvironment(code.value_or("?"));
  if (!code.has_value() || !parsed.ok()) {
    return DamagedCell(SessionSolverTable(), row, kCode, "which is no part of an environment");
  }
  entry.code = std::move(*parsed);
  return entry;
}

// The expected number of rows of a session, from a column of `session_state`, and the actual one.
struct Counted {
  std::string_view column;
  int64_t expected = 0;
  int64_t found = 0;
};

Status CheckCount(const SessionRow& session, const Table& table, const Counted& counted) {
  if (counted.found == counted.expected) return Status::Ok();
  return DataLoss(fmt::format(
      "Row {} of table session_state: column {} holds {}, but table {} has {} such rows.",
      session.session.id, counted.column, counted.expected, table.name, counted.found));
}

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Row ApplicabilityRow(int64_t id, int64_t session_id, int64_t problem_id, int64_t generation,
                     const ProblemSolvers& problem) {
  return RowWriter(ApplicabilityTable())
      .Integer(id)
      .Integer(session_id)
      .Integer(problem_id)
      .Integer(generation)
      .Text(fmt::format("{}", fmt::join(problem.solvers, " ")))
      .Checksum()
      .Take();
}

}  // namespace

Status InsertSolvers(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                     std::span<SolverEntry> entries) {
  for (SolverEntry& entry : entries) {
    entry.id = transaction.TakeId();
    ATTUNE_RETURN_IF_ERROR(
        transaction.Insert(SessionSolverTable(), RowWriter(SessionSolverTable())
                                                     .Integer(entry.id)
                                                     .Integer(session_id)
                                                     .Integer(generation)
                                                     .Text(::attune::Text(entry.solver))
                                                     .Text(entry.operator_name)
                                                     .Integer(entry.dynamic ? 1 : 0)
                                                     .Integer(entry.tunable ? 1 : 0)
                                                     .Integer(entry.compiles ? 1 : 0)
                                                     .Text(FreeText(::attune::Text(entry.code)))
                                                     .Checksum()
                                                     .Take()));
  }
  return Status::Ok();
}

Result<std::vector<SolverEntry>> ReadSolvers(Connection& connection, const SessionRow& session,
                                             int64_t generation) {
  const Cell key = IntegerCell(session.session.id);
  std::vector<SolverEntry> entries;
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {SessionSolverTable(), "session_id = :p0 ORDER BY id", {&key, 1}},
               [&](std::span<const Cell> row) -> Status {
                 ++count;
                 if (generation != 0 && row[kGeneration].integer != generation) {
                   return Status::Ok();
                 }
                 ATTUNE_ASSIGN_OR_RETURN(entries.emplace_back(), ParseEntry(row));
                 return Status::Ok();
               }));
  ATTUNE_RETURN_IF_ERROR(
      CheckCount(session, SessionSolverTable(), {"solver_count", session.solver_count, count}));
  return entries;
}

Result<bool> PutApplicability(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                              const ProblemSolvers& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t problem_id,
                          InternText(transaction, ProblemTable(), ::attune::Text(problem.problem)));
  const int64_t id = transaction.TakeId();
  ATTUNE_ASSIGN_OR_RETURN(
      const bool is_new,
      transaction.InsertIfNew(ApplicabilityTable(), "session_id, problem_id",
                              ApplicabilityRow(id, session_id, problem_id, generation, problem)));
  if (is_new) return true;
  transaction.GiveBackId();
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(problem_id)};
  ATTUNE_ASSIGN_OR_RETURN(
      const std::optional<Row> present,
      ReadRow(transaction.connection(),
              {ApplicabilityTable(), "session_id = :p0 AND problem_id = :p1", keys}));
  if (!present.has_value()) {
    return DataLoss(fmt::format(
        "The index of table applicability has session {} with problem {}, but the table has not.",
        session_id, problem_id));
  }
  const int64_t present_id = (*present)[kRowId].integer;
  ATTUNE_RETURN_IF_ERROR(transaction.Update(
      ApplicabilityTable(),
      ApplicabilityRow(present_id, session_id, problem_id, generation, problem)));
  return false;
}

Result<std::vector<ProblemSolvers>> ReadApplicability(Connection& connection,
                                                      const SessionRow& session,
                                                      int64_t generation) {
  const Cell key = IntegerCell(session.session.id);
  std::vector<ProblemSolvers> problems;
  int64_t count = 0;
  ATTUNE_ASSIGN_OR_RETURN(
      ProblemsById by_id,
      ProblemsById::Read(connection, "SELECT problem_id FROM applicability WHERE session_id = :p0",
                         {&key, 1}));
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {ApplicabilityTable(), "session_id = :p0 ORDER BY id", {&key, 1}},
      [&](std::span<const Cell> row) -> Status {
        ++count;
        if (row[kRowGeneration].integer != generation) return Status::Ok();
        ProblemSolvers& problem = problems.emplace_back();
        problem.solvers = WordsOf(row[kSolvers].text);
        ATTUNE_ASSIGN_OR_RETURN(problem.problem, by_id.Take(connection, row[kProblemId].integer));
        return Status::Ok();
      }));
  ATTUNE_RETURN_IF_ERROR(CheckCount(session, ApplicabilityTable(),
                                    {"applicability_count", session.applicability_count, count}));
  return problems;
}

}  // namespace attune::sql
