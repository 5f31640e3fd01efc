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

Result<std::vector<SolverEntry>> ReadSolvers(Connection& connection, int64_t session_id,
                                             int64_t generation) {
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(generation)};
  std::vector<SolverEntry> entries;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection,
               {SessionSolverTable(),
                "session_id = :p0 AND (generation = :p1 OR :p1 = 0) ORDER BY id", keys},
               [&](std::span<const Cell> row) -> Status {
                 ATTUNE_ASSIGN_OR_RETURN(entries.emplace_back(), ParseEntry(row));
                 return Status::Ok();
               }));
  return entries;
}

Status PutApplicability(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                        const ProblemSolvers& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t problem_id,
                          InternText(transaction, ProblemTable(), ::attune::Text(problem.problem)));
  const int64_t id = transaction.TakeId();
  ATTUNE_ASSIGN_OR_RETURN(
      const bool is_new,
      transaction.InsertIfNew(ApplicabilityTable(), "session_id, problem_id",
                              ApplicabilityRow(id, session_id, problem_id, generation, problem)));
  if (is_new) return Status::Ok();
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
  return transaction.Update(
      ApplicabilityTable(),
      ApplicabilityRow(present_id, session_id, problem_id, generation, problem));
}

Result<std::vector<ProblemSolvers>> ReadApplicability(Connection& connection, int64_t session_id,
                                                      int64_t generation) {
  const Cell keys[] = {IntegerCell(session_id), IntegerCell(generation)};
  std::vector<ProblemSolvers> problems;
  ParsedTexts<Problem> texts(ProblemTable(), ParseProblem);
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {ApplicabilityTable(), "session_id = :p0 AND generation = :p1 ORDER BY id", keys},
      [&](std::span<const Cell> row) -> Status {
        ProblemSolvers& problem = problems.emplace_back();
        problem.solvers = WordsOf(row[kSolvers].text);
        ATTUNE_ASSIGN_OR_RETURN(problem.problem, texts.At(connection, row[kProblemId].integer));
        return Status::Ok();
      }));
  return problems;
}

}  // namespace attune::sql
