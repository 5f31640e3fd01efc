// Whole files, read and written so that a crash leaves the old content or the new one, never half.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// The whole content. Fails with kNotFound, or kUnavailable with the system's reason.
Result<std::string> ReadFile(const std::filesystem::path& path);

// Writes a temporary file beside `path`, syncs it and renames it over `path`. Mode 0644 less the umask.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

}  // namespace attune
