// What the sources of a kernel include, which the compiler reads and nobody lists.
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
  std::string texts;                         // Of all, one behind the other.
};

// All files that `source` includes, directly or through others, each once; none if it includes none
// that is there. A name is looked for in the folder of whoever includes it (of the
// source `folder`), in the current one and in those that `compile_options` add (-I): of which the
// compiler takes one, and all count. What comes with a compiler is not found, and no part of it.
// kInvalidArgument if there are more than kMaxIncludedFiles.
Result<IncludedFiles> FindIncludedFiles(std::string_view source,
                                        const std::filesystem::path& folder,
                                        const std::vector<std::string>& compile_options);

}  // namespace attune::kernel
