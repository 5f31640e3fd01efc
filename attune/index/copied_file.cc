#include "attune/index/copied_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/open_file.h"

namespace attune {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPagesOfWord = 64;

Status CannotRead(const std::filesystem::path& path, int error) {
  const std::string message =
      fmt::format("Cannot read the index '{}': {}.", path.string(), strerror(error));
  return error == ENOENT ? NotFound(message) : Unavailable(message);
}

Status Changed(const std::filesystem::path& path) {
  return Unavailable(fmt::format("The index '{}' was replaced, changed or cut since it was opened.",
                                 path.string()));
}

// Returns the number of bytes read, which is smaller than asked only at the end of the file.
ssize_t ReadAt(int fd, char* to, uint64_t offset, uint64_t size_bytes) {
  uint64_t done = 0;
  while (done < size_bytes) {
    const ssize_t got =
        ::pread(fd, to + done, size_bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  return static_cast<ssize_t>(done);
}

// Does not wait for a writer if the file is a pipe.
UniqueFd OpenToRead(const std::filesystem::path& path) {
  return OpenFile(path, O_RDONLY | O_NONBLOCK);
}

}  // namespace

CopiedFile::~CopiedFile() {
  if (is_reserved_) ::munmap(data_, size_);
}

CopiedFile::Stamp CopiedFile::StampOf(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return {};
  const bool is_file = S_ISREG(info.st_mode);
  return {info.st_dev, info.st_ino, is_file ? info.st_size : 0,
          int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::unique_ptr<const CopiedFile> CopiedFile::Over(std::string bytes) {
  std::unique_ptr<CopiedFile> file(new CopiedFile());
  file->owned_ = std::move(bytes);
  file->data_ = file->owned_.data();
  file->size_ = file->owned_.size();
  return file;
}

Result<std::unique_ptr<const CopiedFile>> CopiedFile::Open(const std::filesystem::path& path) {
  const UniqueFd fd = OpenToRead(path);
  if (!fd.valid()) return CannotRead(path, errno);
  std::unique_ptr<CopiedFile> file(new CopiedFile());
  file->path_ = path;
  file->stamp_ = StampOf(fd.get());
  file->size_ = static_cast<size_t>(file->stamp_.size_bytes);
  ATTUNE_RETURN_IF_ERROR(file->size_ <= kWholeBytes ? file->ReadWhole(fd.get()) : file->Reserve());
  return file;
}

Status CopiedFile::ReadWhole(int fd) {
  owned_.resize(size_);
  data_ = owned_.data();
  const ssize_t got = ReadAt(fd, data_, 0, size_);
  if (got < 0) return CannotRead(path_, errno);
  // If the file was cut meanwhile, its size contradicts its header.
  size_ = static_cast<size_t>(got);
  return Status::Ok();
}

Status CopiedFile::Reserve() {
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhausted(fmt::format("Cannot read the index '{}': {} bytes of memory: {}.",
                                         path_.string(), size_, strerror(errno)));
  }
  // Lookups touch scattered pages, so a large page would waste memory.
  ::madvise(memory, size_, MADV_NOHUGEPAGE);
  is_reserved_ = true;
  data_ = static_cast<char*>(memory);
  const uint64_t pages = (size_ + kPageBytes - 1) / kPageBytes;
  loaded_ = std::make_unique<std::atomic<uint64_t>[]>((pages + kPagesOfWord - 1) / kPagesOfWord);
  is_whole_ = false;
  return Status::Ok();
}

bool CopiedFile::IsLoaded(uint64_t page) const {
  const uint64_t word = loaded_[page / kPagesOfWord].load(std::memory_order_acquire);
  return ((word >> (page % kPagesOfWord)) & 1) != 0;
}

Status CopiedFile::LoadPages(uint64_t offset, uint64_t size_bytes) const {
  if (size_bytes == 0) return Status::Ok();
  const uint64_t first = offset / kPageBytes;
  const uint64_t last = (offset + size_bytes - 1) / kPageBytes;
  uint64_t missing = first;
  while (missing <= last && IsLoaded(missing)) ++missing;
  if (missing > last) return Status::Ok();
  const std::lock_guard<std::mutex> lock(mutex_);
  const UniqueFd fd = OpenToRead(path_);
  if (!fd.valid() || StampOf(fd.get()) != stamp_) return Changed(path_);
  return ReadMissing(fd.get(), missing, last);
}

// REQUIRES: mutex_ is held.
Status CopiedFile::ReadMissing(int fd, uint64_t first, uint64_t last) const {
  for (uint64_t page = first; page <= last;) {
    if (IsLoaded(page)) {
      ++page;
      continue;
    }
    uint64_t end = page + 1;
    while (end <= last && !IsLoaded(end)) ++end;
    const uint64_t offset = page * kPageBytes;
    const uint64_t size_bytes = std::min<uint64_t>(end * kPageBytes, size_) - offset;
    const ssize_t got = ReadAt(fd, data_ + offset, offset, size_bytes);
    if (got != static_cast<ssize_t>(size_bytes)) return Changed(path_);
    for (; page < end; ++page) {
      loaded_[page / kPagesOfWord].fetch_or(uint64_t{1} << (page % kPagesOfWord),
                                            std::memory_order_release);
    }
  }
  return Status::Ok();
}

Status CopiedFile::LoadAll() const {
  ATTUNE_RETURN_IF_ERROR(Load(0, size_));
  is_whole_.store(true, std::memory_order_release);
  return Status::Ok();
}

}  // namespace attune
