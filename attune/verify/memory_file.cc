#include "attune/verify/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/open_file.h"

namespace attune {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

Status SystemError(const std::string& doing) {
  const int code = errno;
  const std::string message =
      fmt::format("{} failed: {}.", doing, std::generic_category().message(code));
  return code == ENOMEM || code == ENOSPC ? ResourceExhausted(message) : Unavailable(message);
}

Result<UniqueFd> Duplicate(int fd) {
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!own.valid()) return SystemError(fmt::format("Duplicating descriptor {}", fd));
  return own;
}

}  // namespace

Result<MemoryFile> MemoryFile::Create(size_t size_bytes) {
  UniqueFd fd =
      AboveStandard(UniqueFd(::memfd_create("attune-problem", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!fd.valid()) return SystemError("Creating a memory file");
  if (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return SystemError(fmt::format("Growing a memory file to {} bytes", size_bytes));
  }
  MemoryFile file(std::move(fd));
  ATTUNE_RETURN_IF_ERROR(file.MapBytes(size_bytes, PROT_READ | PROT_WRITE));
  return file;
}

Result<MemoryFile> MemoryFile::Map(int fd) {
  ATTUNE_ASSIGN_OR_RETURN(UniqueFd own, Duplicate(fd));
  const int seals = ::fcntl(own.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return FailedPrecondition(fmt::format("Descriptor {} is not a sealed memory file.", fd));
  }
  return MapAll(std::move(own), PROT_READ);
}

Result<MemoryFile> MemoryFile::MapWritable(int fd) {
  ATTUNE_ASSIGN_OR_RETURN(UniqueFd own, Duplicate(fd));
  const int seals = ::fcntl(own.get(), F_GET_SEALS);
  if (seals != 0) {
    return FailedPrecondition(
        fmt::format("Descriptor {} is not a memory file that can still be written to.", fd));
  }
  return MapAll(std::move(own), PROT_READ | PROT_WRITE);
}

Result<MemoryFile> MemoryFile::MapAll(UniqueFd fd, int protection) {
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) {
    return SystemError(fmt::format("Reading the size of {}", fd.get()));
  }
  MemoryFile file(std::move(fd));
  ATTUNE_RETURN_IF_ERROR(file.MapBytes(static_cast<size_t>(status.st_size), protection));
  return file;
}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  fd_ = std::move(other.fd_);
  memory_ = std::exchange(other.memory_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

Status MemoryFile::Seal() {
  const size_t size_bytes = size_bytes_;
  // The kernel refuses to seal memory that is mapped writable.
  Unmap();
  if (::fcntl(fd_.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    return SystemError("Sealing a memory file");
  }
  return MapBytes(size_bytes, PROT_READ);
}

Status MemoryFile::MapBytes(size_t size_bytes, int protection) {
  void* memory = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) return SystemError(fmt::format("Mapping {} bytes", size_bytes));
  memory_ = static_cast<std::byte*>(memory);
  size_bytes_ = size_bytes;
  return Status::Ok();
}

void MemoryFile::Unmap() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
  memory_ = nullptr;
  size_bytes_ = 0;
}

}  // namespace attune
