// Where the program or library is that this code is linked into.
#pragma once

#include <filesystem>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The folder of the program, libattune.so or plug-in that contains the caller; empty if the system
// does not tell. This module is a static library, so every shared object has a copy of its own, and
// being hidden the call is bound to that one.
[[gnu::visibility("hidden")]] std::filesystem::path FolderOfThisCode();

// A program of attune's that is no user's to start: beside this code or the program, where a build
// or an installation has it. kNotFound with the places that were tried.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FindOwnProgram(std::string_view name);

}  // namespace attune
