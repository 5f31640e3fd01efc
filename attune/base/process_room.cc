#include "attune/base/process_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "attune/base/open_above_standard.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

constexpr size_t kMostPathBytes = 4096;
// Enough for a dozen lines, each with a path.
constexpr size_t kMostMembershipBytes = 16384;
constexpr int kMostDescriptors = 64;

uint64_t Smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
uint64_t LeftOf(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

// Reads up to `size` - 1 bytes of `folder`/`name` and appends a 0. False if it reads nothing.
bool ReadText(const char* folder, const char* name, char* text, size_t size) {
  char path[kMostPathBytes];
  const int length = std::snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return false;
  const UniqueFd file = OpenAboveStandard(path, O_RDONLY);
  size_t used = 0;
  while (used + 1 < size && file.is_ours()) {
    const ssize_t count = ::read(file.get(), text + used, size - 1 - used);
    if (count <= 0) break;
    used += static_cast<size_t>(count);
  }
  text[used] = '\0';
  return used > 0;
}

// The number in a file; kUnlimitedRoom for "max" or a missing file.
uint64_t NumberIn(const char* folder, const char* name) {
  char text[64];
  if (!ReadText(folder, name, text, sizeof text)) return kUnlimitedRoom;
  char* end = text;
  const uint64_t value = std::strtoull(text, &end, 10);
  return end == text ? kUnlimitedRoom : value;
}

// The number after `field` at the beginning of a line of `text`; 0 if absent.
uint64_t FieldOf(const char* text, const char* field) {
  const size_t length = std::strlen(field);
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (std::strncmp(line, field, length) == 0) return std::strtoull(line + length, nullptr, 10);
    const char* end = std::strchr(line, '\n');
    line = end == nullptr ? nullptr : end + 1;
  }
  return 0;
}

// The room that one cgroup leaves of a resource.
using RoomOfGroup = uint64_t (*)(const char* folder, bool is_version2);

uint64_t ThreadsOfGroup(const char* folder, bool) {
  const uint64_t limit = NumberIn(folder, "pids.max");
  if (limit == kUnlimitedRoom) return kUnlimitedRoom;
  const uint64_t used = NumberIn(folder, "pids.current");
  return used == kUnlimitedRoom ? 0 : LeftOf(limit, used);
}

uint64_t MemoryOfGroup(const char* folder, bool is_version2) {
  // Above memory.high the kernel kills nothing, but every allocation waits.
  const uint64_t limit =
      is_version2 ? Smaller(NumberIn(folder, "memory.max"), NumberIn(folder, "memory.high"))
                  : NumberIn(folder, "memory.limit_in_bytes");
  // Version 1 expresses no limit as the largest number of whole pages.
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;
  if (limit >= kNoLimit) return kUnlimitedRoom;
  const uint64_t used = NumberIn(folder, is_version2 ? "memory.current" : "memory.usage_in_bytes");
  if (used == kUnlimitedRoom) return 0;
  char statistics[kMostPathBytes];
  if (!ReadText(folder, "memory.stat", statistics, sizeof statistics)) *statistics = '\0';
  const uint64_t reclaimable =
      FieldOf(statistics, is_version2 ? "inactive_file " : "total_inactive_file ");
  return LeftOf(limit, LeftOf(used, reclaimable));
}

// No room where the kernel ends the processes of the group together.
uint64_t NoneIfEndedTogether(const char* folder, bool is_version2) {
  const bool is_ended = is_version2 && NumberIn(folder, "memory.oom.group") == 1;
  return is_ended ? 0 : kUnlimitedRoom;
}

// The minimum over the group `path` beneath the mount `top` and its ancestors, whose limits bind
// it.
uint64_t RoomUpwards(const char* top, const char* path, bool is_version2, RoomOfGroup room_of) {
  char folder[kMostPathBytes];
  const int length = std::snprintf(folder, sizeof folder, "%s%s", top, path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof folder) return 0;
  const size_t top_length = std::strlen(top);
  uint64_t room = kUnlimitedRoom;
  while (true) {
    room = Smaller(room, room_of(folder, is_version2));
    char* slash = std::strrchr(folder, '/');
    if (slash == nullptr || static_cast<size_t>(slash - folder) < top_length) return room;
    *slash = '\0';
  }
}

bool Names(const char* controllers, const char* end, const char* wanted) {
  const size_t length = std::strlen(wanted);
  while (controllers < end) {
    const char* comma = controllers;
    while (comma < end && *comma != ',') ++comma;
    if (static_cast<size_t>(comma - controllers) == length &&
        std::strncmp(controllers, wanted, length) == 0) {
      return true;
    }
    controllers = comma + 1;
  }
  return false;
}

