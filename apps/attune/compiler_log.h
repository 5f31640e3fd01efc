// The log file of verbs that compile (--log): the output of compilers and candidates.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

// Thread-safe. Several processes can append to one file.
class CompilerLog {
 public:
  // Bounds the file, because a candidate can print without end. The file notes the cut.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Null for an empty name: nothing is logged.
  static Result<std::unique_ptr<CompilerLog>> Open(const std::string& file);

  void Write(std::string_view text);
  int descriptor() const { return file_.get(); }

 private:
  explicit CompilerLog(UniqueFd file) : file_(std::move(file)) {}

  const UniqueFd file_;
  std::mutex mutex_;  // Guards written_.
  size_t written_ = 0;
};

}  // namespace attune
