#include "storage/sql/fleet_rows.h"

#include <span>
#include <utility>

#include "storage/sql/free_text.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

enum WorkerColumn : size_t {
  kId,
  kName,
  kOwner,
  kTarget,
  kVersion,
  kBeganUnixNs,
  kBeatUnixNs,
  kEndedUnixNs,
  kDoing,
  kDoneCount,
  kFailedCount,
};

enum PublisherColumn : size_t { kPublisherId, kToken, kPublisherOwner, kDeadlineUnixNs };

Row CellsOf(int64_t id, const WorkerState& worker) {
  return RowWriter(WorkerTable())
      .Integer(id)
      .Text(FreeText(worker.name))
      .Text(FreeText(worker.owner))
      .Text(FreeText(worker.target))
      .Text(FreeText(worker.attune_version))
      .Integer(worker.began_unix_ns)
      .Integer(worker.beat_unix_ns)
      .Integer(worker.ended_unix_ns)
      .Text(FreeText(worker.doing))
      .Integer(worker.done_count)
      .Integer(worker.failed_count)
      .Checksum()
      .Take();
}

Result<WorkerState> ParseWorker(std::span<const Cell> cells) {
  WorkerState worker;
  const std::pair<size_t, std::string*> texts[] = {{kName, &worker.name},
                                                   {kOwner, &worker.owner},
                                                   {kTarget, &worker.target},
                                                   {kVersion, &worker.attune_version},
                                                   {kDoing, &worker.doing}};
  for (const auto& [column, text] : texts) {
    ATTUNE_RETURN_IF_ERROR(TakeFreeText(WorkerTable(), cells, column, *text));
  }
  worker.began_unix_ns = cells[kBeganUnixNs].integer;
  worker.beat_unix_ns = cells[kBeatUnixNs].integer;
  worker.ended_unix_ns = cells[kEndedUnixNs].integer;
  worker.done_count = cells[kDoneCount].integer;
  worker.failed_count = cells[kFailedCount].integer;
  return worker;
}

Result<PublisherRow> ParsePublisher(std::span<const Cell> cells) {
  PublisherRow row;
  row.id = cells[kPublisherId].integer;
  row.token = cells[kToken].text;
  row.deadline_unix_ns = cells[kDeadlineUnixNs].integer;
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(PublisherTable(), cells, kPublisherOwner, row.owner));
  return row;
}

}  // namespace

Status PutWorkerRow(WriteTransaction& transaction, const WorkerState& worker) {
  const Cell name = TextCell(FreeText(worker.name));
  ATTUNE_ASSIGN_OR_RETURN(
      const std::optional<Row> found,
      ReadRow(transaction.connection(), {WorkerTable(), "name = :p0", {&name, 1}}));
  if (found.has_value()) {
    return transaction.Update(WorkerTable(), CellsOf((*found)[kId].integer, worker));
  }
  return transaction.Insert(WorkerTable(), CellsOf(transaction.TakeId(), worker));
}

Result<std::vector<WorkerState>> ReadWorkers(Connection& connection) {
  std::vector<WorkerState> workers;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {WorkerTable(), "id IS NOT NULL ORDER BY name", {}},
                                  [&](std::span<const Cell> cells) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(workers.emplace_back(),
                                                            ParseWorker(cells));
                                    return Status::Ok();
                                  }));
  return workers;
}

Status PutPublisher(WriteTransaction& transaction, const PublisherRow& row) {
  const bool is_new = row.id == 0;
  const Row cells = RowWriter(PublisherTable())
                        .Integer(is_new ? transaction.TakeId() : row.id)
                        .Text(row.token)
                        .Text(FreeText(row.owner))
                        .Integer(row.deadline_unix_ns)
                        .Checksum()
                        .Take();
  return is_new ? transaction.Insert(PublisherTable(), cells)
                : transaction.Update(PublisherTable(), cells);
}

Result<std::optional<PublisherRow>> FindPublisher(Connection& connection, std::string_view token) {
  const Cell key = TextCell(token);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> found,
                          ReadRow(connection, {PublisherTable(), "key = :p0", {&key, 1}}));
  if (!found.has_value()) return std::optional<PublisherRow>();
  ATTUNE_ASSIGN_OR_RETURN(PublisherRow row, ParsePublisher(*found));
  return std::optional<PublisherRow>(std::move(row));
}

Result<std::vector<PublisherRow>> ReadPublishers(Connection& connection) {
  std::vector<PublisherRow> rows;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {PublisherTable(), "id IS NOT NULL ORDER BY id", {}},
                                  [&](std::span<const Cell> cells) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(rows.emplace_back(),
                                                            ParsePublisher(cells));
                                    return Status::Ok();
                                  }));
  return rows;
}

}  // namespace attune::sql
