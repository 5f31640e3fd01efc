// A file that other processes may write at any time, as memory that nobody else can change. Mapping
// it would be cheaper, but whoever cuts or overwrites a mapped file kills its readers (SIGBUS).
// Private to this module.
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

// Thread-safe. A file of up to kWholeBytes is read at once. Of a larger one a page is read when it
// is first asked for, and no descriptor is kept meanwhile: what is new under its name then is not
// mixed with what was read before.
class CopiedFile {
 public:
  static constexpr size_t kWholeBytes = size_t{4} << 20;

  // kNotFound, kUnavailable, kResourceExhausted. What is no regular file has no bytes.
  static Result<std::unique_ptr<const CopiedFile>> Open(const std::filesystem::path& path);
  // The same over bytes in memory.
  static std::unique_ptr<const CopiedFile> Over(std::string bytes);
  CopiedFile(const CopiedFile&) = delete;
  CopiedFile& operator=(const CopiedFile&) = delete;
  ~CopiedFile();

  size_t size() const { return size_; }
  // Those that were loaded; the others are 0.
  const char* data() const { return data_; }

  // Makes these bytes valid. kUnavailable if the file was replaced, changed or cut since it was
  // opened: what was loaded before stays. REQUIRES: they lie in the file.
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
  bool is_reserved_ = false;  // data_ is memory of its own, to be unmapped.
  mutable std::atomic<bool> is_whole_{true};
  mutable std::mutex mutex_;  // Held by whoever reads the file.
  // A bit for each page that is there.
  mutable std::unique_ptr<std::atomic<uint64_t>[]> loaded_;
};

}  // namespace attune
