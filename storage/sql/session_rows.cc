#include "storage/sql/session_rows.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/table.h"
#include "storage/sql/text_table.h"

namespace attune::sql {
namespace {

enum SessionColumn : size_t {
  kId,
  kName,
  kReason,
  kBackend,
  kArch,
  kCreatedBy,
  kCreatedUnixNs,
};
enum StateColumn : size_t {
  kStateId,
  kTargetId,
  kEnvironmentId,
  kClosedBy,
  kClosedUnixNs,
  kGeneration,
  kTagCount,
  kSetCount,
  kJobCount,
  kSolverCount,
  kApplicabilityCount,
};
enum TagColumn : size_t { kLinkId, kLinkSession, kLinkTag };
enum SetColumn : size_t { kSetId, kSetSession };

Row ImmutableRow(const Session& session) {
  return RowWriter(SessionTable())
      .Integer(session.id)
      .Text(FreeText(session.name))
      .Text(FreeText(session.reason))
      .Text(FreeText(session.terms.backend))
      .Text(FreeText(session.terms.arch))
      .Text(FreeText(session.created_by))
      .Integer(session.created_unix_ns)
      .Checksum()
      .Take();
}

Result<Row> StateRow(WriteTransaction& transaction, const SessionRow& row) {
  const Session& session = row.session;
  RowWriter writer(SessionStateTable());
  writer.Integer(session.id);
  if (session.terms.target.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(
        const int64_t target_id,
        InternText(transaction, TargetTable(), ::attune::Text(*session.terms.target)));
    ATTUNE_ASSIGN_OR_RETURN(
        const int64_t environment_id,
        InternText(transaction, EnvironmentTable(), ::attune::Text(session.terms.fixed)));
    writer.Integer(target_id).Integer(environment_id);
  } else {
    writer.Null().Null();
  }
  return writer.Text(FreeText(session.closed_by))
      .Integer(session.closed_unix_ns)
      .Integer(row.generation)
      .Integer(row.tag_count)
      .Integer(session.set_count)
      .Integer(row.session.job_count)
      .Integer(row.solver_count)
      .Integer(row.applicability_count)
      .Checksum()
      .Take();
}

Status AddState(Connection& connection, SessionRow& row) {
  const Cell id = IntegerCell(row.session.id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> state,
                          ReadRow(connection, {SessionStateTable(), "id = :p0", {&id, 1}}));
  if (!state.has_value()) {
    return DataLoss(fmt::format("Table session_state of database '{}' has no row {}.",
                                connection.name(), row.session.id));
  }
  const Row& cells = *state;
  if (!cells[kTargetId].is_null && !cells[kEnvironmentId].is_null) {
    ParsedTexts<Target> targets(TargetTable(), ParseTarget);
    ATTUNE_ASSIGN_OR_RETURN(row.session.terms.target,
                            targets.At(connection, cells[kTargetId].integer));
    ParsedTexts<Environment> environments(EnvironmentTable(), ParseEnvironment);
    ATTUNE_ASSIGN_OR_RETURN(row.session.terms.fixed,
                            environments.At(connection, cells[kEnvironmentId].integer));
  }
  ATTUNE_RETURN_IF_ERROR(
      TakeFreeText(SessionStateTable(), cells, kClosedBy, row.session.closed_by));
  row.session.closed_unix_ns = cells[kClosedUnixNs].integer;
  row.generation = cells[kGeneration].integer;
  row.tag_count = cells[kTagCount].integer;
  row.session.set_count = cells[kSetCount].integer;
  row.session.job_count = cells[kJobCount].integer;
  row.solver_count = cells[kSolverCount].integer;
  row.applicability_count = cells[kApplicabilityCount].integer;
  return Status::Ok();
}

// A row of `session`, without its state.
Result<SessionRow> Parse(std::span<const Cell> row) {
  SessionRow parsed;
  Session& session = parsed.session;
  session.id = row[kId].integer;
  session.created_unix_ns = row[kCreatedUnixNs].integer;
  const std::pair<size_t, std::string*> texts[] = {{kName, &session.name},
                                                   {kReason, &session.reason},
                                                   {kBackend, &session.terms.backend},
                                                   {kArch, &session.terms.arch},
                                                   {kCreatedBy, &session.created_by}};
  for (const auto& [column, text] : texts) {
    ATTUNE_RETURN_IF_ERROR(TakeFreeText(SessionTable(), row, column, *text));
  }
  return parsed;
}

}  // namespace

Result<SessionRow> InsertSession(WriteTransaction& transaction, const Session& session) {
  SessionRow row;
  row.session = session;
  row.session.id = transaction.TakeId();
  row.session.set_count = row.session.job_count = 0;
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(SessionTable(), ImmutableRow(row.session)));
  ATTUNE_ASSIGN_OR_RETURN(const Row state, StateRow(transaction, row));
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(SessionStateTable(), state));
  return row;
}

