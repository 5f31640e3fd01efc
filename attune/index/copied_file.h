// Holds a file that other processes may write at any time in memory that they cannot change.
// Mapping would be cheaper, but a process that cuts or overwrites a mapped file kills its readers
// (SIGBUS). Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Thread-safe. Reads a file of up to kWholeBytes at once, and each page of a larger file on first
// use. Keeps no descriptor open. Never mixes pages of a newer file of the same name with pages that
// were read before.
class CopiedFile {
 public:
  static constexpr size_t kWholeBytes = size_t{4} << 20;

  // kNotFound, kUnavailable, kResourceExhausted. A path that is not a regular file has no bytes.
  static Result<std::unique_ptr<const CopiedFile>> Open(const std::filesystem::path& path);
  // Wraps bytes in memory.
  static std::unique_ptr<const CopiedFile> Over(std::string bytes);
  CopiedFile(const CopiedFile&) = delete;
  CopiedFile& operator=(const CopiedFile&) = delete;
  ~CopiedFile();

  size_t size() const { return size_; }
  // Only loaded bytes are valid; the others are 0.
  const char* data() const { return data_; }

  // Loads these bytes. kUnavailable if the file was replaced, changed or cut since it was opened;
  // bytes that were loaded before stay valid. REQUIRES: the bytes lie in the file.
  Status Load(uint64_t offset, uint64_t size_bytes) const {
    return is_whole_.load(std::memory_order_acquire) ? Status::Ok() : LoadPages(offset, size_bytes);
  }
  Status LoadAll() const;

 private:
  struct Stamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size_bytes = 0;
    int64_t changed_ns = 0;

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  CopiedFile() = default;
  static Stamp StampOf(int fd);
  Status ReadWhole(int fd);
  Status Reserve();
  Status LoadPages(uint64_t offset, uint64_t size_bytes) const;
  bool IsLoaded(uint64_t page) const;
  Status ReadMissing(int fd, uint64_t first, uint64_t last) const;

  std::filesystem::path path_;
  Stamp stamp_;
  size_t size_ = 0;
  char* data_ = nullptr;
  std::string owned_;         // The bytes of a small file.
  bool is_reserved_ = false;  // The destructor must unmap data_.
  mutable std::atomic<bool> is_whole_{true};
  mutable std::mutex mutex_;  // Held while pages are read.
  // One bit per page, set if the page is loaded.
  mutable std::unique_ptr<std::atomic<uint64_t>[]> loaded_;
};

}  // namespace attune
