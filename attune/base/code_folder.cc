#include "attune/base/code_folder.h"

#include <dlfcn.h>

#include <system_error>

namespace attune {

std::filesystem::path FolderOfThisCode() {
  static const char here = 0;
  Dl_info info{};
  if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}

}  // namespace attune
