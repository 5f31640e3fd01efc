#include "attune/base/code_folder.h"

#include <dlfcn.h>

#include <string>
#include <system_error>

#include <fmt/format.h>

namespace attune {

std::filesystem::path FolderOfThisCode() {
  static const char here = 0;
  Dl_info info{};
  if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}

Result<std::filesystem::path> FindOwnProgram(std::string_view name) {
  std::error_code error;
  std::string tried;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& folder : {FolderOfThisCode(), program}) {
    for (const char* place :
         {".", "../libexec/attune", "../bin", "../../libexec/attune", "../../bin"}) {
      const auto path = (folder / place / name).lexically_normal();
      if (std::filesystem::exists(path, error)) return path;
      tried += fmt::format(" {}", path.string());
    }
  }
  return NotFound(fmt::format("There is no {}; tried{}. Install it.", name, tried));
}

}  // namespace attune