// `line` is "id:controllers:path"; version 2 names no controllers.
uint64_t RoomOfMembership(const char* cgroups, const char* line, const char* controller,
                          RoomOfGroup room_of) {
  const char* first = std::strchr(line, ':');
  const char* second = first == nullptr ? nullptr : std::strchr(first + 1, ':');
  if (second == nullptr) return kUnlimitedRoom;
  const bool is_version2 = second == first + 1;
  if (!is_version2 && !Names(first + 1, second, controller)) return kUnlimitedRoom;
  uint64_t room = kUnlimitedRoom;
  // If version 1 is mounted, version 2 has a folder of its own.
  for (const char* mount : {is_version2 ? "" : controller, is_version2 ? "unified" : nullptr}) {
    if (mount == nullptr) continue;
    char top[kMostPathBytes];
    const int length =
        std::snprintf(top, sizeof top, "%s%s%s", cgroups, *mount == '\0' ? "" : "/", mount);
    if (length < 0 || static_cast<size_t>(length) >= sizeof top) return 0;
    room = Smaller(room, RoomUpwards(top, second + 1, is_version2, room_of));
  }
  return room;
}

uint64_t RoomInCgroups(const RoomSources& sources, const char* controller, RoomOfGroup room_of) {
  char memberships[kMostMembershipBytes];
  if (!ReadText(sources.proc, "self/cgroup", memberships, sizeof memberships)) {
    // Unlimited on a system without cgroups; 0 if /proc is unreadable.
    return ReadText(sources.proc, "self/statm", memberships, sizeof memberships) ? kUnlimitedRoom
                                                                                 : 0;
  }
  uint64_t room = kUnlimitedRoom;
  for (char* line = memberships; line != nullptr && *line != '\0';) {
    char* end = std::strchr(line, '\n');
    if (end != nullptr) *end = '\0';
    room = Smaller(room, RoomOfMembership(sources.cgroups, line, controller, room_of));
    line = end == nullptr ? nullptr : end + 1;
  }
  return room;
}

uint64_t LimitOf(__rlimit_resource resource) {
  rlimit limit;
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimitedRoom;
  return limit.rlim_cur;
}

// Threads of the whole system, from a line like "0.2 0.1 0.1 1/234 4711". kUnlimitedRoom if
// unknown.
uint64_t ThreadsOfSystem(const char* proc) {
  char text[128];
  if (!ReadText(proc, "loadavg", text, sizeof text)) return kUnlimitedRoom;
  const char* slash = std::strchr(text, '/');
  return slash == nullptr ? kUnlimitedRoom : std::strtoull(slash + 1, nullptr, 10);
}

// Threads of this user that this process can see.
uint64_t ThreadsOfUser(const char* proc) {
  UniqueFd opened = OpenAboveStandard(proc, O_RDONLY | O_DIRECTORY);
  DIR* folder = opened.valid() ? ::fdopendir(opened.get()) : nullptr;
  if (folder == nullptr) return kUnlimitedRoom;
  (void)opened.Release();
  uint64_t threads = 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (*entry->d_name < '1' || *entry->d_name > '9') continue;
    char name[300];
    std::snprintf(name, sizeof name, "%s/status", entry->d_name);
    char text[kMostPathBytes];
    if (!ReadText(proc, name, text, sizeof text)) continue;
    if (FieldOf(text, "Uid:") == ::getuid()) threads += FieldOf(text, "Threads:");
  }
  ::closedir(folder);
  return threads;
}

// One read gives the thread count of the system, an upper bound for one user. The user's own
// threads are counted only if that bound leaves little room.
uint64_t RoomByUserLimit(const char* proc) {
  const uint64_t limit = LimitOf(RLIMIT_NPROC);
  if (limit == kUnlimitedRoom) return kUnlimitedRoom;
  constexpr uint64_t kPlenty = 16 * kThreadReserve;
  const uint64_t room = LeftOf(limit, ThreadsOfSystem(proc));
  return room >= kPlenty ? room : LeftOf(limit, ThreadsOfUser(proc));
}

