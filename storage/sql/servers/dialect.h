// What the dialects of servers share: words that are replaced, definitions that are compared, and
// failures, of which each server has its own codes.
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
// word before it, and puts what it gives in the place of the word.
std::string WithWords(
    std::string_view sql,
    const std::function<std::string(std::string_view word, std::string_view before)>& replacement);

// That each column of the tables which `migrations` made is among `found`, which are lines
// "table.column type"; `line` gives the one that a column has. kDataLoss names the first that is
// not.
Status CheckColumns(const Connection& connection, std::span<const Migration> migrations,
                    const std::vector<std::string>& found,
                    const std::function<std::string(const Table&, const Column&)>& line);

// What the client library or the server said of a failure, on one line.
std::string Said(const soci::soci_error& error);

// The failures of the database `name` about which `said` was said.
EngineFailure Unreachable(std::string_view name, std::string_view said);
EngineFailure ConnectionLost(std::string_view name, std::string_view said);
EngineFailure GaveWay(std::string_view name, std::string_view said);
EngineFailure Interrupted(std::string_view name, std::string_view said);
EngineFailure NoSpaceLeft(std::string_view name, std::string_view said);
// `option` of its URL says whom to trust.
EngineFailure NotTrusted(std::string_view name, std::string_view option, std::string_view said);
EngineFailure NotGranted(std::string_view name, std::string_view user, std::string_view said);
// Nobody writes to it now, whoever asks. `setting` of the server is what may do that.
EngineFailure ReadOnly(std::string_view name, std::string_view setting, std::string_view said);

}  // namespace attune::sql
