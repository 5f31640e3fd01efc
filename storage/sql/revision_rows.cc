#include "storage/sql/revision_rows.h"

#include <optional>

#include <fmt/format.h>

#include "storage/sql/set_rows.h"

namespace attune::sql {
namespace {

// Not through ReadRows, which would read and check whole trials that Visit reads and checks again.
// A set_id that is damaged shows there, because another set then has a trial too few.
Status AddSetsWithNewTrials(Connection& connection, int64_t revision, std::set<int64_t>& set_ids) {
  ATTUNE_ASSIGN_OR_RETURN(Statement * statement,
                          connection.Prepare("SELECT DISTINCT set_id FROM trial WHERE id > :p0",
                                             {{CellType::kInteger}, {CellType::kInteger}}));
  statement->SetParameters({IntegerCell(revision)});
  ATTUNE_RETURN_IF_ERROR(statement->Start());
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Next());
    if (!has_row) return Status::Ok();
    set_ids.insert(statement->row()[0].integer);
  }
}

Status AddFinishedSets(Connection& connection, int64_t revision, std::set<int64_t>& set_ids) {
  const Cell cell = IntegerCell(revision);
  return ReadRows(connection, {FinishedSetTable(), "id > :p0", {&cell, 1}},
                  [&](std::span<const Cell> row) {
                    set_ids.insert(row[1].integer);
                    return Status::Ok();
                  });
}

}  // namespace

Result<StoreState> ReadState(Connection& connection) {
  const Cell id = IntegerCell(kStoreIdentityRow);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {StoreIdentityTable(), "id = :p0", {&id, 1}}));
  if (!row.has_value()) {
    return DataLoss(fmt::format("Table store_identity of database '{}' has no row {}.",
                                connection.name(), kStoreIdentityRow));
  }
  StoreState state;
  state.database_id = (*row)[1].text;
  ATTUNE_ASSIGN_OR_RETURN(state.last_revision, ReadLastId(connection));
  return state;
}

Status InsertFinish(WriteTransaction& transaction, int64_t set_id) {
  const int64_t revision = transaction.TakeId();
  return transaction.Insert(
      FinishedSetTable(),
      RowWriter(FinishedSetTable()).Integer(revision).Integer(set_id).Checksum().Take());
}

Result<SetsOfProblems> ReadChangedSets(Connection& connection, int64_t revision) {
  std::set<int64_t> set_ids;
  ATTUNE_RETURN_IF_ERROR(AddSetsWithNewTrials(connection, revision, set_ids));
  ATTUNE_RETURN_IF_ERROR(AddFinishedSets(connection, revision, set_ids));
  SetsOfProblems sets;
  for (const int64_t set_id : set_ids) {
    ATTUNE_ASSIGN_OR_RETURN(const Row row, ReadSetRowById(connection, set_id));
    sets[ProblemIdOf(row)].insert(set_id);
  }
  return sets;
}

}  // namespace attune::sql
