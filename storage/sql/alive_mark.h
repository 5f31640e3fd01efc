// Lets a process show the others that it lives and still works on something in a database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "storage/sql/connection.h"

namespace attune::sql {

// The byte of the import with the id n is kFirstImportMark + n, beyond every number of a turn
// (write_turn.h).
inline constexpr int64_t kFirstImportMark = int64_t{1} << 61;

// A locked byte of the file DATABASE-turns, or a lock of a connection to a server. A killed process
// leaves neither behind. A process id would be weaker: it is reused, and differs between
// containers.
class AliveMark {
 public:
  AliveMark() = default;  // Marks nothing.

  // Marks `byte` as in use until this is destroyed; several processes may. kUnavailable if the file
  // cannot be opened or locked: others would take the work for abandoned.
  static Result<AliveMark> Set(const std::string& database, int64_t byte);
  // Returns true if any process, including this one, has set the mark, or if that is unknown.
  static bool IsSet(const std::string& database, int64_t byte);

  // The same for the number `byte` on the server of `connection`, which must have no other user.
  // MariaDB lets one connection mark one number; another mark fails.
  static Result<AliveMark> Set(std::unique_ptr<Connection> connection, int64_t byte);
  static Result<bool> IsSet(Connection& connection, int64_t byte);

 private:
  explicit AliveMark(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace attune::sql
