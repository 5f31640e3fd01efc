// Brings what was committed to the disk, without holding a lock meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>

#include "attune/base/status.h"

namespace attune::sql {

// Commits write to the log DATABASE-wal and leave it to the system when it gets to the disk; a
// commit counts when Sync has returned. So nobody waits for a disk to get the write lock, and one
// sync serves everybody who committed before it. Thread-safe.
class LogSync {
 public:
  explicit LogSync(const std::filesystem::path& database);

  // Returns when all that was committed before is on the disk. kResourceExhausted if that showed
  // that there is no space, kUnavailable for other failures: then it may be there or not.
  Status Sync();

 private:
  Status SyncNow();

  const std::filesystem::path log_;
  std::atomic<uint64_t> asked_{0};
  std::mutex mutex_;           // Guards what follows.
  uint64_t done_ = 0;          // Everybody who asked up to it was served.
  uint64_t synced_inode_ = 0;  // The log whose name is on the disk.
};

}  // namespace attune::sql
