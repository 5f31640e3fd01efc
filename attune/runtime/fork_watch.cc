#include "attune/runtime/fork_watch.h"

#include <pthread.h>

namespace attune {

void WatchForks() {
  static const int registered = ::pthread_atfork(
      nullptr, nullptr, [] { forks_since_watched.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

}  // namespace attune
