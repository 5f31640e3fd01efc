// A small disk, for tests of full disks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "attune/base/status.h"

namespace attune {

// A tmpfs in a folder of its own that belongs to the user that runs servers. Gone with this object.
class SmallDisk {
 public:
  // kUnavailable where none can be mounted, with the reason.
  static Result<std::unique_ptr<SmallDisk>> Mount(int64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  std::filesystem::path folder() const { return folder_; }
  // Takes all room that is left, and gives it back.
  Status Fill();
  void Empty();

 private:
  SmallDisk() = default;
  std::filesystem::path ballast() const { return folder_ / "ballast"; }

  std::filesystem::path folder_;
  bool is_mounted_ = false;
};

}  // namespace attune
