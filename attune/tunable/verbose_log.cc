#include "attune/tunable/verbose_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "attune/base/host_messages.h"
#include "attune/base/open_file.h"
#include "attune/base/path_variable.h"
#include "attune/base/unique_fd.h"

namespace attune {

void WriteLogLine(const std::string& destination, std::string_view line,
                  const std::function<void(const std::string&)>& error_stream) {
  const std::string text = fmt::format("attune tunable: {}", line);
  if (destination == "err" && error_stream != nullptr) return error_stream(text);
  if (destination == "err") return WriteToHost(STDERR_FILENO, text + "\n");
  if (destination == "out") return WriteToHost(STDOUT_FILENO, text + "\n");
  // Do not wait for a reader if the file is a pipe.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
  const UniqueFd file = OpenFile(FromStart(destination), kFlags, 0644);
  if (!file.valid()) return;
  const std::string ended = text + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file.get(), ended.data(), ended.size());
}

}  // namespace attune
