#include "attune/base/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "attune/base/path_variable.h"

namespace attune {
namespace {

constexpr std::string_view kInterposers[] = {"libattune_blas.so", "libattune_cublas.so"};

bool IsInterposer(std::string_view name) {
  return std::ranges::any_of(kInterposers, [name](std::string_view interposer) {
    return name.find(interposer) != std::string_view::npos;
  });
}

// The parts of `list` that `is_kept` keeps, with ':' between them.
std::string Kept(std::string_view list, std::string_view separators,
                 const std::function<bool(std::string_view)>& is_kept) {
  std::string kept;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(separators), list.size());
    const std::string_view part = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (part.empty() || !is_kept(part)) continue;
    if (!kept.empty()) kept += ':';
    kept += part;
  }
  return kept;
}

// A path from "$ORIGIN" does not depend on the folder of the process.
bool IsFixed(std::string_view path) { return path.starts_with('/') || path.starts_with('$'); }

std::string ForChild(std::string_view name, std::string_view value, OurPreload ours) {
  if (name == "LD_PRELOAD" || name == "LD_AUDIT") return ObjectsForChild(value, ours);
  if (name == "LD_LIBRARY_PATH") return FoldersForChild(value);
  if (name == "ATTUNE_TIME_MODELS" || name == "ATTUNE_PACKAGES") return ListFromStart(value);
  if (name == "ATTUNE_LOCK_FOLDER" || name == "ATTUNE_POWERCAP") return FromStart(value);
  return std::string(value);
}

}  // namespace

std::string ObjectsForChild(std::string_view objects, OurPreload ours) {
  // The loader separates names by spaces and colons. It searches the system folders for a name
  // without a slash.
  return Kept(objects, " :", [ours](std::string_view name) {
    const bool is_relative = name.find('/') != std::string_view::npos && !IsFixed(name);
    return !is_relative && (ours == OurPreload::kKept || !IsInterposer(name));
  });
}

std::string FoldersForChild(std::string_view folders) { return Kept(folders, ":;", IsFixed); }

std::vector<std::string> EnvironmentForChild(OurPreload ours) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    std::string given = ForChild(name, value, ours);
    // Drops a variable that filtering has emptied; keeps one that the user left empty.
    if (given.empty() && !value.empty()) continue;
    entries.push_back(std::string(name) + "=" + given);
  }
  return entries;
}

std::vector<char*> PointersTo(std::vector<std::string>& entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace attune
