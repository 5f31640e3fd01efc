// A folder for files of one piece of work, gone with this object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "attune/base/status.h"

namespace attune {

class ScratchFolder {
 public:
  // Makes `<name>-XXXXXX` in the system's folder for temporary files; no other user may read it.
  // kUnavailable with the system's reason.
  static Result<std::unique_ptr<ScratchFolder>> Make(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path path_;
};

}  // namespace attune
