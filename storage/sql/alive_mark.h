// How a process tells the others that it lives and is still at something in a database.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune::sql {

// The byte of the import with the id n is kFirstImportMark + n, behind every number of a turn
// (write_turn.h).
inline constexpr int64_t kFirstImportMark = int64_t{1} << 61;

// A locked byte of the file DATABASE-turns, which no process that is killed leaves behind. A
// process id would say less: it is given anew, and is another one in another container.
class AliveMark {
 public:
  AliveMark() = default;  // Of nothing.

  // Marks `byte` as being worked at until this is gone; any number may. kUnavailable where the file
  // cannot be opened or locked: others would take the work for given up.
  static Result<AliveMark> Set(const std::string& database, int64_t byte);
  // Whether anybody has it, this process included. True also where nothing can tell.
  static bool IsSet(const std::string& database, int64_t byte);

 private:
  explicit AliveMark(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
};

}  // namespace attune::sql
