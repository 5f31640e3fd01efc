// Whole files, read and written so that a crash leaves the old content or the new one, never half.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// More than any list of problems has, and less than the memory of any machine that tunes.
inline constexpr size_t kLargestFileBytes = size_t{1} << 30;

// The whole content. Fails with kNotFound, kUnavailable with the system's reason, or
// kResourceExhausted for more than `max_bytes`, because a device may never end.
Result<std::string> ReadFile(const std::filesystem::path& path,
                             size_t max_bytes = kLargestFileBytes);

// As ReadFile(), but never blocks. Refuses pipes and devices with kInvalidArgument, because a pipe
// may stay empty and a device may never end. Reads /dev/null as empty. For files that are read more
// than once, or whose names the user has not just typed.
Result<std::string> ReadFileAtOnce(const std::filesystem::path& path,
                                   size_t max_bytes = kLargestFileBytes);

// The rest of the open file `fd`, which `path` names in the message. Fails as ReadFile() does.
Result<std::string> ReadAll(int fd, const std::filesystem::path& path,
                            size_t max_bytes = kLargestFileBytes);

// The first line without its end, for the files in which the system reports facts. Empty if there
// is no such file or line or it cannot be read: the system does not report the fact.
std::string FirstLine(const std::filesystem::path& path);

// Writes a temporary file beside `path`, syncs it and renames it over `path`. Mode 0644 less the
// umask. A symbolic link stays and the file that it names is replaced. Anything there that is no
// regular file (a device, a pipe, an open file of a process) is opened and written as it is.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// Writes all of `content` to the open file `fd`, which `path` names in the message.
Status WriteAll(int fd, std::string_view content, const std::filesystem::path& path);

// True if `path` still names the open file `fd` and is no link. A process that held its lock
// earlier may have put another file in its place.
bool IsNamed(int fd, const std::filesystem::path& path);

// `path` as it is without a slash behind it, which would have a link followed and makes the folder
// its own parent.
std::filesystem::path WithoutTrailingSlash(std::filesystem::path path);

// "Cannot <what> '<path>': <the reason in errno>." kNotFound for a file that is not there,
// kResourceExhausted for a disk, a quota or a size limit that is full, else kUnavailable.
Status SystemError(std::string_view what, const std::filesystem::path& path);

}  // namespace attune
