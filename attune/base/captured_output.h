// What a piece of work writes to standard output, caught on its way.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "attune/base/status.h"

namespace attune {

inline constexpr size_t kMaxCapturedBytes = 1 << 20;

// Does `work` while descriptor 1 of this process leads to memory, and gives what came there, from C
// streams, too; afterwards it leads to where it did. What other threads write meanwhile is caught
// with it. The error of `work` if it has one; kResourceExhausted for more than kMaxCapturedBytes,
// of which soon no more is kept.
Result<std::string> CaptureOutput(const std::function<Status()>& work);

}  // namespace attune
