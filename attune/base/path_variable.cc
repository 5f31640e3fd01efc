#include "attune/base/path_variable.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "attune/base/process_variables.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

// Written once, before main() or in dlopen(), while no other code of this object runs.
char start_folder[PATH_MAX];

[[gnu::constructor]] void RememberStartFolder() {
  // The kernel prefixes a folder outside the root of this process with "(unreachable)".
  if (::getcwd(start_folder, sizeof start_folder) == nullptr || start_folder[0] != '/') {
    start_folder[0] = '\0';
  }
}

}  // namespace

fs::path StartFolder() {
  // A preload library starts with the program and opens libattune.so at the first product.
  using Folder = const char*();
  auto* const told = reinterpret_cast<Folder*>(::dlsym(RTLD_DEFAULT, "attune_start_folder"));
  return told != nullptr ? told() : start_folder;
}

std::string FromStart(std::string_view path) {
  if (path.empty() || path.front() == '/') return std::string(path);
  const fs::path start = StartFolder();
  // No file can exist below /deleted, and error messages show the name.
  return ((start.empty() ? fs::path("/deleted") : start) / path).string();
}

std::string ListFromStart(std::string_view paths) {
  std::string absolute;
  while (!paths.empty()) {
    const size_t end = std::min(paths.find(':'), paths.size());
    if (end > 0) {
      if (!absolute.empty()) absolute += ':';
      absolute += FromStart(paths.substr(0, end));
    }
    paths.remove_prefix(std::min(end + 1, paths.size()));
  }
  return absolute;
}

Status CheckCodePath(std::string_view variable, std::string_view path) {
  if (path.starts_with('/')) return Status::Ok();
  return InvalidArgument(fmt::format(
      "Cannot use {}: '{}' is a relative path, and code is loaded by absolute paths only. Give the "
      "whole path.",
      variable, path));
}

Result<fs::path> CodePathIn(const char* variable) {
  const std::string path = VariableOr(variable, "");
  if (!path.empty()) ATTUNE_RETURN_IF_ERROR(CheckCodePath(variable, path));
  return fs::path(path);
}

Result<std::string> CodeNameIn(const char* variable) {
  std::string name = VariableOr(variable, "");
  if (name.find('/') != std::string::npos) ATTUNE_RETURN_IF_ERROR(CheckCodePath(variable, name));
  return name;
}

}  // namespace attune
