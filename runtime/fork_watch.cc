#include "runtime/fork_watch.h"

#include <pthread.h>

#include "attune/base/program_threads.h"

namespace attune {

void WatchForks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    forks_since_watched.fetch_add(1, std::memory_order_relaxed);
    // Calls of other threads ended with the fork.
    replaced_thread_setting.store(0, std::memory_order_relaxed);
  });
  (void)registered;
}

}  // namespace attune
