// Paths that a user gives in variables of the environment. They mean the same for the life of the
// process, wherever it changes its folder to (docs/serving.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The folder in which the process was when it loaded this code, or the preload library of attune
// that opened it; empty if that was deleted.
[[gnu::visibility("hidden")]] std::filesystem::path StartFolder();

// `path` of a file with data, absolute: a relative one is seen from StartFolder(). Empty stays so.
[[gnu::visibility("hidden")]] std::string FromStart(std::string_view path);

// The same for each path of a list that ':' separates.
[[gnu::visibility("hidden")]] std::string ListFromStart(std::string_view paths);

// kInvalidArgument if `path`, which `variable` names, is relative: code is loaded, compiled or
// executed by absolute paths alone, because the folder of a process may be anybody's.
Status CheckCodePath(std::string_view variable, std::string_view path);

// The path of code in `variable`; empty if it is not set.
Result<std::filesystem::path> CodePathIn(const char* variable);

// The same for programs and libraries that the system finds by their name alone, in PATH or as
// dlopen() does: a name without a slash is returned as it is.
Result<std::string> CodeNameIn(const char* variable);

}  // namespace attune
