// How much memory this process can have before the system stops it.
#pragma once

#include <cstddef>
#include <filesystem>

namespace attune {

// The physical memory, or what the control group of this process and the groups above it allow
// (versions 1 and 2), whichever is least, in bytes. Limits that cannot be read are none. `root` is
// where /proc and /sys are looked for.
size_t MemoryLimitBytes(const std::filesystem::path& root = "/");

}  // namespace attune
