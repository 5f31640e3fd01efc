// The FigureStore over a database.
#include "storage/sql/figure_database.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/boundary_row.h"
#include "storage/sql/free_text.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/table.h"
#include "storage/sql/text_table.h"

namespace attune {
namespace sql {
namespace {

enum FigureColumn : size_t {
  kId,
  kSetId,
  kCandidateId,
  kRole,
  kName,
  kUnit,
  kDirection,
  kValue,
  kLow,
  kHigh,
  kConfidence,
  kSamples,
};

// The position of a figure.
struct FigurePlace {
  int64_t id = 0;
  int64_t set_id = 0;
  int64_t candidate_id = 0;
};

Row FigureRow(const FigurePlace& place, const TrialFigure& figure) {
  return RowWriter(FigureTable())
      .Integer(place.id)
      .Integer(place.set_id)
      .Integer(place.candidate_id)
      .Text(Name(figure.role))
      .Text(FreeText(figure.objective.name))
      .Text(FreeText(figure.objective.unit))
      .Text(Name(figure.objective.direction))
      .Real(figure.figure.value)
      .Real(figure.figure.low)
      .Real(figure.figure.high)
      .Real(figure.figure.confidence)
      .Integer(figure.figure.samples)
      .Checksum()
      .Take();
}

Result<TrialFigure> ParseFigure(Connection& connection, std::span<const Cell> row) {
  TrialFigure figure;
  ATTUNE_ASSIGN_OR_RETURN(const std::string candidate,
                          ReadText(connection, CandidateTable(), row[kCandidateId].integer));
  ATTUNE_ASSIGN_OR_RETURN(figure.candidate, ParseCandidate(candidate));
  const auto role = ParseTrialRole(row[kRole].text);
  if (!role.has_value()) return DamagedCell(FigureTable(), row, kRole, "which is no role");
  const auto direction = ParseDirection(row[kDirection].text);
  if (!direction.has_value()) {
    return DamagedCell(FigureTable(), row, kDirection, "which is no direction");
  }
  figure.role = *role;
  figure.objective.direction = *direction;
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(FigureTable(), row, kName, figure.objective.name));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(FigureTable(), row, kUnit, figure.objective.unit));
  figure.figure = {row[kValue].real, row[kLow].real, row[kHigh].real, row[kConfidence].real,
                   row[kSamples].integer};
  if (const Status valid = Validate(figure); !valid.ok()) {
    return DamagedCell(FigureTable(), row, kValue, "which is impossible: " + valid.message());
  }
  return figure;
}

// Checks that no figure is missing or damaged. A figure that damage moved to a set that does not
// exist would be missing in its own set.
Status CheckAll(Connection& connection) {
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {FigureTable(), "id IS NOT NULL", {}}, [&count](std::span<const Cell>) {
        ++count;
        return Status::Ok();
      }));
  ATTUNE_ASSIGN_OR_RETURN(const auto counted, ReadNumber(connection, FigureCountTable()));
  if (!counted.has_value() || count == *counted) return Status::Ok();
  return DataLoss(fmt::format("Table {} of database '{}' has {} rows, and had {}.",
                              FigureTable().name, connection.name(), count, *counted));
}

class SqlFigureStore final : public FigureStore {
 public:
  explicit SqlFigureStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Status AppendFigures(std::string_view set_id, std::span<const TrialFigure> figures) override {
    for (const TrialFigure& figure : figures) ATTUNE_RETURN_IF_ERROR(Validate(figure));
    return database_->Write([&](DatabaseSession& session, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const SetProgress progress,
                              ReadProgressOf(transaction.connection(), set_id));
      FigurePlace place;
      place.set_id = progress.set_id;
      for (const TrialFigure& figure : figures) {
        ATTUNE_ASSIGN_OR_RETURN(place.candidate_id,
                                session.candidates.Intern(transaction, Text(figure.candidate)));
        place.id = transaction.TakeId();
        ATTUNE_RETURN_IF_ERROR(transaction.Insert(FigureTable(), FigureRow(place, figure)));
      }
      ATTUNE_ASSIGN_OR_RETURN(const auto count,
                              ReadNumber(transaction.connection(), FigureCountTable()));
      return UpdateNumber(transaction, FigureCountTable(),
                          count.value_or(0) + static_cast<int64_t>(figures.size()));
    });
  }

  Result<std::vector<TrialFigure>> FiguresOf(std::string_view set_id) override {
    std::vector<TrialFigure> figures;
    const Status read = database_->ReadIfAny(FigureTable(), [&](Connection& connection) -> Status {
      if (!has_checked_) ATTUNE_RETURN_IF_ERROR(CheckAll(connection));
      has_checked_ = true;
      const auto progress = ReadProgressOf(connection, set_id);
      if (!progress.ok() && progress.error().code() == StatusCode::kNotFound) return Status::Ok();
      ATTUNE_RETURN_IF_ERROR(progress.status());
      const Cell id = IntegerCell(progress->set_id);
      return ReadRows(connection, {FigureTable(), "set_id = :p0 ORDER BY id", {&id, 1}},
                      [&](std::span<const Cell> row) -> Status {
                        ATTUNE_ASSIGN_OR_RETURN(figures.emplace_back(),
                                                ParseFigure(connection, row));
                        return Status::Ok();
                      });
    });
    if (!read.ok()) return read;
    return figures;
  }

 private:
  const std::shared_ptr<SqlDatabase> database_;
  std::atomic<bool> has_checked_ = false;  // Checked once, because it reads all rows.
};

}  // namespace
}  // namespace sql

std::unique_ptr<FigureStore> FiguresIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlFigureStore>(std::move(database));
}

}  // namespace attune
