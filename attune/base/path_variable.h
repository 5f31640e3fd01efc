// Paths in environment variables. A path keeps its meaning for the life of the process, even after
// chdir() (docs/serving.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The current folder of the process at the time it loaded this code, or the preload library of
// attune that opened it. Empty if that folder had been deleted.
[[gnu::visibility("hidden")]] std::filesystem::path StartFolder();

// `path` of a data file, made absolute against StartFolder(). An empty path stays empty.
[[gnu::visibility("hidden")]] std::string FromStart(std::string_view path);

// FromStart() for each path of a list that ':' separates.
[[gnu::visibility("hidden")]] std::string ListFromStart(std::string_view paths);

// kInvalidArgument if `path`, the value of `variable`, is relative. Code is loaded, compiled and
// executed by absolute paths alone, because any user may control the current folder.
Status CheckCodePath(std::string_view variable, std::string_view path);

// The code path in `variable`; empty if it is unset.
Result<std::filesystem::path> CodePathIn(const char* variable);

// As CodePathIn(), for programs and libraries that PATH or dlopen() finds by name: returns a name
// without a slash unchanged.
Result<std::string> CodeNameIn(const char* variable);

}  // namespace attune
