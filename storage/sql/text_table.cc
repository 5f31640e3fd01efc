#include "storage/sql/text_table.h"

#include <algorithm>

#include "attune/base/fingerprint.h"
#include "storage/sql/missing_row.h"

namespace attune::sql {
namespace {

constexpr size_t kContentColumn = 2;

constexpr size_t kTextsAtOnce = 64;

Status AnotherText(const Table& table, const Row& row, std::string_view content) {
  return Internal(fmt::format(
      "Row {} of table {} has the fingerprint {} of another text: '{}' is there, '{}' was to be "
      "found. Report both texts.",
      row[0].integer, table.name, row[1].text, row[kContentColumn].text, content));
}

// Rows whose `column` is one of `keys`, which have one type. The last key is repeated up to
// kTextsAtOnce, so that one statement is prepared.
Result<std::vector<Row>> RowsAmong(Connection& connection, const Table& table,
                                   std::string_view column, std::vector<Cell> keys) {
  std::string where = fmt::format("{} IN (", column);
  for (size_t i = 0; i < kTextsAtOnce; ++i) {
    where += fmt::format("{}:p{}", i == 0 ? "" : ", ", i);
  }
  keys.resize(kTextsAtOnce, Cell(keys.back()));
  std::vector<Row> rows;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {table, where + ")", keys}, [&](std::span<const Cell> row) {
        rows.emplace_back(row.begin(), row.end());
        return Status::Ok();
      }));
  return rows;
}

// The row with the key of `content`, checked to hold that text.
Result<std::optional<Row>> RowFor(Connection& connection, const Table& table,
                                  std::string_view content) {
  const Cell key = TextCell(FingerprintOf(content).ToHex());
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> row,
                          ReadRow(connection, {table, "key = :p0", {&key, 1}}));
  if (!row.has_value() || (*row)[kContentColumn].text == content) return row;
  return AnotherText(table, *row, content);
}

// Counts behind the content begin at 0.
Row NewRow(const Table& table, int64_t id, std::string_view content) {
  RowWriter writer(table);
  writer.Integer(id).Text(FingerprintOf(content).ToHex()).Text(content);
  for (size_t i = kContentColumn + 1; i < table.checksum_column; ++i) writer.Integer(0);
  return writer.Checksum().Take();
}

}  // namespace

Result<int64_t> InternText(WriteTransaction& transaction, const Table& table,
                           std::string_view content) {
  const int64_t id = transaction.TakeId();
  const Row row = NewRow(table, id, content);
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new, transaction.InsertIfNew(table, "key", row));
  if (is_new) return id;
  transaction.GiveBackId();
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> present,
                          RowFor(transaction.connection(), table, content));
  if (present.has_value()) return (*present)[0].integer;
  return DataLoss(fmt::format("The index of table {} has key {}, but the table has not.",
                              table.name, FingerprintOf(content).ToHex()));
}

Result<std::optional<int64_t>> FindText(Connection& connection, const Table& table,
                                        std::string_view content) {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row, RowFor(connection, table, content));
  if (!row.has_value()) return std::optional<int64_t>();
  return std::optional<int64_t>((*row)[0].integer);
}

Result<std::string> ReadText(Connection& connection, const Table& table, int64_t id) {
  const Cell cell = IntegerCell(id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {table, "id = :p0", {&cell, 1}}));
  if (row.has_value()) return (*row)[kContentColumn].text;
  return MissingRow(connection, table, id);
}

Result<std::vector<std::optional<int64_t>>> FindTexts(Connection& connection, const Table& table,
                                                      std::span<const std::string> contents) {
  std::vector<std::optional<int64_t>> ids(contents.size());
  for (size_t begin = 0; begin < contents.size(); begin += kTextsAtOnce) {
    const size_t end = std::min(begin + kTextsAtOnce, contents.size());
    std::vector<Cell> keys;
    for (size_t i = begin; i < end; ++i) {
      keys.push_back(TextCell(FingerprintOf(contents[i]).ToHex()));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto rows, RowsAmong(connection, table, "key", keys));
    std::unordered_map<std::string, const Row*> by_key;
    for (const Row& row : rows) by_key.emplace(row[1].text, &row);
    for (size_t i = begin; i < end; ++i) {
      const auto found = by_key.find(keys[i - begin].text);
      if (found == by_key.end()) continue;
      const Row& row = *found->second;
      if (row[kContentColumn].text != contents[i]) return AnotherText(table, row, contents[i]);
      ids[i] = row[0].integer;
    }
  }
  return ids;
}

Result<std::vector<int64_t>> InternTexts(WriteTransaction& transaction, const Table& table,
                                         std::span<const std::string> contents) {
  ATTUNE_ASSIGN_OR_RETURN(const auto known, FindTexts(transaction.connection(), table, contents));
  std::unordered_map<std::string_view, int64_t> added;
  std::vector<Row> rows;
  std::vector<int64_t> ids;
  for (size_t i = 0; i < contents.size(); ++i) {
    if (known[i].has_value()) {
      ids.push_back(*known[i]);
      continue;
    }
    const auto [entry, is_new] = added.try_emplace(contents[i], 0);
    if (is_new) {
      entry->second = transaction.TakeId();
      rows.push_back(NewRow(table, entry->second, contents[i]));
    }
    ids.push_back(entry->second);
  }
  ATTUNE_RETURN_IF_ERROR(transaction.InsertAll(table, rows));
  return ids;
}

Result<std::unordered_map<int64_t, std::string>> ReadTexts(Connection& connection,
                                                           const Table& table,
                                                           std::span<const int64_t> ids) {
  std::unordered_map<int64_t, std::string> texts;
  for (size_t begin = 0; begin < ids.size(); begin += kTextsAtOnce) {
    const size_t end = std::min(begin + kTextsAtOnce, ids.size());
    std::vector<Cell> keys;
    for (size_t i = begin; i < end; ++i) keys.push_back(IntegerCell(ids[i]));
    ATTUNE_ASSIGN_OR_RETURN(const auto rows, RowsAmong(connection, table, "id", keys));
    for (const Row& row : rows) texts.emplace(row[0].integer, row[kContentColumn].text);
  }
  return texts;
}

Result<int64_t> InternedTexts::Intern(WriteTransaction& transaction, const std::string& content) {
  if (const auto found = ids_.find(content); found != ids_.end()) return found->second;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t id, InternText(transaction, table_, content));
  if (ids_.size() >= kMaxCachedTexts) ids_.clear();
  ids_.emplace(content, id);
  return id;
}

}  // namespace attune::sql
