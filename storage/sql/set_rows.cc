#include "storage/sql/set_rows.h"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/missing_row.h"
#include "storage/sql/revision_rows.h"

namespace attune::sql {
namespace {

enum SetColumn : size_t {
  kId,
  kKey,
  kProblemId,
  kTargetId,
  kEnvironmentId,
  kF32Flops,
  kF64Flops,
  kBytesPerSecond,
  kCache,
  kSeed,
  kSearcher,
  kMeasuredBy,
  kAttuneVersion,
  kStartedUnixNs,
};
enum ProblemColumn : size_t { kProblemRowId, kProblemKey, kProblemContent, kSetCount };
enum ProgressColumn : size_t { kSetId, kFinished, kQualifyCount, kScreenCount, kFinalCount };

Result<CacheState> CacheIn(std::span<const Cell> row) {
  const std::optional<CacheState> cache = ParseCacheState(row[kCache].text);
  if (cache.has_value()) return *cache;
  return DamagedCell(MeasurementSetTable(), row, kCache, "which is no cache state");
}

// The ids that a set refers to.
struct SetReferences {
  int64_t problem_id = 0;
  int64_t target_id = 0;
  int64_t environment_id = 0;
};

Result<SetReferences> InternReferences(WriteTransaction& transaction, const MeasurementSet& set) {
  SetReferences ids;
  ATTUNE_ASSIGN_OR_RETURN(ids.problem_id,
                          InternText(transaction, ProblemTable(), ::attune::Text(set.problem)));
  ATTUNE_ASSIGN_OR_RETURN(ids.target_id,
                          InternText(transaction, TargetTable(), ::attune::Text(set.target)));
  ATTUNE_ASSIGN_OR_RETURN(ids.environment_id, InternText(transaction, EnvironmentTable(),
                                                         ::attune::Text(set.environment)));
  return ids;
}

Row SetRow(int64_t id, const MeasurementSet& set, const SetReferences& ids) {
  return RowWriter(MeasurementSetTable())
      .Integer(id)
      .Text(set.id)
      .Integer(ids.problem_id)
      .Integer(ids.target_id)
      .Integer(ids.environment_id)
      .Real(set.peaks.f32_flops)
      .Real(set.peaks.f64_flops)
      .Real(set.peaks.bytes_per_second)
      .Text(Name(set.cache))
      .Text(fmt::format("{}", set.seed))
      .Text(FreeText(set.searcher))
      .Text(FreeText(set.measured_by))
      .Text(FreeText(set.attune_version))
      .Integer(set.started_unix_ns)
      .Checksum()
      .Take();
}

Row ProgressRow(const SetProgress& progress) {
  return RowWriter(SetProgressTable())
      .Integer(progress.set_id)
      .Integer(progress.finished ? 1 : 0)
      .Integer(progress.counts.qualify)
      .Integer(progress.counts.screen)
      .Integer(progress.counts.final)
      .Checksum()
      .Take();
}

Result<std::optional<Row>> ReadSetRow(Connection& connection, std::string_view key) {
  const Cell cell = TextCell(key);
  return ReadRow(connection, {MeasurementSetTable(), "key = :p0", {&cell, 1}});
}

Result<Row> ReadProblemRow(Connection& connection, int64_t problem_id) {
  const Cell cell = IntegerCell(problem_id);
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> row,
                          ReadRow(connection, {ProblemTable(), "id = :p0", {&cell, 1}}));
  if (row.has_value()) return std::move(*row);
  return MissingRow(connection, ProblemTable(), problem_id);
}

Status CountSet(WriteTransaction& transaction, int64_t problem_id) {
  ATTUNE_ASSIGN_OR_RETURN(const Row row, ReadProblemRow(transaction.connection(), problem_id));
  return transaction.Update(ProblemTable(), RowWriter(ProblemTable())
                                                .Integer(problem_id)
                                                .Text(row[kProblemKey].text)
                                                .Text(row[kProblemContent].text)
                                                .Integer(row[kSetCount].integer + 1)
                                                .Checksum()
                                                .Take());
}

Status ParseSeed(std::span<const Cell> row, uint64_t& seed) {
  const std::string& text = row[kSeed].text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return Status::Ok();
  return DamagedCell(MeasurementSetTable(), row, kSeed, "which is no unsigned 64-bit number");
}

Status ParseFreeText(std::span<const Cell> row, size_t column, std::string& value) {
  std::optional<std::string> parsed = FromFreeText(row[column].text);
  if (!parsed.has_value()) {
    return DamagedCell(MeasurementSetTable(), row, column, "which is no escaped text");
  }
  value = std::move(*parsed);
  return Status::Ok();
}

}  // namespace

SetReader::SetReader()
    : problems_(ProblemTable(), ParseProblem),
      targets_(TargetTable(), ParseTarget),
      environments_(EnvironmentTable(), ParseEnvironment) {}

