// The environment for programs that attune starts, perhaps from inside of another program, which
// may have changed its folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attune {

enum class OurPreload {
  kKept,     // For programs of users.
  kDropped,  // A helper that computes through an interposer would measure that.
};

// The value of LD_PRELOAD or LD_AUDIT without relative paths, which would name other files in
// another folder, and perhaps without the libraries of ours.
std::string ObjectsForChild(std::string_view objects, OurPreload ours);

// The value of LD_LIBRARY_PATH without folders that are relative or empty.
std::string FoldersForChild(std::string_view folders);

// "NAME=VALUE" of this process with the above, and attune's paths to data absolute. Not thread-safe
// against setenv() elsewhere, like all readers of the environment.
std::vector<std::string> EnvironmentForChild(OurPreload ours);

// As execve() takes it; lives as long as `entries`.
std::vector<char*> PointersTo(std::vector<std::string>& entries);

}  // namespace attune
