#include "storage/sql/condition_rows.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/sql/boundary_row.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

// The columns of each of the two moments.
enum MomentColumn : size_t {
  kComputeClockMhz,
  kMemoryClockMhz,
  kPowerW,
  kPowerLimitW,
  kTemperatureC,
  kClockReasons,
  kMomentColumns,
};
constexpr size_t kBefore = 1;  // Behind the id.
constexpr size_t kAfter = kBefore + kMomentColumns;

void WriteInteger(const std::optional<int64_t>& value, RowWriter& writer) {
  value.has_value() ? writer.Integer(*value) : writer.Null();
}

void WriteReal(const std::optional<double>& value, RowWriter& writer) {
  value.has_value() ? writer.Real(*value) : writer.Null();
}

void WriteMoment(const std::optional<DeviceConditions>& moment, RowWriter& writer) {
  const DeviceConditions conditions = moment.value_or(DeviceConditions());
  WriteInteger(conditions.compute_clock_mhz, writer);
  WriteInteger(conditions.memory_clock_mhz, writer);
  WriteReal(conditions.power_w, writer);
  WriteReal(conditions.power_limit_w, writer);
  WriteInteger(conditions.temperature_c, writer);
  if (conditions.clock_reasons.has_value()) {
    writer.Text(fmt::format("{}", fmt::join(*conditions.clock_reasons, ",")));
  } else {
    writer.Null();
  }
}

Row ConditionRow(int64_t set_id, const SetConditions& conditions) {
  RowWriter writer(SetConditionsTable());
  writer.Integer(set_id);
  WriteMoment(conditions.before, writer);
  WriteMoment(conditions.after, writer);
  return writer.Checksum().Take();
}

std::optional<int64_t> IntegerIn(const Cell& cell) {
  return cell.is_null ? std::nullopt : std::optional<int64_t>(cell.integer);
}

std::optional<double> RealIn(const Cell& cell) {
  return cell.is_null ? std::nullopt : std::optional<double>(cell.real);
}

std::optional<std::vector<std::string>> WordsIn(const Cell& cell) {
  if (cell.is_null) return std::nullopt;
  std::vector<std::string> words;
  for (size_t begin = 0; begin < cell.text.size();) {
    const size_t end = std::min(cell.text.find(',', begin), cell.text.size());
    words.push_back(cell.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Nothing if the device reported nothing at that moment.
Result<std::optional<DeviceConditions>> ParseMoment(std::span<const Cell> row, size_t first) {
  DeviceConditions conditions;
  conditions.compute_clock_mhz = IntegerIn(row[first + kComputeClockMhz]);
  conditions.memory_clock_mhz = IntegerIn(row[first + kMemoryClockMhz]);
  conditions.power_w = RealIn(row[first + kPowerW]);
  conditions.power_limit_w = RealIn(row[first + kPowerLimitW]);
  conditions.temperature_c = IntegerIn(row[first + kTemperatureC]);
  conditions.clock_reasons = WordsIn(row[first + kClockReasons]);
  if (conditions == DeviceConditions()) return std::optional<DeviceConditions>();
  if (const Status valid = Validate(conditions); !valid.ok()) {
    return DataLoss(fmt::format("Row {} of table {}: {}", row[0].integer, SetConditionsTable().name,
                                valid.message()));
  }
  return std::optional<DeviceConditions>(std::move(conditions));
}

Result<std::optional<Row>> ReadConditionRow(Connection& connection, int64_t set_id) {
  const Cell id = IntegerCell(set_id);
  return ReadRow(connection, {SetConditionsTable(), "id = :p0", {&id, 1}});
}

}  // namespace

Status BeginCountOfConditions(Connection& connection) {
  // Does not check that the rows are sound: one damaged row must not block all others.
  ATTUNE_ASSIGN_OR_RETURN(const auto found,
                          connection.Texts("SELECT count(*) FROM set_conditions"));
  int64_t count = 0;
  std::from_chars(found.front().data(), found.front().data() + found.front().size(), count);
  return InsertNumber(connection, ConditionCountTable(), count);
}

Status InsertConditions(WriteTransaction& transaction, int64_t set_id) {
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new, transaction.InsertIfNew(SetConditionsTable(), "id",
                                                                     ConditionRow(set_id, {})));
  if (!is_new) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto count,
                          ReadNumber(transaction.connection(), ConditionCountTable()));
  return UpdateNumber(transaction, ConditionCountTable(), count.value_or(0) + 1);
}

Status UpdateConditions(WriteTransaction& transaction, int64_t set_id,
                        const SetConditions& conditions) {
  ATTUNE_RETURN_IF_ERROR(InsertConditions(transaction, set_id));
  return transaction.Update(SetConditionsTable(), ConditionRow(set_id, conditions));
}

Result<SetConditions> ConditionReader::Read(Connection& connection, int64_t set_id) {
  if (!has_asked_) {
    ATTUNE_ASSIGN_OR_RETURN(last_set_without_, ReadNumber(connection, KeptConditionsTable()));
    has_asked_ = true;
  }
  if (!last_set_without_.has_value()) return SetConditions();
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row, ReadConditionRow(connection, set_id));
  if (!row.has_value()) {
    if (set_id > *last_set_without_) ATTUNE_RETURN_IF_ERROR(CheckThatNoneIsDamaged(connection));
    return SetConditions();
  }
  SetConditions conditions;
  ATTUNE_ASSIGN_OR_RETURN(conditions.before, ParseMoment(*row, kBefore));
  ATTUNE_ASSIGN_OR_RETURN(conditions.after, ParseMoment(*row, kAfter));
  return conditions;
}

Status ConditionReader::CheckThatNoneIsDamaged(Connection& connection) {
  if (std::exchange(has_checked_, true)) return Status::Ok();
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {SetConditionsTable(), "id IS NOT NULL", {}},
                                  [&count](std::span<const Cell>) {
                                    ++count;
                                    return Status::Ok();
                                  }));
  ATTUNE_ASSIGN_OR_RETURN(const auto counted, ReadNumber(connection, ConditionCountTable()));
  if (!counted.has_value() || count == *counted) return Status::Ok();
  return DataLoss(fmt::format("Table {} of database '{}' has {} rows, and had {}.",
                              SetConditionsTable().name, connection.name(), count, *counted));
}

}  // namespace attune::sql