Result<MeasurementSet> SetReader::Parse(Connection& connection, std::span<const Cell> row) {
  MeasurementSet set;
  set.id = row[kKey].text;
  ATTUNE_ASSIGN_OR_RETURN(set.problem, problems_.At(connection, row[kProblemId].integer));
  ATTUNE_ASSIGN_OR_RETURN(set.target, targets_.At(connection, row[kTargetId].integer));
  ATTUNE_ASSIGN_OR_RETURN(set.environment,
                          environments_.At(connection, row[kEnvironmentId].integer));
  set.peaks = {row[kF32Flops].real, row[kF64Flops].real, row[kBytesPerSecond].real};
  ATTUNE_ASSIGN_OR_RETURN(set.cache, CacheIn(row));
  ATTUNE_RETURN_IF_ERROR(ParseSeed(row, set.seed));
  ATTUNE_RETURN_IF_ERROR(ParseFreeText(row, kSearcher, set.searcher));
  ATTUNE_RETURN_IF_ERROR(ParseFreeText(row, kMeasuredBy, set.measured_by));
  ATTUNE_RETURN_IF_ERROR(ParseFreeText(row, kAttuneVersion, set.attune_version));
  set.started_unix_ns = row[kStartedUnixNs].integer;
  return set;
}

Result<int64_t> InsertSet(WriteTransaction& transaction, const MeasurementSet& set) {
  ATTUNE_ASSIGN_OR_RETURN(const SetReferences ids, InternReferences(transaction, set));
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> present,
                          ReadSetRow(transaction.connection(), set.id));
  if (present.has_value()) {
    const Row same = SetRow((*present)[kId].integer, set, ids);
    if (ChecksumOf(MeasurementSetTable(), same) == ChecksumOf(MeasurementSetTable(), *present)) {
      return (*present)[kId].integer;
    }
    return InvalidArgument(
        fmt::format("Measurement set {} exists with another content; make a new id.", set.id));
  }
  const int64_t id = transaction.TakeId();
  ATTUNE_RETURN_IF_ERROR(CountSet(transaction, ids.problem_id));
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(MeasurementSetTable(), SetRow(id, set, ids)));
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(SetProgressTable(), ProgressRow({id, false, {}})));
  return id;
}

Result<std::vector<Row>> ReadSetRows(Connection& connection, int64_t problem_id) {
  ATTUNE_ASSIGN_OR_RETURN(const Row problem, ReadProblemRow(connection, problem_id));
  std::vector<Row> rows;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {MeasurementSetTable(),
                                   "problem_id = :p0 ORDER BY started_unix_ns, id",
                                   {&problem[kProblemRowId], 1}},
                                  [&](std::span<const Cell> row) {
                                    rows.emplace_back(row.begin(), row.end());
                                    return Status::Ok();
                                  }));
  const int64_t expected = problem[kSetCount].integer;
  if (static_cast<int64_t>(rows.size()) == expected) return rows;
  return DataLoss(
      fmt::format("Row {} of table problem: column set_count holds {}, but table measurement_set "
                  "has {} sets of it.",
                  problem_id, expected, rows.size()));
}

Result<Row> ReadSetRowById(Connection& connection, int64_t set_id) {
  const Cell cell = IntegerCell(set_id);
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> row,
                          ReadRow(connection, {MeasurementSetTable(), "id = :p0", {&cell, 1}}));
  if (row.has_value()) return std::move(*row);
  return DataLoss(
      fmt::format("Table measurement_set has no row {}, but database '{}' refers to it.", set_id,
                  connection.name()));
}

int64_t SetIdOf(std::span<const Cell> set_row) { return set_row[kId].integer; }

int64_t ProblemIdOf(std::span<const Cell> set_row) { return set_row[kProblemId].integer; }

Result<std::optional<CacheState>> ReadCacheState(Connection& connection, std::string_view key) {
  const Cell cell = TextCell(key);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {MeasurementSetTable(), "key = :p0", {&cell, 1}}));
  if (!row.has_value()) return std::optional<CacheState>();
  ATTUNE_ASSIGN_OR_RETURN(const CacheState cache, CacheIn(*row));
  return std::optional(cache);
}

Result<SetProgress> ReadProgressOf(Connection& connection, std::string_view key) {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row, ReadSetRow(connection, key));
  if (row.has_value()) return ReadProgress(connection, (*row)[kId].integer);
  return NotFound(fmt::format("Measurement set {} does not exist; begin it first.", key));
}

Result<SetProgress> ReadProgress(Connection& connection, int64_t set_id) {
  const Cell cell = IntegerCell(set_id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {SetProgressTable(), "id = :p0", {&cell, 1}}));
  if (!row.has_value()) {
    return DataLoss(fmt::format("Table set_progress of database '{}' has no row {}.",
                                connection.name(), set_id));
  }
  const Row& cells = *row;
  return SetProgress{
      set_id,
      cells[kFinished].integer != 0,
      {cells[kQualifyCount].integer, cells[kScreenCount].integer, cells[kFinalCount].integer}};
}

Status UpdateProgress(WriteTransaction& transaction, const SetProgress& progress) {
  return transaction.Update(SetProgressTable(), ProgressRow(progress));
}

Status FinishSet(WriteTransaction& transaction, std::string_view key) {
  ATTUNE_ASSIGN_OR_RETURN(SetProgress progress, ReadProgressOf(transaction.connection(), key));
  if (progress.finished) return Status::Ok();
  progress.finished = true;
  ATTUNE_RETURN_IF_ERROR(InsertFinish(transaction, progress.set_id));
  return UpdateProgress(transaction, progress);
}

}  // namespace attune::sql
