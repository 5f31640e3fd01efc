#include "storage/sql/list_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/missing_row.h"
#include "storage/sql/problem_rows.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

enum LabelColumn : size_t { kLabelId, kLabel, kProblemCount };
enum LinkColumn : size_t { kLinkId, kLinkLabelId, kLinkProblemId, kLinkWeight };

Row LabelRow(const Table& labels, int64_t id, std::string_view label, int64_t problem_count) {
  return RowWriter(labels).Integer(id).Text(label).Integer(problem_count).Checksum().Take();
}

// Number of times that a list has a problem.
struct Link {
  int64_t label_id = 0;
  int64_t problem_id = 0;
  int64_t weight = 1;
};

Row LinkRow(const Table& links, int64_t id, const Link& link) {
  return RowWriter(links)
      .Integer(id)
      .Integer(link.label_id)
      .Integer(link.problem_id)
      .Integer(link.weight)
      .Checksum()
      .Take();
}

Result<std::optional<Row>> ReadLabelRow(Connection& connection, const ListTables& lists,
                                        std::string_view label) {
  const Cell cell = TextCell(FreeText(label));
  return ReadRow(connection, {lists.labels, "label = :p0", {&cell, 1}});
}

// The row of the label; adds a new one.
Result<Row> InternLabel(WriteTransaction& transaction, const ListTables& lists,
                        std::string_view label) {
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> present,
                          ReadLabelRow(transaction.connection(), lists, label));
  if (present.has_value()) return std::move(*present);
  Row row = LabelRow(lists.labels, transaction.TakeId(), FreeText(label), 0);
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(lists.labels, row));
  return row;
}

Status ReplaceWeight(WriteTransaction& transaction, const ListTables& lists, const Link& link) {
  const Cell keys[] = {IntegerCell(link.label_id), IntegerCell(link.problem_id)};
  ATTUNE_ASSIGN_OR_RETURN(
      const std::optional<Row> row,
      ReadRow(transaction.connection(),
              {lists.links, fmt::format("{} = :p0 AND problem_id = :p1", lists.label_id), keys}));
  if (!row.has_value()) {
    return DataLoss(
        fmt::format("The index of table {} has {} {} with problem {}, but the table has not.",
                    lists.links.name, lists.labels.name, link.label_id, link.problem_id));
  }
  if ((*row)[kLinkWeight].integer == link.weight) return Status::Ok();
  return transaction.Update(lists.links, LinkRow(lists.links, (*row)[kLinkId].integer, link));
}

// Returns true if the problem is new in the list.
Result<bool> AddLink(WriteTransaction& transaction, const ListTables& lists, const Link& link) {
  const Row row = LinkRow(lists.links, transaction.TakeId(), link);
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                          transaction.InsertIfNew(lists.links, lists.unique_columns, row));
  if (!is_new) transaction.GiveBackId();
  return is_new;
}

struct ListWrite {
  WriteTransaction& transaction;
  InternedTexts& ids;
  const ListTables& lists;
};

// Returns the number of new problems in the list. Calls `on_known` for each other one.
template <class OnKnown>
Result<int64_t> AddLinks(const ListWrite& write, std::string_view label,
                         std::span<const TaggedProblem> problems, const OnKnown& on_known) {
  const ListTables& lists = write.lists;
  ATTUNE_ASSIGN_OR_RETURN(const Row label_row, InternLabel(write.transaction, lists, label));
  Link link;
  link.label_id = label_row[kLabelId].integer;
  int64_t new_count = 0;
  for (const TaggedProblem& tagged : problems) {
    ATTUNE_ASSIGN_OR_RETURN(link.problem_id,
                            write.ids.Intern(write.transaction, ::attune::Text(tagged.problem)));
    link.weight = tagged.weight;
    ATTUNE_ASSIGN_OR_RETURN(const bool is_new, AddLink(write.transaction, lists, link));
    if (is_new) {
      ++new_count;
    } else {
      ATTUNE_RETURN_IF_ERROR(on_known(link));
    }
  }
  const int64_t count = label_row[kProblemCount].integer + new_count;
  ATTUNE_RETURN_IF_ERROR(write.transaction.Update(
      lists.labels, LabelRow(lists.labels, link.label_id, label_row[kLabel].text, count)));
  return new_count;
}

// A problem of a list.
struct ProblemLink {
  int64_t problem_id = 0;
  int64_t weight = 1;
};

// Problems of the list with the row `label_row`, in order of their ids. Their number must match the
// label's.
Result<std::vector<ProblemLink>> ReadLinks(Connection& connection, const ListTables& lists,
                                           const Row& label_row) {
  std::vector<ProblemLink> links;
  const Cell label_id = label_row[kLabelId];
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection,
               {lists.links, fmt::format("{} = :p0 ORDER BY id", lists.label_id), {&label_id, 1}},
               [&](std::span<const Cell> row) {
                 links.push_back({row[kLinkProblemId].integer, row[kLinkWeight].integer});
                 return Status::Ok();
               }));
  const int64_t expected = label_row[kProblemCount].integer;
  if (static_cast<int64_t>(links.size()) == expected) return links;
  return DataLoss(fmt::format(
      "Row {} of table {}: column problem_count holds {}, but table {} has {} such rows.",
      label_id.integer, lists.labels.name, expected, lists.links.name, links.size()));
}

}  // namespace

