// The database servers that this program talks to. docs/formats/schema.md, docs/fleet.md.
#pragma once

#include <memory>
#include <string>

#include "attune/base/status.h"
#include "storage/sql/database_server.h"

namespace attune {

// A sql::ServerAt: PostgreSQL ("postgresql://", "postgres://") and MariaDB ("mysql://",
// "mariadb://").
Result<std::unique_ptr<sql::DatabaseServer>> DatabaseServerAt(const std::string& url,
                                                              const sql::ServerPatience& patience);

}  // namespace attune
