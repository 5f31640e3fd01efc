// The names of results and untuned files, and patterns of such names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// `name` with `text` in place of the first "%d", else before the last '.' of its last component,
// else at its end. A '.' that a component begins with does not count.
std::string WithInsertion(std::string_view name, std::string_view text);

// `name` with the ordinal of a device inserted.
std::string WithOrdinal(std::string_view name, int ordinal);

// True if `pattern` may name several files: it has *, ? or [...], and no backslash before it.
bool HasWildcard(std::string_view pattern);
// The files that a shell would expand `pattern` to, by name. kInvalidArgument if it has no wildcard
// (*, ? or [...]), kNotFound if nothing matches it, kUnavailable if a folder that it looks into
// cannot be read.
Result<std::vector<std::filesystem::path>> FilesLike(const std::string& pattern);

// True if `pattern` matches `path`, or would if it existed.
bool IsLike(const std::string& pattern, const std::filesystem::path& path);

}  // namespace attune