uint64_t RoomInAddressSpace(const char* proc) {
  const uint64_t space = LimitOf(RLIMIT_AS);
  const uint64_t data = LimitOf(RLIMIT_DATA);
  if (space == kUnlimitedRoom && data == kUnlimitedRoom) return kUnlimitedRoom;
  char text[128];
  if (!ReadText(proc, "self/statm", text, sizeof text)) return 0;
  // Pages: size, resident, shared, text, 0, data and stack.
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  char* next = text;
  uint64_t pages[6] = {};
  for (uint64_t& value : pages) value = std::strtoull(next, &next, 10);
  const uint64_t in_space = space == kUnlimitedRoom ? space : LeftOf(space, pages[0] * page_bytes);
  const uint64_t in_data = data == kUnlimitedRoom ? data : LeftOf(data, pages[5] * page_bytes);
  return Smaller(in_space, in_data);
}

// Under mlockall(MCL_FUTURE) every new mapping counts towards RLIMIT_MEMLOCK. Nothing but a mapping
// tells: one as large as the limit is refused then. Without access to it, no page is made.
uint64_t RoomToLock(const char* proc, uint64_t in_space) {
  const uint64_t limit = LimitOf(RLIMIT_MEMLOCK);
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (limit >= kUnlimitedRoom - page_bytes) return kUnlimitedRoom;
  const size_t bytes = limit - limit % page_bytes + page_bytes;
  // The mapping must not take space that another thread is about to need.
  if (bytes > in_space / 2) return kUnlimitedRoom;
  void* mapping =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping != MAP_FAILED) {
    ::munmap(mapping, bytes);
    return kUnlimitedRoom;
  }
  if (errno != EAGAIN) return kUnlimitedRoom;
  char text[kMostPathBytes];
  if (!ReadText(proc, "self/status", text, sizeof text)) return 0;
  constexpr uint64_t kKilobyte = 1024;
  return LeftOf(limit, FieldOf(text, "VmLck:") * kKilobyte);
}

// True if the process has a filter while this library is loaded, or if that is unknown. Reads a
// file: the dynamic linker has just read files, but prctl may be forbidden.
bool HadCallFilter() {
  const int kept = errno;
  char text[kMostPathBytes];
  const bool is_known = ReadText("/proc", "self/status", text, sizeof text);
  errno = kept;
  // A process of very many groups has it beyond the end of `text`.
  const char* line = is_known ? std::strstr(text, "\nSeccomp:") : nullptr;
  return line == nullptr || FieldOf(line + 1, "Seccomp:") != SECCOMP_MODE_DISABLED;
}

const bool had_call_filter = HadCallFilter();

}  // namespace

uint64_t ThreadRoom(const RoomSources& sources) {
  const uint64_t used = ThreadsOfSystem(sources.proc);
  const uint64_t in_system = used == kUnlimitedRoom
                                 ? kUnlimitedRoom
                                 : LeftOf(NumberIn(sources.proc, "sys/kernel/threads-max"), used);
  return Smaller(Smaller(in_system, RoomByUserLimit(sources.proc)),
                 RoomInCgroups(sources, "pids", ThreadsOfGroup));
}

uint64_t AddressRoom(const RoomSources& sources) {
  const uint64_t in_space = RoomInAddressSpace(sources.proc);
  return Smaller(in_space, RoomToLock(sources.proc, in_space));
}

bool HasAddressLimit() {
  return LimitOf(RLIMIT_AS) != kUnlimitedRoom || LimitOf(RLIMIT_DATA) != kUnlimitedRoom;
}

bool EndsTogether(const RoomSources& sources) {
  return RoomInCgroups(sources, "memory", NoneIfEndedTogether) == 0;
}

uint64_t MemoryRoom(const RoomSources& sources) {
  return RoomInCgroups(sources, "memory", MemoryOfGroup);
}

bool HasDescriptors(int count) {
  const UniqueFd first = OpenAboveStandard("/", O_PATH);
  UniqueFd others[kMostDescriptors];
  int made = first.valid() ? 1 : 0;
  while (made > 0 && made < count && made < kMostDescriptors) {
    others[made].Reset(::fcntl(first.get(), F_DUPFD_CLOEXEC, kFirstAboveStandard));
    if (!others[made].valid()) break;
    ++made;
  }
  return made >= count;
}

bool HasNewCallFilter() {
  if (had_call_filter) return false;
  const int kept = errno;
  const bool has_filter = ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
  errno = kept;
  return has_filter;
}

const char* ScarceForLoading(const RoomSources& sources) {
  if (!HasDescriptors(kDescriptorReserve)) return "open files (ulimit -n)";
  if (AddressRoom(sources) < kAddressReserveBytes) return "address space (ulimit -v, -d or -l)";
  if (MemoryRoom(sources) < kMemoryReserveBytes) return "memory of the cgroup (memory.max)";
  return nullptr;
}

}  // namespace attune
