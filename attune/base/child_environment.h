// The environment for programs that attune starts. The host program may have changed its folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attune {

enum class OurPreload {
  kKept,     // For programs of users.
  kDropped,  // For helpers, which must not measure an interposer.
};

// The value of LD_PRELOAD or LD_AUDIT without relative paths, which would name other files in
// another folder. kDropped removes attune's libraries, too.
std::string ObjectsForChild(std::string_view objects, OurPreload ours);

// The value of LD_LIBRARY_PATH without relative or empty folders.
std::string FoldersForChild(std::string_view folders);

// The environment of this process as "NAME=VALUE", filtered as above, with attune's data paths made
// absolute. Like all readers of the environment, not thread-safe against setenv() elsewhere.
std::vector<std::string> EnvironmentForChild(OurPreload ours);

// The null-terminated array for execve(). Valid as long as `entries`.
std::vector<char*> PointersTo(std::vector<std::string>& entries);

}  // namespace attune
