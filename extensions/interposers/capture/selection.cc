#include "extensions/interposers/capture/selection.h"

#include <unistd.h>

#include "attune/kernel/capture/spool_format.h"
#include "extensions/interposers/capture/settings.h"
#include "extensions/interposers/capture/spool_file.h"

namespace attune::capture {

Selection::Turn Selection::Begin(const std::string& kernel, uint64_t code) {
  const Settings& settings = TheSettings();
  const std::lock_guard lock(mutex_);
  if (const pid_t here = ::getpid(); process_ != here) {
    kernels_.clear();
    process_ = here;
  }
  Kernel& known = kernels_[{kernel, code}];
  const uint64_t number = ++known.launches;
  const bool is_wanted = settings.Wants(kernel) && number >= settings.first_launch &&
                         known.taken.size() < settings.count && known.tries < kMostTries;
  return {is_wanted, number};
}

bool Selection::IsNew(const std::string& kernel, uint64_t code, uint64_t shape) {
  const std::lock_guard lock(mutex_);
  return !kernels_[{kernel, code}].taken.contains(shape);
}

void Selection::NoteTaken(const std::string& kernel, uint64_t code, uint64_t shape) {
  const std::lock_guard lock(mutex_);
  kernels_[{kernel, code}].taken.insert(shape);
}

void Selection::NoteUnchanged(const std::string& kernel, uint64_t code) {
  const std::lock_guard lock(mutex_);
  Kernel& known = kernels_[{kernel, code}];
  ++known.tries;
  ++known.unchanged;
}

void Selection::NoteRefused(const std::string& kernel, uint64_t code, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    Kernel& known = kernels_[{kernel, code}];
    ++known.tries;
    if (!known.reasons.insert(reason).second) return;
  }
  NoteEvent(kernel, kRefused, reason);
}

void Selection::Finish() {
  const std::lock_guard lock(mutex_);
  if (process_ != ::getpid()) return;
  std::map<std::string, uint64_t> launches;
  for (const auto& [name, kernel] : kernels_) {
    launches[name.first] += kernel.launches;
    if (kernel.unchanged == 0 || !kernel.taken.empty()) continue;
    NoteEvent(
        name.first, kRefused,
        "none of " + std::to_string(kernel.unchanged) +
            " launches that were looked at changed a buffer, so that there is nothing to check");
  }
  for (const auto& [name, count] : launches) NoteEvent(name, kLaunches, std::to_string(count));
}

Selection& TheSelection() {
  static Selection* const selection = new Selection();
  return *selection;
}

}  // namespace attune::capture
