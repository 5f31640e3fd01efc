// Kernel files with one field corrupted, for tests: how they are made.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/kernel/kernel_file.h"

namespace attune::kernel {

// A shipped kernel file with one field changed.
struct KernelMutation {
  std::string file_name;  // In kernels/.
  nlohmann::json original;
  nlohmann::json::json_pointer place;
  nlohmann::json changed;

  std::string ChangedText() const;
};

// How many mutations tests look at, and from which seed.
inline constexpr int kMutations = 1000;
inline constexpr uint64_t kMutationSeed = 20;

// Mutates any shipped kernel file that OpenCL reads, at a random place: an element left out,
// doubled, of another type, another number, or with another character.
KernelMutation RandomMutation(Random& random);

// A folder with the shipped sources and one kernel file, gone with this object.
class MutantFolder {
 public:
  MutantFolder();
  ~MutantFolder();
  MutantFolder(const MutantFolder&) = delete;
  MutantFolder& operator=(const MutantFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes `json` as the kernel file, in place of the one before.
  void Write(const std::string& json) const;
  // Writes and loads it.
  Result<KernelFile> Load(const std::string& json) const;

 private:
  std::filesystem::path path_;
};

}  // namespace attune::kernel
