#include "storage/sql/text_table.h"

#include "attune/base/fingerprint.h"

namespace attune::sql {
namespace {

constexpr size_t kContentColumn = 2;

// The row with the key of `content`, checked to be no other text.
Result<std::optional<Row>> RowFor(Connection& connection, const Table& table,
                                  std::string_view content) {
  const Cell key = TextCell(FingerprintOf(content).ToHex());
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Row> row,
                          ReadRow(connection, {table, "key = :p0", {&key, 1}}));
  if (!row.has_value() || (*row)[kContentColumn].text == content) return row;
  return Internal(fmt::format(
      "Row {} of table {} has the fingerprint {} of another text: '{}' is there, '{}' was to be "
      "found. Report both texts.",
      (*row)[0].integer, table.name, key.text, (*row)[kContentColumn].text, content));
}

}  // namespace

Result<int64_t> InternText(WriteTransaction& transaction, const Table& table,
                           std::string_view content) {
  const int64_t id = transaction.TakeId();
  RowWriter writer(table);
  writer.Integer(id).Text(FingerprintOf(content).ToHex()).Text(content);
  for (size_t i = kContentColumn + 1; i < table.checksum_column; ++i) writer.Integer(0);
  const Row row = writer.Checksum().Take();
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
  return DataLoss(fmt::format("Table {} has no row {}, but database '{}' refers to it.", table.name,
                              id, connection.name()));
}

Result<int64_t> InternedTexts::Intern(WriteTransaction& transaction, const std::string& content) {
  if (const auto found = ids_.find(content); found != ids_.end()) return found->second;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t id, InternText(transaction, table_, content));
  if (ids_.size() >= kMaxCachedTexts) ids_.clear();
  ids_.emplace(content, id);
  return id;
}

}  // namespace attune::sql
