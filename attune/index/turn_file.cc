#include "attune/index/turn_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"

namespace attune {
namespace {

constexpr int64_t kPollMs = 10;

// The file with its lock, or an invalid descriptor if another one has it.
Result<UniqueFd> TryTake(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW;
  UniqueFd fd = OpenFile(path, kFlags, 0644);
  if (!fd.valid()) {
    // Other processes replaced the file twice meanwhile, so that OpenFile() cannot verify its
    // owner.
    if (errno == EBADF) return UniqueFd();
    return SystemError("create", path);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return UniqueFd();
    return SystemError("lock", path);
  }
  if (!IsNamed(fd.get(), path)) fd.Reset();
  return fd;
}

}  // namespace

TurnFile::TurnFile(std::filesystem::path path, std::filesystem::path new_path, UniqueFd fd)
    : path_(std::move(path)), new_path_(std::move(new_path)), fd_(std::move(fd)) {}

TurnFile::~TurnFile() {
  if (fd_.valid()) ::unlink(new_path_.c_str());
}

Result<TurnFile> TurnFile::Take(const std::filesystem::path& path, int64_t patience_ms) {
  std::filesystem::path new_path = path;
  new_path += ".new";
  for (int64_t waited_ms = 0;; waited_ms += kPollMs) {
    ATTUNE_ASSIGN_OR_RETURN(UniqueFd fd, TryTake(new_path));
    if (fd.valid()) return TurnFile(path, std::move(new_path), std::move(fd));
    if (waited_ms >= patience_ms) {
      return Unavailable(fmt::format(
          "Another process has been writing '{}' for {} ms; 'fuser {}' tells which. What it writes "
          "will do for now.",
          new_path.string(), patience_ms, new_path.string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
}

Status TurnFile::Replace(std::string_view content) {
  if (::ftruncate(fd_.get(), 0) != 0) return SystemError("empty", new_path_);
  ATTUNE_RETURN_IF_ERROR(WriteAll(fd_.get(), content, new_path_));
  if (::fsync(fd_.get()) != 0) return SystemError("sync", new_path_);
  if (::rename(new_path_.c_str(), path_.c_str()) != 0) return SystemError("replace", path_);
  fd_.Reset();
  return Status::Ok();
}

}  // namespace attune
