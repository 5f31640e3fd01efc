#include "storage/sql/golden_rows.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/table.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

enum GoldenColumn : size_t { kId, kName, kBaseId, kCreatedBy, kCreatedUnixNs };
enum StateColumn : size_t {
  kStateId,
  kApprovedBy,
  kApprovedUnixNs,
  kWithdrawnBy,
  kWithdrawnUnixNs,
  kWithdrawnBecause,
  kEntryCount,
};
enum EntryColumn : size_t {
  kEntryId,
  kGoldenId,
  kProblemId,
  kTargetId,
  kCandidateId,
  kSetKey,
  kSession,
  kMedianNs,
  kLowNs,
  kHighNs,
  kReason,
  kAddedBy,
  kAddedUnixNs,
};

Row ImmutableRow(const GoldenRow& row) {
  RowWriter writer(GoldenTable());
  writer.Integer(row.version.id).Text(FreeText(row.version.name));
  row.base_id.has_value() ? writer.Integer(*row.base_id) : writer.Null();
  return writer.Text(FreeText(row.version.created_by))
      .Integer(row.version.created_unix_ns)
      .Checksum()
      .Take();
}

Row StateRow(const GoldenRow& row) {
  const GoldenVersion& version = row.version;
  return RowWriter(GoldenStateTable())
      .Integer(version.id)
      .Text(FreeText(version.approved_by))
      .Integer(version.approved_unix_ns)
      .Text(FreeText(version.withdrawn_by))
      .Integer(version.withdrawn_unix_ns)
      .Text(FreeText(version.withdrawn_because))
      .Integer(row.entry_count)
      .Checksum()
      .Take();
}

Result<GoldenRow> Parse(std::span<const Cell> cells) {
  GoldenRow row;
  row.version.id = cells[kId].integer;
  row.version.created_unix_ns = cells[kCreatedUnixNs].integer;
  if (!cells[kBaseId].is_null) row.base_id = cells[kBaseId].integer;
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(GoldenTable(), cells, kName, row.version.name));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(GoldenTable(), cells, kCreatedBy, row.version.created_by));
  return row;
}

Status AddState(Connection& connection, GoldenRow& row) {
  const Cell id = IntegerCell(row.version.id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> state,
                          ReadRow(connection, {GoldenStateTable(), "id = :p0", {&id, 1}}));
  if (!state.has_value()) {
    return DataLoss(fmt::format("Table golden_state of database '{}' has no row {}.",
                                connection.name(), row.version.id));
  }
  GoldenVersion& version = row.version;
  const std::pair<size_t, std::string*> texts[] = {{kApprovedBy, &version.approved_by},
                                                   {kWithdrawnBy, &version.withdrawn_by},
                                                   {kWithdrawnBecause, &version.withdrawn_because}};
  for (const auto& [column, text] : texts) {
    ATTUNE_RETURN_IF_ERROR(TakeFreeText(GoldenStateTable(), *state, column, *text));
  }
  version.approved_unix_ns = (*state)[kApprovedUnixNs].integer;
  version.withdrawn_unix_ns = (*state)[kWithdrawnUnixNs].integer;
  row.entry_count = (*state)[kEntryCount].integer;
  return Status::Ok();
}

// Texts that entries refer to, by id.
struct EntryTexts {
  ParsedTexts<Problem> problems{ProblemTable(), ParseProblem};
  ParsedTexts<Target> targets{TargetTable(), ParseTarget};
  ParsedTexts<Candidate> candidates{CandidateTable(), ParseCandidate};
  std::map<std::string, std::optional<CacheState>> caches;  // By the key of the set.
};

Result<GoldenEntry> ParseEntry(Connection& connection, std::span<const Cell> row,
                               EntryTexts& texts) {
  GoldenEntry entry;
  entry.id = row[kEntryId].integer;
  ATTUNE_ASSIGN_OR_RETURN(entry.problem, texts.problems.At(connection, row[kProblemId].integer));
  ATTUNE_ASSIGN_OR_RETURN(entry.target, texts.targets.At(connection, row[kTargetId].integer));
  ATTUNE_ASSIGN_OR_RETURN(entry.candidate,
                          texts.candidates.At(connection, row[kCandidateId].integer));
  entry.set_id = row[kSetKey].text;
  const auto [cache, is_new] = texts.caches.try_emplace(entry.set_id);
  if (is_new) {
    ATTUNE_ASSIGN_OR_RETURN(cache->second, ReadCacheState(connection, entry.set_id));
  }
  entry.cache = cache->second;
  entry.median_ns = row[kMedianNs].real;
  entry.low_ns = row[kLowNs].real;
  entry.high_ns = row[kHighNs].real;
  entry.added_unix_ns = row[kAddedUnixNs].integer;
  const auto reason = ParseGoldenReason(row[kReason].text);
  if (!reason.ok()) return DamagedCell(GoldenEntryTable(), row, kReason, "which is no reason");
  entry.reason = *reason;
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(GoldenEntryTable(), row, kSession, entry.session));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(GoldenEntryTable(), row, kAddedBy, entry.added_by));
  return entry;
}

}  // namespace

