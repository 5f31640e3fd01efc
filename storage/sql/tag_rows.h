// Rows of `tag` and `problem_tag`: which list a problem came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

Status TagProblems(WriteTransaction& transaction, std::string_view tag,
                   std::span<const TaggedProblem> problems);

// In the order in which they were added to the tag; none if there is no such tag.
Result<std::vector<TaggedProblem>> ReadTagged(Connection& connection, std::string_view tag);
// All problems, with the sum of their weights over all tags, at least 1.
Result<std::vector<TaggedProblem>> ReadAllProblems(Connection& connection);
// Ids of the problems with `tag`, ascending.
Result<std::vector<int64_t>> ReadTaggedIds(Connection& connection, std::string_view tag);
// Sorted by tag.
Result<std::vector<std::pair<std::string, int64_t>>> ReadTags(Connection& connection);

}  // namespace attune::sql
