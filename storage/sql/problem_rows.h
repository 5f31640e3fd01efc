// Problems of many rows at once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "storage/sql/cell.h"
#include "storage/sql/connection.h"

namespace attune::sql {

// kDataLoss, with the row, for a text that is no problem.
Result<Problem> ParseProblemRow(int64_t id, std::string_view content);

// Problems by the ids of their rows.
class ProblemsById {
 public:
  // Problems with the ids that `ids` selects ("SELECT problem_id FROM job WHERE session_id = :p0"),
  // by one statement: one for each of them takes three times as long. kDataLoss as ParseProblemRow.
  static Result<ProblemsById> Read(Connection& connection, std::string_view ids,
                                   std::span<const Cell> parameters);

  // Moves the problem out. REQUIRES: it was not taken before. kDataLoss if there is no such row.
  Result<Problem> Take(Connection& connection, int64_t id);

 private:
  std::unordered_map<int64_t, Problem> problems_;
};

}  // namespace attune::sql
