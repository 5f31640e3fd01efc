// Files that the sources of a kernel include, which only the compiler reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::kernel {

// The most files that are followed.
inline constexpr size_t kMaxIncludedFiles = 1000;

struct IncludedFiles {
  std::vector<std::filesystem::path> paths;  // Canonical.
  std::string texts;                         // Texts of all files, concatenated.
};

// All files that `source` includes, directly or through others, each once; empty if it includes no
// existing file. Each name is looked up in the folder of the including file (`folder` for the
// source), in the current folder and in those of -I in `compile_options`. The compiler takes one of
// the matches; all of them count here. Headers of the compiler itself are not found and do not
// count. kInvalidArgument if there are more than kMaxIncludedFiles.
Result<IncludedFiles> FindIncludedFiles(std::string_view source,
                                        const std::filesystem::path& folder,
                                        const std::vector<std::string>& compile_options);

}  // namespace attune::kernel
