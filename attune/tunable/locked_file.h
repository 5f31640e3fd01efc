// A file that many processes append to and rewrite: every access is under an exclusive lock, so
// that no line is torn or lost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

// The guarantee that a write waits for.
enum class Durability {
  kProcessCrash,  // The kernel has it: it survives the death of the process.
  kPowerLoss,     // The disk has it.
};

// Holds the lock of one file until it goes. Not thread-safe; two of one process exclude each other
// as those of two processes do.
class LockedFile {
 public:
  static constexpr int64_t kDefaultTimeoutMs = 10'000;

  // Creates the file (mode 0644 less the umask) if it does not exist, and waits for its lock at
  // most `timeout_ms`: kDeadlineExceeded. A device or a pipe has no lock and no content and is
  // written to.
  static Result<LockedFile> Open(const std::filesystem::path& path,
                                 int64_t timeout_ms = kDefaultTimeoutMs);

  // The whole content.
  Result<std::string> Read() const;
  int64_t size_bytes() const;
  ino_t inode() const { return inode_; }

  // Appends whole lines by one write; if the last line lacks its end, because its writer died or a
  // user edited it, it is ended first. On failure, a full disk for instance, the file is cut back
  // to its previous size.
  Status Append(std::string_view lines, Durability durability);

  // Makes `content` the whole content by rename: readers see the old file or the new one. The lock
  // stays with the old file, so this object cannot be used afterwards.
  Status Replace(std::string_view content) &&;

 private:
  LockedFile(UniqueFd fd, std::filesystem::path path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  Status WriteAtEnd(std::string_view bytes, int64_t old_size);

  UniqueFd fd_;
  std::filesystem::path path_;
  ino_t inode_ = 0;
  bool is_regular_ = true;
};

}  // namespace attune
