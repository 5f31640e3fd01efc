#include "attune/base/captured_output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

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
    return ResourceExhausted(
        fmt::format("{} bytes were printed, and {} can be read. Fewer work-items should print.",
                    size, kMaxCapturedBytes));
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

}  // namespace

Result<std::string> CaptureOutput(const std::function<Status()>& work) {
  const UniqueFd caught(::memfd_create("attune-printed", MFD_CLOEXEC));
  const UniqueFd before(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  // What threads write at the same time would lie over each other: memory files do not lock their
  // position.
  const bool appends = caught.valid() && ::fcntl(caught.get(), F_SETFL, O_APPEND) == 0;
  // What was written before goes to where it was meant to.
  (void)std::fflush(stdout);
  if (!appends || !before.valid() || ::dup2(caught.get(), STDOUT_FILENO) < 0) {
    return CannotCapture();
  }
  const Status worked = work();
  (void)std::fflush(stdout);
  if (::dup2(before.get(), STDOUT_FILENO) < 0) return CannotCapture();
  ATTUNE_RETURN_IF_ERROR(worked);
  return ContentOf(caught);
}

}  // namespace attune
