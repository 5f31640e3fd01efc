// A database on a server, and what makes connections to it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune::sql {

class Engine;

// How a process deals with a server.
struct ServerPatience {
  std::chrono::milliseconds lock{5000};  // With another process that writes.
};

// Thread-safe.
class DatabaseServer {
 public:
  virtual ~DatabaseServer() = default;

  // Its URL, without a password.
  virtual const std::string& name() const = 0;
  // For one connection, which is not made yet.
  virtual std::unique_ptr<Engine> NewEngine() const = 0;
};

// The server of "postgresql://USER@HOST/DATABASE" or "mysql://USER@HOST/DATABASE"
// (docs/formats/schema.md). Nothing is connected. kInvalidArgument for a URL that cannot be read or
// holds a password, kUnsupported for another scheme.
using ServerAt = Result<std::unique_ptr<DatabaseServer>> (*)(const std::string& url,
                                                             const ServerPatience& patience);

}  // namespace attune::sql
