// The clock of a database's server, by which deadlines go that several machines have to agree on.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "attune/base/status.h"

namespace attune::sql {

// Asks the server once a minute, and goes by the steady clock of this machine between, so that
// nobody's clock has to be right but the server's, and asking costs nothing. Thread-safe.
class ServerClock {
 public:
  // By how much the server's clock is before the steady one of this machine, in nanoseconds.
  using Ask = std::function<Result<int64_t>()>;

  // The moment by the server's clock when the steady one says `steady_ns`. What `ask` failed with,
  // if it has never been answered; else the last answer counts.
  Result<int64_t> UnixNs(int64_t steady_ns, const Ask& ask);

 private:
  std::mutex mutex_;  // Guards everything below.
  std::optional<int64_t> ahead_ns_;
  int64_t asked_ns_ = 0;
};

}  // namespace attune::sql
