#include "storage/sql/tag_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

enum TagColumn : size_t { kTagId, kLabel, kProblemCount };
enum ProblemTagColumn : size_t { kLinkId, kLinkTagId, kLinkProblemId, kLinkWeight };

Row TagRow(int64_t id, std::string_view label, int64_t problem_count) {
  return RowWriter(TagTable()).Integer(id).Text(label).Integer(problem_count).Checksum().Take();
}

Row LinkRow(int64_t id, int64_t tag_id, int64_t problem_id, int64_t weight) {
  return RowWriter(ProblemTagTable())
      .Integer(id)
      .Integer(tag_id)
      .Integer(problem_id)
      .Integer(weight)
      .Checksum()
      .Take();
}

Result<std::optional<Row>> ReadTag(Connection& connection, std::string_view tag) {
  const Cell label = TextCell(FreeText(tag));
  return ReadRow(connection, {TagTable(), "label = :p0", {&label, 1}});
}

// The row of the tag, which is added if it is new.
Result<Row> InternTag(WriteTransaction& transaction, std::string_view tag) {
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> present, ReadTag(transaction.connection(), tag));
  if (present.has_value()) return std::move(*present);
  Row row = TagRow(transaction.TakeId(), FreeText(tag), 0);
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(TagTable(), row));
  return row;
}

Status ReplaceWeight(WriteTransaction& transaction, int64_t tag_id, int64_t problem_id,
                     int64_t weight) {
  const Cell keys[] = {IntegerCell(tag_id), IntegerCell(problem_id)};
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(transaction.connection(),
                                  {ProblemTagTable(), "tag_id = :p0 AND problem_id = :p1", keys}));
  if (!row.has_value()) {
    return DataLoss(fmt::format(
        "The index of table problem_tag has tag {} with problem {}, but the table has not.", tag_id,
        problem_id));
  }
  if ((*row)[kLinkWeight].integer == weight) return Status::Ok();
  return transaction.Update(ProblemTagTable(),
                            LinkRow((*row)[kLinkId].integer, tag_id, problem_id, weight));
}

// Whether the problem is new under the tag.
Result<bool> Link(WriteTransaction& transaction, int64_t tag_id, int64_t problem_id,
                  int64_t weight) {
  const Row row = LinkRow(transaction.TakeId(), tag_id, problem_id, weight);
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                          transaction.InsertIfNew(ProblemTagTable(), "tag_id, problem_id", row));
  if (is_new) return true;
  transaction.GiveBackId();
  ATTUNE_RETURN_IF_ERROR(ReplaceWeight(transaction, tag_id, problem_id, weight));
  return false;
}

// The rows that link `tag` with problems, in order of their ids. Their number must be the tag's.
Result<std::vector<Row>> ReadLinks(Connection& connection, std::string_view tag) {
  std::vector<Row> links;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> tag_row, ReadTag(connection, tag));
  if (!tag_row.has_value()) return links;
  const Cell tag_id = (*tag_row)[kTagId];
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {ProblemTagTable(), "tag_id = :p0 ORDER BY id", {&tag_id, 1}},
                                  [&](std::span<const Cell> row) {
                                    links.emplace_back(row.begin(), row.end());
                                    return Status::Ok();
                                  }));
  const int64_t expected = (*tag_row)[kProblemCount].integer;
  if (static_cast<int64_t>(links.size()) == expected) return links;
  return DataLoss(fmt::format(
      "Row {} of table tag: column problem_count holds {}, but table problem_tag has {} "
      "such rows.",
      tag_id.integer, expected, links.size()));
}

Result<Problem> ParseProblemRow(int64_t id, std::string_view content) {
  Result<Problem> problem = ParseProblem(content);
  if (problem.ok()) return problem;
  return DataLoss(
      fmt::format("Row {} of table problem: column content: {}", id, problem.error().message()));
}

}  // namespace

Status TagProblems(WriteTransaction& transaction, std::string_view tag,
                   std::span<const TaggedProblem> problems) {
  ATTUNE_ASSIGN_OR_RETURN(const Row tag_row, InternTag(transaction, tag));
  const int64_t tag_id = tag_row[kTagId].integer;
  int64_t problem_count = tag_row[kProblemCount].integer;
  for (const TaggedProblem& tagged : problems) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t problem_id, InternText(transaction, ProblemTable(),
                                                                 ::attune::Text(tagged.problem)));
    ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                            Link(transaction, tag_id, problem_id, tagged.weight));
    if (is_new) ++problem_count;
  }
  return transaction.Update(TagTable(), TagRow(tag_id, tag_row[kLabel].text, problem_count));
}

Result<std::vector<TaggedProblem>> ReadTagged(Connection& connection, std::string_view tag) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Row> links, ReadLinks(connection, tag));
  std::vector<TaggedProblem> problems;
  problems.reserve(links.size());
  for (const Row& link : links) {
    const int64_t id = link[kLinkProblemId].integer;
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadText(connection, ProblemTable(), id));
    ATTUNE_ASSIGN_OR_RETURN(Problem problem, ParseProblemRow(id, content));
    problems.push_back({std::move(problem), link[kLinkWeight].integer});
  }
  return problems;
}

Result<std::vector<TaggedProblem>> ReadAllProblems(Connection& connection) {
  std::unordered_map<int64_t, int64_t> weights;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {ProblemTagTable(), "id > 0", {}}, [&](std::span<const Cell> row) {
        weights[row[kLinkProblemId].integer] += row[kLinkWeight].integer;
        return Status::Ok();
      }));
  std::vector<TaggedProblem> problems;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {ProblemTable(), "id > 0 ORDER BY id", {}},
               [&](std::span<const Cell> row) -> Status {
                 const int64_t id = row[0].integer;
                 ATTUNE_ASSIGN_OR_RETURN(Problem problem, ParseProblemRow(id, row[2].text));
                 problems.push_back({std::move(problem), std::max<int64_t>(weights[id], 1)});
                 return Status::Ok();
               }));
  return problems;
}

Result<std::vector<int64_t>> ReadTaggedIds(Connection& connection, std::string_view tag) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Row> links, ReadLinks(connection, tag));
  std::vector<int64_t> ids;
  for (const Row& link : links) ids.push_back(link[kLinkProblemId].integer);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::vector<std::pair<std::string, int64_t>>> ReadTags(Connection& connection) {
  std::map<std::string, int64_t> tags;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {TagTable(), "id > 0", {}}, [&](std::span<const Cell> row) -> Status {
        const std::optional<std::string> tag = FromFreeText(row[kLabel].text);
        if (!tag.has_value())
          return DamagedCell(TagTable(), row, kLabel, "which is no escaped text");
        tags[*tag] = row[kProblemCount].integer;
        return Status::Ok();
      }));
  return std::vector<std::pair<std::string, int64_t>>(tags.begin(), tags.end());
}

}  // namespace attune::sql
