#include "attune/tunable/verbose_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "attune/base/unique_fd.h"

namespace attune {

void WriteLogLine(const std::string& destination, std::string_view line) {
  const std::string text = fmt::format("attune tunable: {}\n", line);
  UniqueFd file;
  int fd = STDERR_FILENO;
  if (destination == "out") {
    fd = STDOUT_FILENO;
  } else if (destination != "err") {
    // Not to wait for a reader if it is a pipe.
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    file.Reset(::open(destination.c_str(), kFlags, 0644));
    if (!file.valid()) return;
    fd = file.get();
  }
  [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
}

}  // namespace attune
