// Kernel files and sources of this repository, for tests with the definition
// ATTUNE_SOURCE_KERNEL_DIR.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

namespace attune::kernel {

// All files of kernels/ with this extension, sorted by name.
inline std::vector<std::filesystem::path> ShippedFiles(std::string_view extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ATTUNE_SOURCE_KERNEL_DIR)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.filename() < b.filename(); });
  return files;
}

// The file with this name; empty if there is none.
inline std::filesystem::path ShippedFile(std::string_view name) {
  const std::filesystem::path wanted(name);
  for (const std::filesystem::path& file : ShippedFiles(wanted.extension().string())) {
    if (file.filename() == wanted) return file;
  }
  return {};
}

}  // namespace attune::kernel
