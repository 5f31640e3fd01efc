#include "attune/base/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/path_variable.h"

namespace attune {

namespace fs = std::filesystem;

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(const std::string& name) {
  std::error_code error;
  const fs::path named = fs::temp_directory_path(error);
  // Absolute, because the program may change its folder before it loads the compiled code.
  const fs::path parent = error ? "/tmp" : FromStart(named.string());
  std::string path = (parent / (name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) {
    return Unavailable(fmt::format("Cannot make a folder '{}': {}.", path, strerror(errno)));
  }
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace attune
