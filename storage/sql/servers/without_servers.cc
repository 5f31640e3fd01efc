// For programs without the libraries of database servers: core, and every program built without
// SOCI's backends for servers.
#include "storage/sql/servers/database_servers.h"

namespace attune {

Result<std::unique_ptr<sql::DatabaseServer>> DatabaseServerAt(const std::string&,
                                                              const sql::ServerPatience&) {
  return Unsupported(
      "This program has no databases on servers: they need the extension 'fleet', built with "
      "libpq-dev, libmariadb-dev and SOCI's backends for both. Name a file, or install that.");
}

}  // namespace attune
