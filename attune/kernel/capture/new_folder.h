// A folder that appears under its name with all that is in it, or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "attune/base/status.h"

namespace attune::capture {

// Readable by its user alone. Removed with all that is in it, unless it has got its name.
class NewFolder {
 public:
  // As `<prefix>-XXXXXX` in `parent`, which is made if it is not there.
  static Result<std::unique_ptr<NewFolder>> Make(const std::filesystem::path& parent,
                                                 std::string_view prefix);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  const std::filesystem::path& path() const { return path_; }

  // False if the name is taken.
  Result<bool> Take(const std::filesystem::path& name);

 private:
  explicit NewFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace attune::capture
