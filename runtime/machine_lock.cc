#include "runtime/machine_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"
#include "backends/host/execution_environment.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

// Seldom enough not to disturb who times.
constexpr int kPollMs = 20;
constexpr std::string_view kProcessors = "processor";

class HeldLock final : public MachineTurns::Turn {
 public:
  explicit HeldLock(UniqueFd file) : file_(std::move(file)) {}

 private:
  UniqueFd file_;
};

// Every processor disturbs every other one, whatever computes on it.
std::string DeviceName(const Place& place) {
  if (place.environment.contains(host::kWaitPolicyField)) return std::string(kProcessors);
  return place.identity.empty() ? place.device_spec
                                : fmt::format("{}-{}", place.target.backend, place.identity);
}

std::string FileName(std::string_view device, std::string_view extension) {
  std::string name(device);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char byte) { return std::isalnum(byte) == 0 && byte != '.' && byte != '_'; },
      '-');
  return fmt::format("attune-measuring-{}{}", name, extension);
}

// Every user may make files there, and remove none of others.
bool IsForEverybody(const fs::path& folder) {
  constexpr mode_t kMode = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_mode & kMode) == kMode;
}

Result<fs::path> LockFolder() {
  const std::string chosen = FromStart(VariableOr(kLockFolderVariable, ""));
  std::error_code ignored;
  if (!chosen.empty() && fs::is_directory(chosen, ignored)) return fs::path(chosen);
  if (!chosen.empty()) {
    return FailedPrecondition(
        fmt::format("Nothing is measured, because {} is '{}', which is no folder. Correct or unset "
                    "it.",
                    kLockFolderVariable, chosen));
  }
  for (const char* folder : {"/run/lock", "/tmp"}) {
    if (IsForEverybody(folder)) return fs::path(folder);
  }
  return Unavailable(
      fmt::format("Neither /run/lock nor /tmp is a folder in which every user may make files. {} "
                  "may name another one.",
                  kLockFolderVariable));
}

// Of whoever made it, for everybody; never through a link, and never waiting, as for a pipe.
Result<UniqueFd> OpenLockFile(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
  constexpr mode_t kMode = 0644;
  UniqueFd file = OpenFile(path, kFlags);
  if (!file.valid() && errno == ENOENT) {
    file = OpenFile(path, kFlags | O_CREAT | O_EXCL, kMode);
    // Somebody else made it meanwhile.
    if (!file.valid() && errno == EEXIST) file = OpenFile(path, kFlags);
    // What the mask of this user hides, others have to see. Not ours, not our business.
    if (file.valid()) (void)::fchmod(file.get(), kMode);
  }
  if (!file.valid()) return SystemError("open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return SystemError("examine", path);
  if (!S_ISREG(info.st_mode)) {
    return Unavailable(fmt::format("'{}' is no file, so it cannot be locked.", path.string()));
  }
  return file;
}

// The file with its lock; invalid if a lock of somebody else is in the way.
Result<UniqueFd> TryLock(const fs::path& path, int operation) {
  ATTUNE_ASSIGN_OR_RETURN(UniqueFd file, OpenLockFile(path));
  if (::flock(file.get(), operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return UniqueFd();
    return SystemError("lock", path);
  }
  if (!IsNamed(file.get(), path)) file.Reset();
  return file;
}

// How long, and whether, somebody waits, and for whoever has locked which file.
struct Wait {
  const std::function<bool()>& go_on;
  int64_t end_ns = 0;
  const fs::path& held;
};

// As TryLock, invalid if the time is over. kDeadlineExceeded if `wait` does not go on.
Result<UniqueFd> Lock(const fs::path& path, int operation, const Wait& wait) {
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(UniqueFd file, TryLock(path, operation));
    if (file.valid() || SteadyNowNs() >= wait.end_ns) return file;
    if (wait.go_on && !wait.go_on()) {
      return DeadlineExceeded(
          fmt::format("Another process measures on this machine, and this one was to wait no "
                      "longer; 'fuser {}' tells which.",
                      wait.held.string()));
    }
    ::poll(nullptr, 0, kPollMs);
  }
}

}  // namespace

MachineLock::MachineLock(const fs::path& folder, std::string_view device,
                         std::chrono::nanoseconds patience)
    : path_(folder / FileName(device, ".lock")),
      gate_(folder / FileName(device, ".gate")),
      patience_(patience),
      is_shared_when_late_(device == kProcessors) {}

Result<std::unique_ptr<MachineLock>> MachineLock::Open(const Place& place,
                                                       std::chrono::nanoseconds patience) {
  ATTUNE_ASSIGN_OR_RETURN(const fs::path folder, LockFolder());
  return In(folder, DeviceName(place), patience);
}

Result<std::unique_ptr<MachineLock>> MachineLock::Named(std::string_view device,
                                                        std::chrono::nanoseconds patience) {
  ATTUNE_ASSIGN_OR_RETURN(const fs::path folder, LockFolder());
  return In(folder, device, patience);
}

Result<std::unique_ptr<MachineLock>> MachineLock::In(const fs::path& folder,
                                                     std::string_view device,
                                                     std::chrono::nanoseconds patience) {
  std::unique_ptr<MachineLock> lock(new MachineLock(folder, device, patience));
  for (const fs::path& path : {lock->path_, lock->gate_}) {
    const auto file = OpenLockFile(path);
    if (!file.ok()) return Unavailable(file.error().message());
  }
  return lock;
}

Result<MachineTurns::Grant> MachineLock::Take(MachineUse use, const std::function<bool()>& go_on) {
  const Wait wait{go_on, SteadyNowNs() + patience_.count(), path_};
  const auto take = [&]() -> Result<UniqueFd> {
    ATTUNE_ASSIGN_OR_RETURN(const UniqueFd gate, Lock(gate_, LOCK_EX, wait));
    if (!gate.valid()) return UniqueFd();
    return Lock(path_, use == MachineUse::kTime ? LOCK_EX : LOCK_SH, wait);
  };
  auto file = take();
  if (file.ok() && file->valid()) return Grant{std::make_unique<HeldLock>(std::move(*file)), ""};
  if (file.ok()) {
    const std::string who =
        fmt::format("Another process has had the machine for {} s ('fuser {}' tells which)",
                    std::chrono::floor<std::chrono::seconds>(patience_).count(), path_.string());
    if (is_shared_when_late_) return Grant{nullptr, who + "; this one measured beside it."};
    return Unavailable(who +
                       "; nothing is measured beside it. End that one if it hangs, or try later.");
  }
  if (file.error().code() == StatusCode::kDeadlineExceeded) return file.error();
  // There is nothing to lock.
  return Grant{nullptr, fmt::format("{} Other processes may have measured beside this one.",
                                    file.error().message())};
}

}  // namespace attune
