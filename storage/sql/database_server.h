// A database on a server, and the factory of its connections.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune::sql {

class Engine;

// Timeouts of a process for a server.
struct ServerPatience {
  std::chrono::milliseconds lock{5000};  // Wait for another process that writes.
};

// Thread-safe.
class DatabaseServer {
 public:
  virtual ~DatabaseServer() = default;

  // Its URL, without a password.
  virtual const std::string& name() const = 0;
  // For one connection, which is not open yet.
  virtual std::unique_ptr<Engine> NewEngine() const = 0;
};

// The server of "postgresql://USER@HOST/DATABASE" or "mysql://USER@HOST/DATABASE"
// (docs/formats/schema.md). Does not connect. kInvalidArgument for a URL that cannot be read or
// holds a password, kUnsupported for another scheme.
using ServerAt = Result<std::unique_ptr<DatabaseServer>> (*)(const std::string& url,
                                                             const ServerPatience& patience);

}  // namespace attune::sql
