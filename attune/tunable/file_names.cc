#include "attune/tunable/file_names.h"

#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace attune {
namespace {

// A partial list would look complete. A missing folder is no failure.
int IsFatal(const char*, int error) { return error == ENOENT ? 0 : 1; }

Result<std::vector<std::filesystem::path>> Glob(const std::string& pattern) {
  glob_t found = {};
  const int failure = ::glob(pattern.c_str(), 0, IsFatal, &found);
  const int error = errno;
  std::vector<std::filesystem::path> files;
  if (failure == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failure == GLOB_NOSPACE) return ResourceExhausted("There is no memory left.");
  if (failure == GLOB_ABORTED) {
    return Unavailable(fmt::format("Cannot read a folder that '{}' looks into: {}.", pattern,
                                   std::strerror(error)));
  }
  return files;
}

}  // namespace

// As glob() takes them: a backslash makes the next character an ordinary one.
bool HasWildcard(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '*' || pattern[i] == '?' ||
               (pattern[i] == '[' && pattern.find(']', i) != std::string_view::npos)) {
      return true;
    }
  }
  return false;
}

std::string WithInsertion(std::string_view name, std::string_view text) {
  const size_t token = name.find("%d");
  if (token != std::string_view::npos) {
    return fmt::format("{}{}{}", name.substr(0, token), text, name.substr(token + 2));
  }
  const size_t slash = name.rfind('/');
  const size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot <= begin) return fmt::format("{}{}", name, text);
  return fmt::format("{}{}{}", name.substr(0, dot), text, name.substr(dot));
}

std::string WithOrdinal(std::string_view name, int ordinal) {
  return WithInsertion(name, fmt::format("{}", ordinal));
}

Result<std::vector<std::filesystem::path>> FilesLike(const std::string& pattern) {
  if (!HasWildcard(pattern)) {
    return InvalidArgument(fmt::format(
        "The pattern '{}' has no wildcard (*, ? or [...]); it would name one file.", pattern));
  }
  ATTUNE_ASSIGN_OR_RETURN(auto files, Glob(pattern));
  if (files.empty()) return NotFound(fmt::format("No file matches '{}'.", pattern));
  return files;
}

bool IsLike(const std::string& pattern, const std::filesystem::path& path) {
  const size_t slash = pattern.rfind('/');
  const std::string last = slash == std::string::npos ? pattern : pattern.substr(slash + 1);
  if (::fnmatch(last.c_str(), path.filename().c_str(), FNM_PERIOD) != 0) return false;
  const std::string before = slash == std::string::npos ? "." : pattern.substr(0, slash + 1);
  const auto folders = Glob(before);
  if (!folders.ok()) return false;
  // However it is spelled: "./r", "r/../r" and a link to it are one folder.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return std::any_of(folders->begin(), folders->end(), [&](const std::filesystem::path& other) {
    std::error_code ignored;
    return std::filesystem::equivalent(other, folder, ignored);
  });
}

}  // namespace attune