ListTables TagLists() { return {TagTable(), ProblemTagTable(), "tag_id", "tag_id, problem_id"}; }

ListTables NetworkLists() {
  return {NetworkTable(), NetworkProblemTable(), "network_id", "network_id, problem_id"};
}

Status AddToList(WriteTransaction& transaction, InternedTexts& ids, const ListTables& lists,
                 std::string_view label, std::span<const TaggedProblem> problems) {
  const auto replace = [&](const Link& link) { return ReplaceWeight(transaction, lists, link); };
  return AddLinks({transaction, ids, lists}, label, problems, replace).status();
}

Result<int64_t> AddNewToList(WriteTransaction& transaction, InternedTexts& ids,
                             const ListTables& lists, std::string_view label,
                             std::span<const TaggedProblem> problems) {
  const auto keep = [](const Link&) { return Status::Ok(); };
  return AddLinks({transaction, ids, lists}, label, problems, keep);
}

Result<std::vector<TaggedProblem>> ReadList(Connection& connection, const ListTables& lists,
                                            std::string_view label) {
  std::vector<TaggedProblem> problems;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> label_row,
                          ReadLabelRow(connection, lists, label));
  if (!label_row.has_value()) return problems;
  ATTUNE_ASSIGN_OR_RETURN(const auto links, ReadLinks(connection, lists, *label_row));
  const std::string ids =
      fmt::format("SELECT problem_id FROM {} WHERE {} = :p0", lists.links.name, lists.label_id);
  ATTUNE_ASSIGN_OR_RETURN(ProblemsById by_id,
                          ProblemsById::Read(connection, ids, {&(*label_row)[kLabelId], 1}));
  problems.reserve(links.size());
  for (const ProblemLink& link : links) {
    ATTUNE_ASSIGN_OR_RETURN(Problem problem, by_id.Take(connection, link.problem_id));
    problems.push_back({std::move(problem), link.weight});
  }
  return problems;
}

Result<std::vector<TaggedProblem>> ReadAllProblems(Connection& connection) {
  std::unordered_map<int64_t, int64_t> weights;
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {ProblemTagTable(), "id IS NOT NULL", {}}, [&](std::span<const Cell> row) {
        weights[row[kLinkProblemId].integer] += row[kLinkWeight].integer;
        return Status::Ok();
      }));
  std::vector<TaggedProblem> problems;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {ProblemTable(), "id IS NOT NULL ORDER BY id", {}},
               [&](std::span<const Cell> row) -> Status {
                 const int64_t id = row[0].integer;
                 ATTUNE_ASSIGN_OR_RETURN(Problem problem, ParseProblemRow(id, row[2].text));
                 problems.push_back({std::move(problem), std::max<int64_t>(weights[id], 1)});
                 return Status::Ok();
               }));
  return problems;
}

Result<std::vector<int64_t>> ReadTaggedIds(Connection& connection, std::string_view tag) {
  std::vector<int64_t> ids;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> label_row,
                          ReadLabelRow(connection, TagLists(), tag));
  if (!label_row.has_value()) return ids;
  ATTUNE_ASSIGN_OR_RETURN(const auto links, ReadLinks(connection, TagLists(), *label_row));
  for (const ProblemLink& link : links) ids.push_back(link.problem_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::vector<std::pair<std::string, int64_t>>> ReadLabels(Connection& connection,
                                                                const ListTables& lists) {
  std::map<std::string, int64_t> labels;
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {lists.labels, "id IS NOT NULL", {}}, [&](std::span<const Cell> row) -> Status {
        const std::optional<std::string> label = FromFreeText(row[kLabel].text);
        if (!label.has_value()) {
          return DamagedCell(lists.labels, row, kLabel, "which is no escaped text");
        }
        labels[*label] = row[kProblemCount].integer;
        return Status::Ok();
      }));
  return std::vector<std::pair<std::string, int64_t>>(labels.begin(), labels.end());
}

Result<std::optional<int64_t>> FindLabel(Connection& connection, const ListTables& lists,
                                         std::string_view label) {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row, ReadLabelRow(connection, lists, label));
  if (!row.has_value()) return std::optional<int64_t>();
  return std::optional<int64_t>((*row)[kLabelId].integer);
}

Result<std::string> ReadLabel(Connection& connection, const ListTables& lists, int64_t id) {
  const Cell cell = IntegerCell(id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {lists.labels, "id = :p0", {&cell, 1}}));
  if (!row.has_value()) return MissingRow(connection, lists.labels, id);
  std::optional<std::string> label = FromFreeText((*row)[kLabel].text);
  if (label.has_value()) return std::move(*label);
  return DamagedCell(lists.labels, *row, kLabel, "which is no escaped text");
}

}  // namespace attune::sql
