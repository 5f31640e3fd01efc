#include "attune/base/code_folder.h"

#include <climits>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/mapped_file.h"
#include "attune/base/path_variable.h"

namespace attune {

namespace fs = std::filesystem;

Result<fs::path> FileMappedAt(const void* address) {
  char path[PATH_MAX];
  const MappedFile outcome = FindMappedFile(address, path, sizeof path);
  if (outcome == MappedFile::kFound) return fs::path(path);
  const StatusCode code = outcome == MappedFile::kNoProc         ? StatusCode::kUnavailable
                          : outcome == MappedFile::kNoDescriptor ? StatusCode::kResourceExhausted
                                                                 : StatusCode::kNotFound;
  return Status(code,
                fmt::format("Cannot find the file of code that is loaded: {}.", Reason(outcome)));
}

Result<fs::path> FolderOfThisCode() {
  static const char here = 0;
  const auto file = FileMappedAt(&here);
  if (file.ok()) return file->parent_path();
  const bool has_proc = file.error().code() != StatusCode::kUnavailable;
  return Status(
      file.error().code(),
      fmt::format("Cannot tell where attune is installed. {} {}", file.error().message(),
                  has_proc ? "Start the program again." : "Mount it: mount -t proc proc /proc"));
}

Result<fs::path> InstallationFolder() {
  ATTUNE_ASSIGN_OR_RETURN(const fs::path folder, FolderOfThisCode());
  // PREFIX/lib/attune and PREFIX/libexec/attune, else PREFIX/bin and PREFIX/lib.
  const fs::path above = folder.parent_path();
  const bool is_deep =
      folder.filename() == "attune" && above.filename().string().starts_with("lib");
  return is_deep ? above.parent_path() : above;
}

Result<fs::path> FindOwnProgram(std::string_view name) {
  ATTUNE_ASSIGN_OR_RETURN(const fs::path folder, FolderOfThisCode());
  ATTUNE_ASSIGN_OR_RETURN(const fs::path prefix, InstallationFolder());
  std::string tried;
  // A program of that name in bin may be a user's, which starts this one.
  for (const fs::path& place : {prefix / "libexec/attune", folder, prefix / "bin"}) {
    const fs::path path = place / name;
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
    tried += fmt::format(" {}", path.string());
  }
  return NotFound(fmt::format("There is no {}; tried{}. Install it.", name, tried));
}

Result<fs::path> FindOwnProgram(std::string_view name, const char* variable) {
  ATTUNE_ASSIGN_OR_RETURN(const fs::path chosen, CodePathIn(variable));
  if (chosen.empty()) return FindOwnProgram(name);
  std::error_code ignored;
  if (fs::exists(chosen, ignored)) return chosen;
  return NotFound(fmt::format("{} names '{}', which does not exist.", variable, chosen.string()));
}

}  // namespace attune
