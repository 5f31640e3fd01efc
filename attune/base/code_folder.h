// Where the program or library is that this code is linked into.
#pragma once

#include <filesystem>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The absolute path of the file that is mapped at `address`, as the kernel reports it
// (mapped_file.h). kUnavailable if /proc is not mounted. kNotFound if the file was deleted or
// replaced since.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FileMappedAt(const void* address);

// The folder of the program, libattune.so or plug-in that contains the caller. Fails as
// FileMappedAt() does; the message says how to fix it. This module is a static library, so every
// shared object has its own copy. Hidden visibility binds the call to that copy.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FolderOfThisCode();

// The installation prefix or build tree of the caller: the folder with bin, lib/attune,
// libexec/attune and share/attune.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> InstallationFolder();

// Finds an internal program of attune: in libexec/attune, beside this code or in bin. kNotFound
// lists the folders that were searched.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FindOwnProgram(std::string_view name);

// As above, unless `variable` names another program by an absolute path.
[[gnu::visibility("hidden")]] Result<std::filesystem::path> FindOwnProgram(std::string_view name,
                                                                           const char* variable);

}  // namespace attune