Status UpdateSession(WriteTransaction& transaction, const SessionRow& row) {
  ATTUNE_ASSIGN_OR_RETURN(const Row state, StateRow(transaction, row));
  return transaction.Update(SessionStateTable(), state);
}

Result<std::optional<SessionRow>> FindSession(Connection& connection, std::string_view name) {
  const Cell cell = TextCell(FreeText(name));
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> found,
                          ReadRow(connection, {SessionTable(), "name = :p0", {&cell, 1}}));
  if (!found.has_value()) return std::optional<SessionRow>();
  ATTUNE_ASSIGN_OR_RETURN(SessionRow row, Parse(*found));
  ATTUNE_RETURN_IF_ERROR(AddState(connection, row));
  return std::optional<SessionRow>(std::move(row));
}

Result<SessionRow> ReadSession(Connection& connection, int64_t id) {
  const Cell cell = IntegerCell(id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> found,
                          ReadRow(connection, {SessionTable(), "id = :p0", {&cell, 1}}));
  if (!found.has_value()) return NotFound(fmt::format("There is no session with the id {}.", id));
  ATTUNE_ASSIGN_OR_RETURN(SessionRow row, Parse(*found));
  ATTUNE_RETURN_IF_ERROR(AddState(connection, row));
  return row;
}

Result<std::vector<SessionRow>> ReadSessions(Connection& connection) {
  std::vector<SessionRow> rows;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {SessionTable(), "id IS NOT NULL ORDER BY id", {}},
                                  [&](std::span<const Cell> row) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(rows.emplace_back(), Parse(row));
                                    return Status::Ok();
                                  }));
  for (SessionRow& row : rows) ATTUNE_RETURN_IF_ERROR(AddState(connection, row));
  return rows;
}

Result<bool> InsertSessionTag(WriteTransaction& transaction, int64_t session_id, int64_t tag_id) {
  const Row row = RowWriter(SessionTagTable())
                      .Integer(transaction.TakeId())
                      .Integer(session_id)
                      .Integer(tag_id)
                      .Checksum()
                      .Take();
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new,
                          transaction.InsertIfNew(SessionTagTable(), "session_id, tag_id", row));
  if (!is_new) transaction.GiveBackId();
  return is_new;
}

Result<std::vector<int64_t>> ReadSessionTags(Connection& connection, const SessionRow& row) {
  std::vector<int64_t> tags;
  const Cell id = IntegerCell(row.session.id);
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {SessionTagTable(), "session_id = :p0 ORDER BY id", {&id, 1}},
                                  [&](std::span<const Cell> link) {
                                    tags.push_back(link[kLinkTag].integer);
                                    return Status::Ok();
                                  }));
  if (static_cast<int64_t>(tags.size()) == row.tag_count) return tags;
  return DataLoss(fmt::format(
      "Row {} of table session_state: column tag_count holds {}, but table session_tag has {} such "
      "rows.",
      row.session.id, row.tag_count, tags.size()));
}

Result<bool> InsertSessionSet(WriteTransaction& transaction, int64_t session_id, int64_t set_id) {
  ATTUNE_ASSIGN_OR_RETURN(const auto owner, FindSessionOfSet(transaction.connection(), set_id));
  if (owner == session_id) return false;
  if (owner.has_value()) {
    return InvalidArgument(
        fmt::format("Measurement set {} belongs to session {} already.", set_id, *owner));
  }
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(
      SessionSetTable(),
      RowWriter(SessionSetTable()).Integer(set_id).Integer(session_id).Checksum().Take()));
  return true;
}

Result<std::vector<int64_t>> ReadSetsOfSession(Connection& connection, const SessionRow& row) {
  std::vector<int64_t> set_ids;
  const Cell id = IntegerCell(row.session.id);
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {SessionSetTable(), "session_id = :p0 ORDER BY id", {&id, 1}},
                                  [&](std::span<const Cell> cells) {
                                    set_ids.push_back(cells[kSetId].integer);
                                    return Status::Ok();
                                  }));
  if (static_cast<int64_t>(set_ids.size()) == row.session.set_count) return set_ids;
  return DataLoss(fmt::format(
      "Row {} of table session_state: column set_count holds {}, but table session_set has {} such "
      "rows.",
      row.session.id, row.session.set_count, set_ids.size()));
}

Result<std::optional<int64_t>> FindSessionOfSet(Connection& connection, int64_t set_id) {
  const Cell cell = IntegerCell(set_id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {SessionSetTable(), "id = :p0", {&cell, 1}}));
  if (!row.has_value()) return std::optional<int64_t>();
  return std::optional<int64_t>((*row)[kSetSession].integer);
}

}  // namespace attune::sql
