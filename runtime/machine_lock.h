// Turns at a machine as locks of two files, which every process of it finds.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "attune/base/status.h"
#include "attune/tuner/machine_turns.h"
#include "runtime/places.h"

namespace attune {

inline constexpr const char* kLockFolderVariable = "ATTUNE_LOCK_FOLDER";

// Processors have one pair of files for all of them, every other device has its own. The first file
// is locked shared by who prepares and exclusively by who times; the second, the gate, is held
// while waiting for the first, so that who lets go of a turn does not have the next one at once.
// The kernel unlocks what a killed process held. Nobody writes to the files or needs to: they
// belong to whoever came first, of whatever user, and locks are taken through read-only
// descriptors. Who has waited for `patience` for the processors measures beside whoever has them,
// and notes it: there is always something else that computes there. On any other device nobody
// measures beside another: Take is kUnavailable then.
class MachineLock final : public MachineTurns {
 public:
  // Longer than almost everybody measures: whoever holds the machine is stopped, or hangs.
  static constexpr std::chrono::minutes kPatience{10};

  // Of the device of `place`, in $ATTUNE_LOCK_FOLDER, else where every user may make files and only
  // the owner may remove them: /run/lock, else /tmp. kFailedPrecondition if the variable names no
  // folder, kUnavailable if the files cannot be had.
  static Result<std::unique_ptr<MachineLock>> Open(const Place& place,
                                                   std::chrono::nanoseconds patience = kPatience);
  // Of a device that no place is known for, by what its vendor calls it.
  static Result<std::unique_ptr<MachineLock>> Named(std::string_view device,
                                                    std::chrono::nanoseconds patience = kPatience);
  // The same in `folder`; the files are called after `device`.
  static Result<std::unique_ptr<MachineLock>> In(const std::filesystem::path& folder,
                                                 std::string_view device,
                                                 std::chrono::nanoseconds patience);

  Result<Grant> Take(MachineUse use, const std::function<bool()>& go_on) override;

  // The file that a turn locks.
  const std::filesystem::path& path() const { return path_; }

 private:
  MachineLock(const std::filesystem::path& folder, std::string_view device,
              std::chrono::nanoseconds patience);

  const std::filesystem::path path_;
  const std::filesystem::path gate_;
  const std::chrono::nanoseconds patience_;
  const bool is_shared_when_late_;
};

}  // namespace attune
