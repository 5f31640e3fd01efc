// Whose turn it is to write to a database, in the order of arrival.
#pragma once

#include <chrono>
#include <string>

#include "attune/base/unique_fd.h"

namespace attune::sql {

// SQLite's own way to wait for its write lock is to sleep longer and longer, so that among several
// writers some wait for seconds while others come and go. Who takes a turn first finds that lock
// free. Turns are a matter of fairness and nothing else: whoever cannot have one goes without, and
// SQLite's lock decides.
class WriteTurn {
 public:
  // Waits for those who came before, in whatever process and through whatever connection, at most
  // `patience`. The queue is the file DATABASE-turns: the next number in its first eight bytes, and
  // one locked byte for each number that waits or writes. A process that is killed leaves no lock.
  // Bytes behind the last number are marks (alive_mark.h).
  static WriteTurn Take(const std::string& database, std::chrono::milliseconds patience);

 private:
  explicit WriteTurn(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;  // Invalid for who goes without.
};

}  // namespace attune::sql
