// Keeps two processes from tuning one problem at the same time.
#pragma once

#include <string>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/problem/problem.h"

namespace attune {

// Held while it lives, and no longer than its process: a process that is killed lets go.
class FlightLock {
 public:
  // Waits for whoever tunes `problem` into `database` now. The lock is one byte, chosen by the
  // problem's hash, of the file DATABASE.flights: nothing has to be cleaned up. Two problems may
  // share a byte, which makes one wait and nothing else.
  static Result<FlightLock> Acquire(const std::string& database, const Problem& problem);

 private:
  explicit FlightLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace attune
