#include "attune/verify/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

size_t PhysicalBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::numeric_limits<size_t>::max();
  return static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
}

// "max", which version 2 writes for no limit, is not a number; version 1 writes a huge one.
size_t LimitIn(const fs::path& path) {
  uint64_t limit_bytes = 0;
  if (!(std::ifstream(path) >> limit_bytes)) return std::numeric_limits<size_t>::max();
  return static_cast<size_t>(limit_bytes);
}

// The smallest limit of `group` and of every group above it. In a container the groups above may be
// invisible and the path one of the host's, so that only some of these files exist.
size_t LimitOfGroups(const fs::path& hierarchy, fs::path group, const char* file) {
  size_t limit_bytes = LimitIn(hierarchy / file);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    limit_bytes = std::min(limit_bytes, LimitIn(hierarchy / group / file));
  }
  return limit_bytes;
}

bool ListsMemory(std::string_view controllers) {
  const std::string listed = fmt::format(",{},", controllers);
  return listed.find(",memory,") != std::string::npos;
}

}  // namespace

size_t MemoryLimitBytes(const fs::path& root) {
  size_t limit_bytes = PhysicalBytes();
  std::ifstream groups(root / "proc/self/cgroup");
  // Lines are "hierarchy:controllers:path"; the only hierarchy of version 2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      limit_bytes =
          std::min(limit_bytes, LimitOfGroups(root / "sys/fs/cgroup", group, "memory.max"));
    } else if (ListsMemory(controllers)) {
      limit_bytes = std::min(limit_bytes, LimitOfGroups(root / "sys/fs/cgroup/memory", group,
                                                        "memory.limit_in_bytes"));
    }
  }
  return limit_bytes;
}

}  // namespace attune
