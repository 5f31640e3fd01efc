#include "storage/sql/problem_rows.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/table.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {
namespace {

constexpr size_t kContentColumn = 2;

}  // namespace

Result<Problem> ParseProblemRow(int64_t id, std::string_view content) {
  Result<Problem> problem = ParseProblem(content);
  if (problem.ok()) return problem;
  return DataLoss(
      fmt::format("Row {} of table problem: column content: {}", id, problem.error().message()));
}

Result<ProblemsById> ProblemsById::Read(Connection& connection, std::string_view ids,
                                        std::span<const Cell> parameters) {
  ProblemsById read;
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {ProblemTable(), fmt::format("id IN ({})", ids), parameters},
      [&](std::span<const Cell> row) -> Status {
        const int64_t id = row[0].integer;
        ATTUNE_ASSIGN_OR_RETURN(Problem problem, ParseProblemRow(id, row[kContentColumn].text));
        read.problems_.emplace(id, std::move(problem));
        return Status::Ok();
      }));
  return read;
}

Result<Problem> ProblemsById::Take(Connection& connection, int64_t id) {
  const auto found = problems_.find(id);
  if (found != problems_.end()) return std::move(found->second);
  // ReadText reports a missing row.
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadText(connection, ProblemTable(), id));
  return ParseProblemRow(id, content);
}

}  // namespace attune::sql
