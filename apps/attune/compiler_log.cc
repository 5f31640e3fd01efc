#include "apps/attune/compiler_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace attune {
namespace {

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // The disk is full: a lost warning must not stop the run.
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Result<std::unique_ptr<CompilerLog>> CompilerLog::Open(const std::string& file) {
  if (file.empty()) return std::unique_ptr<CompilerLog>();
  constexpr mode_t kMode = 0666;
  UniqueFd opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  if (!opened.valid()) {
    return Unavailable(fmt::format("cannot write the log '{}': {}", file, std::strerror(errno)));
  }
  return std::unique_ptr<CompilerLog>(new CompilerLog(std::move(opened)));
}

void CompilerLog::Write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (written_ > kMaxBytes) return;
  written_ += text.size();
  WriteAll(file_.get(), text);
  if (written_ > kMaxBytes) {
    WriteAll(file_.get(), fmt::format("\n[output after {} bytes is omitted]\n", kMaxBytes));
  }
}

}  // namespace attune
