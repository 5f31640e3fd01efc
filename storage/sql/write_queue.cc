#include "storage/sql/write_queue.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "attune/base/steady_time.h"

namespace attune::sql {
namespace {

// An exception of one thread's write must not end another thread.
Status Ended(const std::function<Status()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Internal(error.what());
  }
}

}  // namespace

void WriteQueue::Run(QueuedWrite& write,
                     const std::function<void(const std::function<void()>&)>& lead) {
  write.asked_ns = SteadyNowNs();
  std::unique_lock lock(mutex_);
  waiting_.push_back(&write);
  while (!write.is_done) {
    if (has_leader_) {
      changed_.wait(lock);
      continue;
    }
    has_leader_ = true;
    lock.unlock();
    lead([this] { RunNext(); });
    lock.lock();
    has_leader_ = false;
    changed_.notify_all();
  }
}

void WriteQueue::RunNext() {
  std::vector<QueuedWrite*> writes;
  {
    const std::lock_guard lock(mutex_);
    const auto count = static_cast<ptrdiff_t>(std::min(waiting_.size(), kMostPerTurn));
    writes.assign(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  }
  for (QueuedWrite* write : writes) {
    write->began_ns = SteadyNowNs();
    write->status = Ended(write->body);
    const std::lock_guard lock(mutex_);
    write->is_done = true;
  }
}

}  // namespace attune::sql
