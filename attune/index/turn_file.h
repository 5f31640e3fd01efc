// A new file that replaces an old one when it is complete, and the turn to write it. Private to
// this module.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

// The file PATH.new, held with a lock. The holder may replace PATH; when it is renamed, or its
// process ends in any way, the next one's turn has come. One left behind by a process that was
// killed is used again, so there is never more than one.
class TurnFile {
 public:
  // Waits for others for at most `patience_ms`; then kUnavailable.
  static Result<TurnFile> Take(const std::filesystem::path& path, int64_t patience_ms);
  TurnFile(TurnFile&&) = default;
  TurnFile& operator=(TurnFile&&) = delete;
  // Removes the file unless it was renamed.
  ~TurnFile();

  // Writes `content`, syncs it and renames it over the old file.
  Status Replace(std::string_view content);

 private:
  TurnFile(std::filesystem::path path, std::filesystem::path new_path, UniqueFd fd);

  std::filesystem::path path_;
  std::filesystem::path new_path_;
  UniqueFd fd_;  // Invalid once renamed.
};

}  // namespace attune
