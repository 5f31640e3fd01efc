// Where SOCI's backends for servers, or the headers that these ask for, were not there to build
// with.
#include "storage/sql/servers/database_servers.h"

namespace attune {

Result<std::unique_ptr<sql::DatabaseServer>> DatabaseServerAt(const std::string&,
                                                              const sql::ServerPatience&) {
  return Unsupported(
      "This attune was built without databases on servers. Install libpq-dev, libmariadb-dev and "
      "SOCI's backends for both, configure it anew and build it, or name a file.");
}

}  // namespace attune
