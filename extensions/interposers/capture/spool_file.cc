#include "extensions/interposers/capture/spool_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "attune/base/open_above_standard.h"
#include "extensions/interposers/capture/settings.h"
#include "extensions/interposers/preload/message.h"

namespace attune::capture {
namespace {

constexpr size_t kPartBytes = size_t{4} << 20;
constexpr const char* kTemporary = ".tmp";
constexpr mode_t kSpoolMode = 0600;

std::string PathOf(const std::string& name) { return TheSettings().spool + "/" + name; }

}  // namespace

void NoteEvent(std::string_view kernel, std::string_view word, std::string_view text) {
  const std::string path = PathOf(std::to_string(::getpid()) + kEventsEnding);
  const UniqueFd file = OpenAboveStandard(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, kSpoolMode);
  std::string line;
  for (const std::string_view part : {kernel, word, text}) {
    for (const char c : part) line += c == '\t' || c == '\n' ? ' ' : c;
    line += '\t';
  }
  line.back() = '\n';
  // One write, so that lines of several threads do not mix.
  const ssize_t written = file.valid() ? ::write(file.get(), line.data(), line.size()) : -1;
  // The write may fail because the disk is full, which is worth a report.
  if (written == static_cast<ssize_t>(line.size()) || word != kRefused) return;
  interposer::Say("Not captured: %s: %s.", std::string(kernel).c_str(), std::string(text).c_str());
}

SpoolFile::~SpoolFile() {
  if (fd_.valid()) ::unlink(path_.c_str());
}

bool SpoolFile::Fail(const std::string& what) {
  if (error_.empty()) error_ = what;
  return false;
}

bool SpoolFile::Create() {
  static std::atomic<unsigned> next = 0;
  path_ = PathOf(std::to_string(::getpid()) + "-" + std::to_string(next++) + kTemporary);
  fd_ = OpenAboveStandard(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, kSpoolMode);
  if (!fd_.valid()) return Fail("cannot create '" + path_ + "': " + std::strerror(errno));
  return Write(kSpoolMagic, sizeof kSpoolMagic);
}

bool SpoolFile::CheckFile() {
  if (!error_.empty()) return false;
  return fd_.is_ours() || Fail("the program has closed the descriptor of '" + path_ + "'");
}

bool SpoolFile::Write(const void* bytes, size_t size) {
  if (!CheckFile()) return false;
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(fd_.get(), at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail("cannot write '" + path_ + "': " + std::strerror(errno));
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool SpoolFile::Put(SpoolTag tag, uint32_t index, std::string_view content) {
  const SpoolRecord record = {tag, index, content.size()};
  return Write(&record, sizeof record) && Write(content.data(), content.size());
}

bool SpoolFile::PutBefore(uint32_t index, uint64_t size_bytes, const Reader& read, uint64_t& hash) {
  return PutBuffer({SpoolTag::kBefore, index, size_bytes}, read, hash);
}

bool SpoolFile::PutAfter(uint32_t index, uint64_t size_bytes, const Reader& read, uint64_t before,
                         bool& is_changed) {
  if (!CheckFile()) return false;
  const off_t begin = ::lseek(fd_.get(), 0, SEEK_CUR);
  uint64_t now = 0;
  if (!PutBuffer({SpoolTag::kAfter, index, size_bytes}, read, now)) return false;
  if (now != before) {
    is_changed = true;
  } else if (!CheckFile()) {
    return false;
  } else if (::ftruncate(fd_.get(), begin) != 0 || ::lseek(fd_.get(), begin, SEEK_SET) != begin) {
    return Fail("cannot shorten '" + path_ + "': " + std::strerror(errno));
  }
  return true;
}

bool SpoolFile::PutBuffer(const SpoolRecord& record, const Reader& read, uint64_t& hash) {
  const uint64_t size_bytes = record.size_bytes;
  if (!Write(&record, sizeof record)) return false;
  const size_t part_bytes = std::min<uint64_t>(kPartBytes, size_bytes);
  void* const part = std::malloc(std::max<size_t>(part_bytes, 1));
  if (part == nullptr) return Fail("there is no memory for a copy of a buffer");
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (uint64_t at = 0; at < size_bytes && error_.empty(); at += part_bytes) {
    const size_t size = std::min<uint64_t>(part_bytes, size_bytes - at);
    const std::string failed = read(at, size, part);
    if (!failed.empty()) Fail(failed);
    XXH3_64bits_update(&state, part, size);
    Write(part, size);
  }
  std::free(part);
  hash = XXH3_64bits_digest(&state);
  return error_.empty();
}

bool SpoolFile::Commit() {
  if (!Put(SpoolTag::kEnd, 0, "") || !CheckFile()) return false;
  const int closed = ::close(fd_.Release());
  const std::string whole = path_.substr(0, path_.size() - std::strlen(kTemporary)) + kLaunchEnding;
  if (closed == 0 && ::rename(path_.c_str(), whole.c_str()) == 0) return true;
  const int reason = errno;
  ::unlink(path_.c_str());
  return Fail("cannot keep '" + whole + "': " + std::strerror(reason));
}

}  // namespace attune::capture
