#include "storage/sql/sqlite_settings.h"

#include <cstddef>
#include <iterator>

#include "attune/base/fork_gate.h"
#include "storage/sql/soci_headers.h"

namespace attune {

namespace {

// SQLite 3.40 takes some of them while it holds others that stand before them here, and never the
// other way round. So no deadlock is possible.
constexpr int kGlobalLocks[] = {
    SQLITE_MUTEX_STATIC_MAIN, SQLITE_MUTEX_STATIC_OPEN, SQLITE_MUTEX_STATIC_VFS1,
    SQLITE_MUTEX_STATIC_VFS2, SQLITE_MUTEX_STATIC_VFS3, SQLITE_MUTEX_STATIC_LRU,
    SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MEM};

void TakeGlobalLocks() {
  for (const int lock : kGlobalLocks) {
    sqlite_api::sqlite3_mutex_enter(sqlite_api::sqlite3_mutex_alloc(lock));
  }
}

void GiveGlobalLocksBack() {
  for (size_t i = std::size(kGlobalLocks); i-- > 0;) {
    sqlite_api::sqlite3_mutex_leave(sqlite_api::sqlite3_mutex_alloc(kGlobalLocks[i]));
  }
}

}  // namespace

void UseSqliteAlone() {
  (void)sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
  (void)sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void GuardSqliteForks() {
  // While it initialises itself SQLite holds one more lock.
  (void)sqlite_api::sqlite3_initialize();
  // Never destroyed: threads may still read at exit.
  [[maybe_unused]] static const auto* const watcher =
      new ForkWatcher([] { TakeGlobalLocks(); }, [](bool) { GiveGlobalLocksBack(); });
}

}  // namespace attune
