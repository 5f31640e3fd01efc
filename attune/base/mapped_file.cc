#include "attune/base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attune/base/open_above_standard.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// The kernel shows no longer path than this.
constexpr size_t kMaxLine = 4096 + 256;
constexpr char kDeleted[] = " (deleted)";

// The root of the process when this code was loaded. In another root the kernel's paths name other
// files.
struct Root {
  bool is_known = false;
  dev_t device = 0;
  ino_t inode = 0;

  static Root Now() {
    struct stat info;
    if (::stat("/", &info) != 0) return {};
    return {true, info.st_dev, info.st_ino};
  }
  bool IsSameAs(const Root& other) const {
    return is_known && other.is_known && device == other.device && inode == other.inode;
  }
};

constinit Root first_root;

// Runs before other constructors, which may ask for paths.
constexpr int kBeforeOthers = 101;
[[gnu::constructor(kBeforeOthers)]] void RememberRoot() { first_root = Root::Now(); }

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint64_t offset = 0;
  dev_t device = 0;
  uint64_t inode = 0;
  const char* path = nullptr;  // Points into the line.
};

// Parses "7f12-7f13 r--p 00000000 08:01 1234 /usr/lib/libx.so". False if the line has no path, so
// no file is mapped.
bool ReadLine(char* line, Mapping& mapping) {
  char* at = line;
  mapping.begin = ::strtoull(at, &at, 16);
  if (*at != '-') return false;
  mapping.end = ::strtoull(at + 1, &at, 16);
  at = ::strchr(at + 1, ' ');  // After the permissions.
  if (at == nullptr) return false;
  mapping.offset = ::strtoull(at, &at, 16);
  if (*at != ' ') return false;
  const auto major = static_cast<unsigned>(::strtoul(at, &at, 16));
  if (*at != ':') return false;
  mapping.device = makedev(major, static_cast<unsigned>(::strtoul(at + 1, &at, 16)));
  if (*at != ' ') return false;
  mapping.inode = ::strtoull(at, &at, 10);
  while (*at == ' ') ++at;
  mapping.path = at;
  return *at == '/';
}

// Calls `take` with each mapping of a file until `take` returns true.
template <class Take>
bool VisitMappings(const UniqueFd& maps, const Take& take) {
  char line[kMaxLine];
  size_t used = 0;
  bool is_skipping = false;  // The rest of a line that is too long.
  for (;;) {
    if (!maps.is_ours()) return false;
    const ssize_t got = ::read(maps.get(), line + used, sizeof line - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    used += static_cast<size_t>(got);
    size_t begin = 0;
    while (auto* end = static_cast<char*>(::memchr(line + begin, '\n', used - begin))) {
      *end = '\0';
      Mapping mapping;
      if (!is_skipping && ReadLine(line + begin, mapping) && take(mapping)) return true;
      is_skipping = false;
      begin = static_cast<size_t>(end - line) + 1;
    }
    used -= begin;
    ::memmove(line, line + begin, used);
    if (used < sizeof line) continue;
    is_skipping = true;
    used = 0;
  }
}

// True if the file and the mapping of its beginning start with the same bytes. They hold the header
// of a program or library, which does not change in memory.
bool BeginsAlike(const char* path, const char* memory, size_t size) {
  char bytes[512];
  const size_t wanted = size < sizeof bytes ? size : sizeof bytes;
  const UniqueFd fd = OpenAboveStandard(path, O_RDONLY);
  if (!fd.is_ours()) return false;
  const ssize_t got = ::read(fd.get(), bytes, wanted);
  return got == static_cast<ssize_t>(wanted) && ::memcmp(bytes, memory, wanted) == 0;
}

// True if stat() reports another device or inode than the kernel shows for a mapping. Overlayfs
// shows those of a lower layer; Btrfs shows those of the whole file system.
bool HasOtherNumbers(const char* path) {
  struct statfs system;
  return ::statfs(path, &system) == 0 &&
         (system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC);
}

bool IsMapped(const char* path, const Mapping& found, const Mapping& head) {
  struct stat info;
  if (::stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_ino == found.inode && info.st_dev == found.device) return true;
  return HasOtherNumbers(path) && head.begin != 0 &&
         BeginsAlike(path, reinterpret_cast<const char*>(head.begin), head.end - head.begin);
}

bool EndsAsDeleted(const char* path) {
  const size_t length = ::strlen(path);
  constexpr size_t kSuffix = sizeof kDeleted - 1;
  return length > kSuffix && ::strcmp(path + length - kSuffix, kDeleted) == 0;
}

}  // namespace

MappedFile FindMappedFile(const void* address, char* path, size_t size) {
  const UniqueFd maps = OpenAboveStandard("/proc/self/maps", O_RDONLY);
  if (!maps.valid()) {
    const bool is_full = errno == EMFILE || errno == ENFILE;
    return is_full ? MappedFile::kNoDescriptor : MappedFile::kNoProc;
  }
  if (!first_root.IsSameAs(Root::Now())) return MappedFile::kOtherRoot;
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  Mapping head;  // The last mapping at offset 0.
  uint64_t head_inode = 0;
  Mapping found;
  const bool is_found = VisitMappings(maps, [&](const Mapping& mapping) {
    if (mapping.offset == 0) {
      head = mapping;
      head_inode = mapping.inode;
    }
    if (wanted < mapping.begin || wanted >= mapping.end) return false;
    found = mapping;
    if (::strlen(mapping.path) >= size) {
      found.inode = 0;
    } else {
      ::strcpy(path, mapping.path);
    }
    return true;
  });
  if (!is_found || found.inode == 0) return MappedFile::kNone;
  if (head_inode != found.inode) head.begin = 0;
  // The name of an existing file may end in " (deleted)".
  struct stat info;
  if (EndsAsDeleted(path) && !(::stat(path, &info) == 0 && info.st_ino == found.inode)) {
    return MappedFile::kReplaced;
  }
  return IsMapped(path, found, head) ? MappedFile::kFound : MappedFile::kReplaced;
}

const char* Reason(MappedFile failure) {
  switch (failure) {
    case MappedFile::kNoProc:
      return "/proc is not mounted";
    case MappedFile::kNoDescriptor:
      return "no file can be opened any more (ulimit -n)";
    case MappedFile::kReplaced:
      return "its file was deleted or replaced after it was loaded";
    case MappedFile::kOtherRoot:
      return "the process has changed its root folder since it was loaded";
    case MappedFile::kFound:
    case MappedFile::kNone:
      break;
  }
  return "the kernel does not report its path";
}

}  // namespace attune
