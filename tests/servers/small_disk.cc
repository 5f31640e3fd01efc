#include "tests/servers/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attune/base/unique_fd.h"
#include "tests/servers/server_process.h"

namespace attune {

Result<std::unique_ptr<SmallDisk>> SmallDisk::Mount(int64_t bytes) {
  std::unique_ptr<SmallDisk> disk(new SmallDisk);  // NOLINT: private.
  ATTUNE_ASSIGN_OR_RETURN(disk->folder_, NewServerFolder());
  const std::string options = fmt::format("size={}", bytes);
  if (::mount("tmpfs", disk->folder_.c_str(), "tmpfs", 0, options.c_str()) != 0) {
    return Unavailable(fmt::format("A disk that fills up needs root and the right to mount: {}.",
                                   std::strerror(errno)));
  }
  disk->is_mounted_ = true;
  ATTUNE_RETURN_IF_ERROR(GiveToServer(disk->folder_));
  return disk;
}

SmallDisk::~SmallDisk() {
  if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);
}

Status SmallDisk::Fill() {
  const UniqueFd file(::open(ballast().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  constexpr size_t kPiece = 4096;
  const std::vector<char> piece(kPiece);
  while (::write(file.get(), piece.data(), piece.size()) > 0) {
  }
  if (errno == ENOSPC) return Status::Ok();
  return Unavailable(fmt::format("Cannot fill '{}': {}.", folder_.string(), std::strerror(errno)));
}

void SmallDisk::Empty() {
  std::error_code ignored;
  std::filesystem::remove(ballast(), ignored);
}

}  // namespace attune
