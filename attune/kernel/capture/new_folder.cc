#include "attune/kernel/capture/new_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune::capture {

namespace fs = std::filesystem;

Result<std::unique_ptr<NewFolder>> NewFolder::Make(const fs::path& parent,
                                                   std::string_view prefix) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) {
    return Unavailable(
        fmt::format("Cannot make the folder '{}': {}.", parent.string(), error.message()));
  }
  std::string path = (parent / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(path.data()) == nullptr) return SystemError("make a folder in", parent);
  return std::unique_ptr<NewFolder>(new NewFolder(path));
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<bool> NewFolder::Take(const fs::path& name) {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) {
    path_.clear();
    return true;
  }
  if (errno == EEXIST) return false;
  return SystemError("name a folder", name);
}

}  // namespace attune::capture
