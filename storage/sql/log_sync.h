// Brings committed data to the disk without holding a lock meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>

#include "attune/base/status.h"

namespace attune::sql {

// Commits write to the log DATABASE-wal and leave it to the system when it gets to the disk; a
// commit counts when Sync has returned. So no writer waits for a disk to get the write lock, and
// one sync serves every writer that committed before it. Thread-safe.
class LogSync {
 public:
  explicit LogSync(const std::filesystem::path& database);

  // Returns when all earlier commits are on the disk. kResourceExhausted if the disk is full,
  // kUnavailable for other failures: then their state is unknown.
  Status Sync();

 private:
  Status SyncNow();

  const std::filesystem::path log_;
  std::atomic<uint64_t> asked_{0};
  std::mutex mutex_;           // Guards the members below.
  uint64_t done_ = 0;          // Requests up to this number are synced.
  uint64_t synced_inode_ = 0;  // Inode of the log whose directory entry is synced.
};

}  // namespace attune::sql
