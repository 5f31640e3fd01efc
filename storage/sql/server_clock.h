// The clock of a database's server, for deadlines that several machines must agree on.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "attune/base/status.h"

namespace attune::sql {

// Asks the server once a minute, and uses the steady clock of this machine between. So only the
// server's clock has to be right, and reading the time costs nothing. Thread-safe.
class ServerClock {
 public:
  // Offset of the server's clock from the steady one of this machine, in nanoseconds.
  using Ask = std::function<Result<int64_t>()>;

  // The server's time at `steady_ns` of the steady clock. Returns the error of `ask` if it never
  // succeeded; otherwise the last answer counts.
  Result<int64_t> UnixNs(int64_t steady_ns, const Ask& ask);

 private:
  std::mutex mutex_;  // Guards everything below.
  std::optional<int64_t> ahead_ns_;
  int64_t asked_ns_ = 0;
};

}  // namespace attune::sql
