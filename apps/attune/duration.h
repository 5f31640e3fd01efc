// Durations as people write them: `500ms`, `2s`, `3m`, `1h`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// A number, with a fraction if wanted, and one of ns, us, ms, s, m, h. kInvalidArgument shows the
// accepted forms; a bare number other than 0 is refused because its unit would be a guess.
Result<int64_t> ParseDurationNs(std::string_view text);

// Three significant digits and the unit that fits: "1.23 ms", "45.6 us", "12.0 s".
std::string FormatTime(double time_ns);

// For display: "45s", "3m20s", "2h05m".
std::string FormatWait(int64_t wait_ns);

}  // namespace attune
