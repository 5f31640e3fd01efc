// How a process tells the others that it lives and is still at something in a database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "storage/sql/connection.h"

namespace attune::sql {

// The byte of the import with the id n is kFirstImportMark + n, behind every number of a turn
// (write_turn.h).
inline constexpr int64_t kFirstImportMark = int64_t{1} << 61;

// A locked byte of the file DATABASE-turns, or a lock that a connection to a server has, which no
// process that is killed leaves behind. A process id would say less: it is given anew, and is
// another one in another container.
class AliveMark {
 public:
  AliveMark() = default;  // Of nothing.

  // Marks `byte` as being worked at until this is gone; any number may. kUnavailable where the file
  // cannot be opened or locked: others would take the work for given up.
  static Result<AliveMark> Set(const std::string& database, int64_t byte);
  // Whether anybody has it, this process included. True also where nothing can tell.
  static bool IsSet(const std::string& database, int64_t byte);

  // The same for the number `byte` on the server of `connection`, which nobody else uses. MariaDB
  // lets one connection mark a number, and the mark of any other fails.
  static Result<AliveMark> Set(std::unique_ptr<Connection> connection, int64_t byte);
  static Result<bool> IsSet(Connection& connection, int64_t byte);

 private:
  explicit AliveMark(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace attune::sql
