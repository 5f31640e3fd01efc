// Tables of texts that are unique by their fingerprint: problems, targets, environments,
// candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "attune/base/status.h"
#include "storage/sql/table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

inline constexpr size_t kMaxCachedTexts = 262'144;

// The id of `content`; adds it if it is new. Columns behind the content are counts from 0.
// kInternal if another text has its fingerprint.
Result<int64_t> InternText(WriteTransaction& transaction, const Table& table,
                           std::string_view content);
// Nothing if there is no such text.
Result<std::optional<int64_t>> FindText(Connection& connection, const Table& table,
                                        std::string_view content);
// kDataLoss if there is no such row.
Result<std::string> ReadText(Connection& connection, const Table& table, int64_t id);

// Ids of `contents`, in their order; nothing for missing ones. Many at once.
Result<std::vector<std::optional<int64_t>>> FindTexts(Connection& connection, const Table& table,
                                                      std::span<const std::string> contents);
// The same, but adds missing ones.
Result<std::vector<int64_t>> InternTexts(WriteTransaction& transaction, const Table& table,
                                         std::span<const std::string> contents);
// Texts by their ids; skips missing ones.
Result<std::unordered_map<int64_t, std::string>> ReadTexts(Connection& connection,
                                                           const Table& table,
                                                           std::span<const int64_t> ids);

// Caches ids of texts, which never change once committed. Bounded. Not thread-safe; must not
// outlive a transaction that was rolled back.
class InternedTexts {
 public:
  explicit InternedTexts(const Table& table) : table_(table) {}
  Result<int64_t> Intern(WriteTransaction& transaction, const std::string& content);

 private:
  const Table& table_;
  std::unordered_map<std::string, int64_t> ids_;
};

// Caches parsed values by id. Bounded. Not thread-safe.
template <class T>
class ParsedTexts {
 public:
  using Parse = std::function<Result<T>(std::string_view)>;
  ParsedTexts(const Table& table, Parse parse) : table_(table), parse_(std::move(parse)) {}

  // A copy, because a later call may evict the value. kDataLoss with table and row if the text is
  // missing or cannot be parsed.
  Result<T> At(Connection& connection, int64_t id) {
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadText(connection, table_, id));
    return Parsed(id, content);
  }

  // Reads those of `ids` that are not cached, at once, so that At() finds them.
  Status Read(Connection& connection, std::span<const int64_t> ids) {
    std::vector<int64_t> unknown;
    for (const int64_t id : ids) {
      if (!values_.contains(id)) unknown.push_back(id);
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto texts, ReadTexts(connection, table_, unknown));
    for (const auto& [id, content] : texts) ATTUNE_RETURN_IF_ERROR(Parsed(id, content).status());
    return Status::Ok();
  }

 private:
  Result<T> Parsed(int64_t id, const std::string& content) {
    Result<T> value = parse_(content);
    if (!value.ok()) {
      return DataLoss(fmt::format("Row {} of table {}: column content: {}", id, table_.name,
                                  value.error().message()));
    }
    if (values_.size() >= kMaxCachedTexts) values_.clear();
    return values_.emplace(id, std::move(*value)).first->second;
  }

  const Table& table_;
  Parse parse_;
  std::unordered_map<int64_t, T> values_;
};

}  // namespace attune::sql
