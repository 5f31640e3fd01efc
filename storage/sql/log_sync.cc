#include "storage/sql/log_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"

namespace attune::sql {
namespace {

Status SyncFailure(const std::filesystem::path& log, int error) {
  const std::string message = fmt::format(
      "What was written to '{}' may not have reached the disk: {}. Run the same command again.",
      log.string(), std::strerror(error));
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return is_full ? ResourceExhausted(message) : Unavailable(message);
}

}  // namespace

LogSync::LogSync(const std::filesystem::path& database) : log_(database.string() + "-wal") {}

Status LogSync::Sync() {
  const uint64_t mine = ++asked_;
  const std::lock_guard lock(mutex_);
  if (done_ >= mine) return Status::Ok();
  // A later request may have committed too late for this sync.
  const uint64_t served = asked_.load();
  ATTUNE_RETURN_IF_ERROR(SyncNow());
  done_ = served;
  return Status::Ok();
}

// REQUIRES: mutex_ is held.
Status LogSync::SyncNow() {
  const UniqueFd log = OpenFile(log_, O_RDONLY);
  // Without a log, it was moved into the database, which syncs both.
  if (!log.valid()) return errno == ENOENT ? Status::Ok() : SyncFailure(log_, errno);
  if (::fdatasync(log.get()) != 0) return SyncFailure(log_, errno);
  struct stat info {};
  if (::fstat(log.get(), &info) != 0) return SyncFailure(log_, errno);
  if (info.st_ino == synced_inode_) return Status::Ok();
  const UniqueFd folder = OpenFile(log_.parent_path(), O_RDONLY | O_DIRECTORY);
  if (!folder.valid() || ::fsync(folder.get()) != 0) return SyncFailure(log_, errno);
  synced_inode_ = info.st_ino;
  return Status::Ok();
}

}  // namespace attune::sql
