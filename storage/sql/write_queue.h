// The writers of one process, of which one at a time writes for several.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "attune/base/status.h"

namespace attune::sql {

// A write that waits for its turn.
struct QueuedWrite {
  std::function<Status()> body;  // A whole transaction.
  Status status;
  int64_t asked_ns = 0;  // Since an arbitrary moment.
  int64_t began_ns = 0;  // When it got the write lock.
  bool is_done = false;
};

// In the order of arrival. Thread-safe.
class WriteQueue {
 public:
  // Maximum number of writes in one turn among the processes.
  static constexpr size_t kMostPerTurn = 16;

  // Runs `write.body`, in this thread or another one, and returns when it has ended. The first
  // caller of an idle queue calls `lead`, which takes a turn among the processes and calls its
  // argument.
  void Run(QueuedWrite& write, const std::function<void(const std::function<void()>&)>& lead);

 private:
  void RunNext();

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::deque<QueuedWrite*> waiting_;
  bool has_leader_ = false;
};

}  // namespace attune::sql
