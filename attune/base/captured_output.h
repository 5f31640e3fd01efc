// Captures the standard output of a piece of work.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "attune/base/status.h"

namespace attune {

inline constexpr size_t kMaxCapturedBytes = 1 << 20;

// Does `work` while descriptor 1 of this process leads to memory, and returns the output, including
// that of C streams. Afterwards the descriptor leads to its former destination. Captures output of
// other threads, too. Returns the error of `work` if it has one; kResourceExhausted for more than
// kMaxCapturedBytes, beyond which it soon stops keeping output.
Result<std::string> CaptureOutput(const std::function<Status()>& work);

}  // namespace attune
