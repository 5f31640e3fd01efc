// What the dialects of servers share: words that are replaced, and definitions that are compared.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/migrations.h"
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

}  // namespace attune::sql
