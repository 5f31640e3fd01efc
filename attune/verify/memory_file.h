// Memory that processes share by sending its descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

// A mapped anonymous file. Writable until Seal(); after that no process, not even this one, can
// change or resize it. Move-only.
class MemoryFile {
 public:
  // Zero-filled. kResourceExhausted or kUnavailable with the system's reason.
  static Result<MemoryFile> Create(size_t size_bytes);
  // Maps all of `fd` (duplicated) read-only. kFailedPrecondition if it is not sealed: then another
  // process could truncate it below this one.
  static Result<MemoryFile> Map(int fd);
  // Maps all of `fd` (duplicated) to be written to. The owner seals it when this object is gone,
  // and this process trusts it not to truncate the file before. kFailedPrecondition if it is
  // sealed.
  static Result<MemoryFile> MapWritable(int fd);

  MemoryFile(MemoryFile&& other) noexcept { *this = std::move(other); }
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile() { Unmap(); }

  // From now on read-only.
  Status Seal();

  int fd() const { return fd_.get(); }
  std::span<const std::byte> bytes() const { return {memory_, size_bytes_}; }
  // REQUIRES: Seal() was not called, and this came from Create or MapWritable.
  std::span<std::byte> writable_bytes() { return {memory_, size_bytes_}; }

 private:
  explicit MemoryFile(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<MemoryFile> MapAll(UniqueFd fd, int protection);
  Status MapBytes(size_t size_bytes, int protection);
  void Unmap();

  UniqueFd fd_;
  std::byte* memory_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace attune
