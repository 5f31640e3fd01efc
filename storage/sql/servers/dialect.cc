#include "storage/sql/servers/dialect.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace attune::sql {
namespace {

bool IsOfWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The word behind "CREATE TABLE "; empty for another statement.
std::string_view CreatedTable(std::string_view statement) {
  constexpr std::string_view kCreate = "CREATE TABLE ";
  if (!statement.starts_with(kCreate)) return {};
  statement.remove_prefix(kCreate.size());
  return statement.substr(0, statement.find(' '));
}

}  // namespace

std::string WithWords(
    std::string_view sql,
    const std::function<std::string(std::string_view, std::string_view)>& replacement) {
  std::string changed;
  std::string_view before;
  for (size_t i = 0; i < sql.size();) {
    size_t end = i + 1;
    if (sql[i] == '\'' || sql[i] == '"' || sql[i] == '`') {
      end = std::min(sql.find(sql[i], i + 1), sql.size() - 1) + 1;
      changed += sql.substr(i, end - i);
    } else if (IsOfWord(sql[i])) {
      while (end < sql.size() && IsOfWord(sql[end])) ++end;
      const std::string_view word = sql.substr(i, end - i);
      // A parameter is not a word.
      changed += i > 0 && sql[i - 1] == ':' ? std::string(word) : replacement(word, before);
      before = word;
    } else {
      changed += sql[i];
    }
    i = end;
  }
  return changed;
}

Status CheckColumns(const Connection& connection, std::span<const Migration> migrations,
                    const std::vector<std::string>& found,
                    const std::function<std::string(const Table&, const Column&)>& line) {
  const std::set<std::string, std::less<>> lines(found.begin(), found.end());
  std::set<std::string_view> made;
  for (const Migration& migration : migrations) {
    for (const std::string& statement : migration.statements) made.insert(CreatedTable(statement));
  }
  for (const Table* table : AllTables()) {
    if (!made.contains(table->name)) continue;
    for (const Column& column : table->columns) {
      const std::string expected = line(*table, column);
      if (lines.contains(expected)) continue;
      return DataLoss(
          fmt::format("Database '{}' lacks or has changed a column that attune made: {}.",
                      connection.name(), expected));
    }
  }
  return Status::Ok();
}

std::string Said(const soci::soci_error& error) {
  std::string text = error.get_error_message();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

EngineFailure Unreachable(std::string_view name, std::string_view said) {
  return {
      Unavailable(fmt::format("The server of database '{}' cannot be reached: {}. Check the host "
                              "and the port, and that the server runs.",
                              name, said)),
      Fault::kLost};
}

EngineFailure ConnectionLost(std::string_view name, std::string_view said) {
  return {Unavailable(fmt::format("The connection to database '{}' was lost: {}.", name, said)),
          Fault::kLost};
}

EngineFailure GaveWay(std::string_view name, std::string_view said) {
  return {Unavailable(fmt::format("Database '{}' gave way to another process: {}.", name, said)),
          Fault::kConflict};
}

EngineFailure Interrupted(std::string_view name, std::string_view said) {
  return {Unavailable(
      fmt::format("The server of database '{}' ended a statement before it was done: {}. Whoever "
                  "administers it may have set a limit to their time.",
                  name, said))};
}

EngineFailure NoSpaceLeft(std::string_view name, std::string_view said) {
  return {
      ResourceExhausted(fmt::format("Database '{}' has no space left: {}. Nothing of this "
                                    "transaction is kept; make space and run the same command "
                                    "again.",
                                    name, said))};
}

EngineFailure NotTrusted(std::string_view name, std::string_view option, std::string_view said) {
  return {FailedPrecondition(
      fmt::format("The server of database '{}' is not spoken with: {}. Check '{}' in the URL, the "
                  "file that it names, and the certificate of the server (docs/fleet.md, TLS).",
                  name, said, option))};
}

EngineFailure NotGranted(std::string_view name, std::string_view user, std::string_view said) {
  return {
      FailedPrecondition(fmt::format("Database '{}' does not let user '{}' do this: {}. "
                                     "(docs/fleet.md has what each role is granted.)",
                                     name, user, said))};
}

EngineFailure ReadOnly(std::string_view name, std::string_view setting, std::string_view said) {
  // Treated as lost: an old connection keeps the setting, and a standby may be behind the address.
  return {Unavailable(fmt::format(
              "Database '{}' is read-only now: {}. If its server became a standby, name the one "
              "that is the primary; otherwise see {} there, also of the database and the user.",
              name, said, setting)),
          Fault::kLost};
}

}  // namespace attune::sql
