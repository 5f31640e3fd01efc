// How many cores this process may keep busy.
#pragma once

#include <filesystem>
#include <string_view>

namespace attune {

// By the affinity mask and by the quota of the cgroup, whichever is less; at least 1.
int UsableCores();

// Cores worth of time that the cgroups (v2 and v1) of this process grant, rounded up; 0 means no
// limit. `membership` is the content of /proc/self/cgroup and `root` the folder where cgroups are
// mounted.
int CoresGrantedByCgroup(const std::filesystem::path& root, std::string_view membership);

}  // namespace attune
