// Connections to PostgreSQL.
#pragma once

#include <memory>

#include "storage/sql/engine.h"
#include "storage/sql/servers/server_login.h"

namespace attune::sql {

// For one connection, which is not made yet.
std::unique_ptr<Engine> NewPostgresEngine(const ServerLogin& login);

}  // namespace attune::sql
