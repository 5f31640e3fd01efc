#include "attune/base/captured_output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "attune/base/signals_blocked.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

Status CannotCapture() {
  return Unavailable(fmt::format("Cannot catch what is printed: {}.", strerror(errno)));
}

Result<std::string> ContentOf(const UniqueFd& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0) return CannotCapture();
  if (static_cast<size_t>(size) > kMaxCapturedBytes) {
    return ResourceExhausted(fmt::format(
        "{} bytes or more were printed, and {} can be read. Fewer work-items should print.", size,
        kMaxCapturedBytes));
  }
  std::string text(static_cast<size_t>(size), '\0');
  for (size_t held = 0; held < text.size();) {
    const ssize_t got =
        ::pread(file.get(), text.data() + held, text.size() - held, static_cast<off_t>(held));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return CannotCapture();
    held += static_cast<size_t>(got);
  }
  return text;
}

// Output without end would fill memory: beyond the limit of ContentOf(), descriptor 1 leads
// nowhere. A pipe would bound it as well, and mix the long writes of threads.
void EndGrowth(const std::stop_token& stop, int file) {
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  struct stat status {};
  while (::fstat(file, &status) == 0 && static_cast<size_t>(status.st_size) <= kMaxCapturedBytes) {
    never.wait_for(lock, stop, kBetweenLooks, [] { return false; });
    if (stop.stop_requested()) return;
  }
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere.valid()) ::dup2(nowhere.get(), STDOUT_FILENO);
}

// Does `work` while its output to descriptor 1 is bounded.
Status DoBounded(const std::function<Status()>& work, int file) {
  std::jthread watch;
  try {
    const SignalsBlocked signals;
    watch = std::jthread([file](const std::stop_token& stop) { EndGrowth(stop, file); });
  } catch (const std::system_error& error) {
    return Unavailable(fmt::format("Cannot watch what is printed: {}.", error.what()));
  }
  return work();
}

}  // namespace

Result<std::string> CaptureOutput(const std::function<Status()>& work) {
  const UniqueFd caught(::memfd_create("attune-printed", MFD_CLOEXEC));
  const UniqueFd before(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  // Without O_APPEND, simultaneous writes of threads would overwrite each other: memory files do
  // not lock their position.
  const bool appends = caught.valid() && ::fcntl(caught.get(), F_SETFL, O_APPEND) == 0;
  // Earlier output still goes to its destination.
  (void)std::fflush(stdout);
  if (!appends || !before.valid() || ::dup2(caught.get(), STDOUT_FILENO) < 0) {
    return CannotCapture();
  }
  const Status worked = DoBounded(work, caught.get());
  (void)std::fflush(stdout);
  if (::dup2(before.get(), STDOUT_FILENO) < 0) return CannotCapture();
  ATTUNE_RETURN_IF_ERROR(worked);
  return ContentOf(caught);
}

}  // namespace attune
