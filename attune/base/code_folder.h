// Where the program or library is that this code is linked into.
#pragma once

#include <filesystem>

namespace attune {

// The folder of the program, libattune.so or plug-in that contains the caller; empty if the system
// does not tell. This module is a static library, so every shared object has a copy of its own, and
// being hidden the call is bound to that one.
[[gnu::visibility("hidden")]] std::filesystem::path FolderOfThisCode();

}  // namespace attune
