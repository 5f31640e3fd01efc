#include "storage/sql/table.h"

#include <cassert>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <xxhash.h>

#include "storage/sql/free_text.h"

namespace attune::sql {
namespace {

constexpr CellType kInteger = CellType::kInteger;
constexpr CellType kReal = CellType::kReal;
constexpr CellType kText = CellType::kText;

// SQLite drops the sign of a zero.
double WithoutSignOfZero(double value) { return value == 0 ? 0 : value; }

uint64_t HashOfCell(const Cell& cell, uint64_t seed) {
  constexpr unsigned char kNullByte = 0xff;
  if (cell.is_null) return XXH3_64bits_withSeed(&kNullByte, 1, seed);
  if (cell.type == kText) return XXH3_64bits_withSeed(cell.text.data(), cell.text.size(), seed);
  uint64_t bits = static_cast<uint64_t>(cell.integer);
  if (cell.type == kReal) {
    const double value = WithoutSignOfZero(cell.real);
    std::memcpy(&bits, &value, sizeof(bits));
  }
  unsigned char bytes[sizeof(bits)];
  for (size_t i = 0; i < sizeof(bits); ++i) bytes[i] = static_cast<unsigned char>(bits >> (8 * i));
  return XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
}

// Returns the column whose change explains both sums, counted from 1; 0 if it is the checksum
// itself, and nothing if more than one column changed.
std::optional<size_t> ChangedColumn(const Fingerprint& stored, const Fingerprint& computed,
                                    size_t column_count) {
  const uint64_t plain = computed.high - stored.high;
  const uint64_t weighted = computed.low - stored.low;
  if (plain == 0 || weighted == 0) return 0;
  for (uint64_t number = 1; number <= column_count; ++number) {
    if (plain * number == weighted) return number;
  }
  return std::nullopt;
}

std::string Shown(const Cell& cell) {
  constexpr size_t kShownBytes = 80;
  if (cell.is_null) return "NULL";
  if (cell.type == kInteger) return fmt::format("{}", cell.integer);
  if (cell.type == kReal) return fmt::format("{}", cell.real);
  if (cell.text.size() <= kShownBytes) return fmt::format("'{}'", cell.text);
  return fmt::format("'{}...' ({} bytes)", cell.text.substr(0, kShownBytes), cell.text.size());
}

}  // namespace

std::string ColumnList(const Table& table, size_t column_count) {
  std::string list;
  for (size_t i = 0; i < column_count; ++i) {
    fmt::format_to(std::back_inserter(list), "{}{}", i == 0 ? "" : ", ", table.columns[i].name);
  }
  return list;
}

std::vector<CellType> TypesOf(const Table& table, size_t column_count) {
  std::vector<CellType> types;
  for (size_t i = 0; i < column_count; ++i) types.push_back(table.columns[i].type);
  return types;
}

Fingerprint ChecksumOf(const Table& table, std::span<const Cell> row) {
  const uint64_t table_seed = XXH3_64bits(table.name.data(), table.name.size());
  Fingerprint sums;
  for (size_t i = 0; i < table.checksum_column; ++i) {
    const uint64_t number = i + 1;
    const uint64_t hash = HashOfCell(row[i], table_seed + number);
    sums.high += hash;
    sums.low += number * hash;
  }
  return sums;
}

Status CheckRow(const Table& table, std::span<const Cell> row) {
  for (size_t i = 0; i <= table.checksum_column; ++i) {
    if (row[i].is_null && table.columns[i].nullable == Nullable::kNo) {
      return DamagedCell(table, row, i, "where a value must stand");
    }
  }
  const std::optional<Fingerprint> stored = Fingerprint::FromHex(row[table.checksum_column].text);
  if (!stored.has_value()) {
    return DamagedCell(table, row, table.checksum_column, "which is not 32 hexadecimal digits");
  }
  const Fingerprint computed = ChecksumOf(table, row);
  if (computed == *stored) return Status::Ok();
  const std::optional<size_t> number = ChangedColumn(*stored, computed, table.checksum_column);
  if (!number.has_value()) {
    return DataLoss(fmt::format(
        "Row {} of table {}: several columns of {} were changed after they were written.",
        row[0].integer, table.name, ColumnList(table, table.checksum_column + 1)));
  }
  return DamagedCell(table, row, *number == 0 ? table.checksum_column : *number - 1,
                     "which is not what was written (the checksum of the row says so)");
}

Status DamagedCell(const Table& table, std::span<const Cell> row, size_t column,
                   std::string_view why) {
  return DataLoss(fmt::format("Row {} of table {}: column {} holds {}, {}.", row[0].integer,
                              table.name, table.columns[column].name, Shown(row[column]), why));
}

Status TakeFreeText(const Table& table, std::span<const Cell> row, size_t column,
                    std::string& text) {
  std::optional<std::string> found = FromFreeText(row[column].text);
  if (!found.has_value()) return DamagedCell(table, row, column, "which is no escaped text");
  text = std::move(*found);
  return Status::Ok();
}

RowWriter::RowWriter(const Table& table) : table_(table) { row_.reserve(table.columns.size()); }

Cell& RowWriter::Next(CellType type) {
  assert(row_.size() < table_.columns.size());
  assert(table_.columns[row_.size()].type == type);
  Cell& cell = row_.emplace_back();
  cell.type = type;
  return cell;
}

RowWriter& RowWriter::Integer(int64_t value) {
  Next(kInteger).integer = value;
  return *this;
}

RowWriter& RowWriter::Real(double value) {
  Next(kReal).real = value;
  return *this;
}

RowWriter& RowWriter::Text(std::string_view value) {
  Next(kText).text = value;
  return *this;
}

RowWriter& RowWriter::Null() {
  Next(table_.columns[row_.size()].type).is_null = true;
  return *this;
}

RowWriter& RowWriter::Checksum() {
  assert(row_.size() == table_.checksum_column);
  checksum_ = ChecksumOf(table_, row_);
  return Text(checksum_.ToHex());
}

}  // namespace attune::sql
