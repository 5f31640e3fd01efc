// Rows of lists of problems, each with how often it occurs: `tag` with `problem_tag`, and `network`
// with `network_problem`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// A table of labels, and the one that links them with problems.
struct ListTables {
  const Table& labels;
  const Table& links;
  std::string_view label_id;        // The column of the second that refers to the first...
  std::string_view unique_columns;  // ...and that with the problem.
};
ListTables TagLists();
ListTables NetworkLists();  // Labelled by Text(Network).

// `ids` caches the rows of problems, for callers that add to several lists.
Status AddToList(WriteTransaction& transaction, InternedTexts& ids, const ListTables& lists,
                 std::string_view label, std::span<const TaggedProblem> problems);

// Like AddToList(), but a problem in the list keeps its weight. Returns the number of new ones.
Result<int64_t> AddNewToList(WriteTransaction& transaction, InternedTexts& ids,
                             const ListTables& lists, std::string_view label,
                             std::span<const TaggedProblem> problems);

// In the order in which they were added to the list; none for an unknown list.
Result<std::vector<TaggedProblem>> ReadList(Connection& connection, const ListTables& lists,
                                            std::string_view label);
// All problems, with the sum of their weights over all tags, at least 1.
Result<std::vector<TaggedProblem>> ReadAllProblems(Connection& connection);
// Ids of the problems with `tag`, ascending.
Result<std::vector<int64_t>> ReadTaggedIds(Connection& connection, std::string_view tag);
// Labels with the number of their problems, sorted.
Result<std::vector<std::pair<std::string, int64_t>>> ReadLabels(Connection& connection,
                                                                const ListTables& lists);
// The id of a label, and the label with an id. kDataLoss if there is none with that id.
Result<std::optional<int64_t>> FindLabel(Connection& connection, const ListTables& lists,
                                         std::string_view label);
Result<std::string> ReadLabel(Connection& connection, const ListTables& lists, int64_t id);

}  // namespace attune::sql
