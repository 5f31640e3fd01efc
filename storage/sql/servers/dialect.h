// Code that server dialects share: replacing words, comparing definitions, and failures, for which
// each server has different codes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/engine.h"
#include "storage/sql/migrations.h"
#include "storage/sql/soci_headers.h"
#include "storage/sql/table.h"

namespace attune::sql {

// Calls `replacement` for each word (letters, digits and '_') of `sql` outside of quotes, with the
// word before it, and replaces the word with its result.
std::string WithWords(
    std::string_view sql,
    const std::function<std::string(std::string_view word, std::string_view before)>& replacement);

// Checks that `found`, lines of the form "table.column type", has each column of the tables that
// `migrations` made; `line` gives the line of a column. kDataLoss names the first that is missing.
Status CheckColumns(const Connection& connection, std::span<const Migration> migrations,
                    const std::vector<std::string>& found,
                    const std::function<std::string(const Table&, const Column&)>& line);

// The message of the client library or server about a failure, on one line.
std::string Said(const soci::soci_error& error);

// Failures of the database `name` with the message `said`.
EngineFailure Unreachable(std::string_view name, std::string_view said);
EngineFailure ConnectionLost(std::string_view name, std::string_view said);
EngineFailure GaveWay(std::string_view name, std::string_view said);
EngineFailure Interrupted(std::string_view name, std::string_view said);
EngineFailure NoSpaceLeft(std::string_view name, std::string_view said);
// `option` of its URL names the trusted certificates.
EngineFailure NotTrusted(std::string_view name, std::string_view option, std::string_view said);
EngineFailure NotGranted(std::string_view name, std::string_view user, std::string_view said);
// The server refuses all writes now. `setting` of the server can cause that.
EngineFailure ReadOnly(std::string_view name, std::string_view setting, std::string_view said);

}  // namespace attune::sql
