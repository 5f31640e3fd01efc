// Turns to write to a database, in the order of arrival.
#pragma once

#include <chrono>
#include <string>

#include "attune/base/unique_fd.h"

namespace attune::sql {

// SQLite waits for its write lock with longer and longer sleeps, so that among several writers some
// wait for seconds while others come and go. A writer that takes a turn first finds that lock free.
// Turns only provide fairness: a writer that cannot have one proceeds without, and SQLite's lock
// decides.
class WriteTurn {
 public:
  // Waits for earlier writers, of any process and connection, for at most `patience`. The queue is
  // the file DATABASE-turns: the next number in its first eight bytes, and one locked byte for each
  // number that waits or writes. A process that is killed leaves no lock. Bytes behind the last
  // number are marks (alive_mark.h).
  static WriteTurn Take(const std::string& database, std::chrono::milliseconds patience);

 private:
  explicit WriteTurn(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;  // Invalid for a writer without a turn.
};

}  // namespace attune::sql
