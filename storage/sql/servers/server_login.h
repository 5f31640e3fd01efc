// Everything needed to connect to a database on a server.
#pragma once

#include <string>

#include "storage/sql/database_server.h"
#include "storage/sql/servers/server_url.h"

namespace attune::sql {

struct ServerLogin {
  ServerUrl url;
  std::string password;  // Empty: none is needed, or the client library finds it.
  ServerPatience patience;
};

}  // namespace attune::sql
