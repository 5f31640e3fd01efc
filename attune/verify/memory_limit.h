// The memory that this process can use before the system stops it.
#pragma once

#include <cstddef>
#include <filesystem>

namespace attune {

// The smallest of the physical memory and the limits of this process's control group and the groups
// above it (versions 1 and 2), in bytes. Unreadable limits are ignored. `root` is the folder of
// /proc and /sys.
size_t MemoryLimitBytes(const std::filesystem::path& root = "/");

}  // namespace attune
