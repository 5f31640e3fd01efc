// Where the program or library is that this code is linked into.
#pragma once

#include <filesystem>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The file that is mapped at `address`, absolute, as the kernel has it (mapped_file.h).
// kUnavailable if /proc is not mounted, kNotFound if the file was deleted or replaced since.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FileMappedAt(const void* address);

// The folder of the program, libattune.so or plug-in that contains the caller. Fails as
// above, with what to do about it. This module is a static library, so every shared object has a
// copy of its own, and being hidden the call is bound to that one.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FolderOfThisCode();

// The prefix of the installation, or the build tree, that the caller is of: what has bin,
// lib/attune, libexec/attune and share/attune.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> InstallationFolder();

// A program of attune's that is no user's to start: beside this code, in libexec/attune or in bin.
// kNotFound lists the places that were tried.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FindOwnProgram(std::string_view name);

// The same, unless `variable` names another program, by an absolute path.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FindOwnProgram(std::string_view name,
                                                                           const char* variable);

}  // namespace attune