Result<GoldenRow> InsertGolden(WriteTransaction& transaction, const GoldenRow& row) {
  GoldenRow added = row;
  added.version.id = transaction.TakeId();
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(GoldenTable(), ImmutableRow(added)));
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(GoldenStateTable(), StateRow(added)));
  return added;
}

Status UpdateGolden(WriteTransaction& transaction, const GoldenRow& row) {
  return transaction.Update(GoldenStateTable(), StateRow(row));
}

Result<std::vector<GoldenRow>> ReadGolden(Connection& connection) {
  std::vector<GoldenRow> rows;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {GoldenTable(), "id IS NOT NULL ORDER BY id", {}},
                                  [&](std::span<const Cell> cells) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(rows.emplace_back(), Parse(cells));
                                    return Status::Ok();
                                  }));
  std::map<int64_t, std::string> names;
  for (GoldenRow& row : rows) {
    names[row.version.id] = row.version.name;
    if (row.base_id.has_value()) row.version.base = names[*row.base_id];
    ATTUNE_RETURN_IF_ERROR(AddState(connection, row));
  }
  return rows;
}

Result<GoldenRow> ReadGoldenById(Connection& connection, int64_t id) {
  ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadGolden(connection));
  for (const GoldenRow& row : rows) {
    if (row.version.id == id) return row;
  }
  return NotFound(fmt::format("There is no golden version with the id {}.", id));
}

Status InsertGoldenEntry(WriteTransaction& transaction, int64_t golden_id,
                         const GoldenEntry& entry) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t problem_id,
                          InternText(transaction, ProblemTable(), ::attune::Text(entry.problem)));
  ATTUNE_ASSIGN_OR_RETURN(const int64_t target_id,
                          InternText(transaction, TargetTable(), ::attune::Text(entry.target)));
  ATTUNE_ASSIGN_OR_RETURN(const int64_t candidate_id, InternText(transaction, CandidateTable(),
                                                                 ::attune::Text(entry.candidate)));
  return transaction.Insert(GoldenEntryTable(), RowWriter(GoldenEntryTable())
                                                    .Integer(transaction.TakeId())
                                                    .Integer(golden_id)
                                                    .Integer(problem_id)
                                                    .Integer(target_id)
                                                    .Integer(candidate_id)
                                                    .Text(entry.set_id)
                                                    .Text(FreeText(entry.session))
                                                    .Real(entry.median_ns)
                                                    .Real(entry.low_ns)
                                                    .Real(entry.high_ns)
                                                    .Text(Name(entry.reason))
                                                    .Text(FreeText(entry.added_by))
                                                    .Integer(entry.added_unix_ns)
                                                    .Checksum()
                                                    .Take());
}

Result<std::vector<GoldenEntry>> ReadGoldenEntries(Connection& connection, const GoldenRow& row) {
  std::vector<GoldenEntry> entries;
  EntryTexts texts;
  const Cell id = IntegerCell(row.version.id);
  ATTUNE_RETURN_IF_ERROR(ReadRows(
      connection, {GoldenEntryTable(), "golden_id = :p0 ORDER BY id", {&id, 1}},
      [&](std::span<const Cell> cells) -> Status {
        ATTUNE_ASSIGN_OR_RETURN(entries.emplace_back(), ParseEntry(connection, cells, texts));
        return Status::Ok();
      }));
  if (static_cast<int64_t>(entries.size()) == row.entry_count) return entries;
  return DataLoss(fmt::format(
      "Row {} of table golden_state: column entry_count holds {}, but table golden_entry has {} "
      "such rows.",
      row.version.id, row.entry_count, entries.size()));
}

}  // namespace attune::sql
