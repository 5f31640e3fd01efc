// Keeps two processes from tuning one problem at the same time.
#pragma once

#include <optional>
#include <string>

#include "apps/attune/terminal.h"
#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/problem/problem.h"
#include "attune/tuner/problem_turns.h"

namespace attune {

// Held while it lives, and no longer than its process: a process that is killed lets go.
//
// The lock is one byte, chosen by the problem's hash, of the file DATABASE.flights: nothing has to
// be cleaned up. Two problems may share a byte, which makes one wait and nothing else.
class FlightLock {
 public:
  // `database` as OpenSqlStore takes it. Waits for a process that tunes `problem` into it now.
  static Result<FlightLock> Acquire(const std::string& database, const Problem& problem);
  // Nothing if another process tunes it now.
  static Result<std::optional<FlightLock>> TryAcquire(const std::string& database,
                                                      const Problem& problem);

 private:
  explicit FlightLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

// Turns by such locks. Says once that it waits. Borrows `err`.
class FlightTurns final : public ProblemTurns {
 public:
  FlightTurns(std::string database, Output& err) : database_(std::move(database)), err_(err) {}

  Result<std::unique_ptr<Turn>> TryTake(const Problem& problem) override;
  void Rest() override;

 private:
  const std::string database_;
  Output& err_;
  bool has_said_ = false;
};

}  // namespace attune
