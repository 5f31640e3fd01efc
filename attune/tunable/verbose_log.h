// Messages that VERBOSE enables, written to the file VERBOSE_FILENAME.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attune {

// How much a user wants to read: the value of VERBOSE from which on a line is written.
enum class LogLevel {
  kWarning = 0,  // Also without VERBOSE: something that the user believes is not so.
  kBasic = 1,
  kStatus = 2,
  kTrace = 3,
};

// Writes `line` and a line end, in one write, to "err", "out" or the file of that name, to which it
// appends. Drops text that it cannot write: a log must not fail its host. Passes text for "err" to
// `error_stream`. If that is null, it writes to standard error, unless the program has replaced
// that since the start.
void WriteLogLine(const std::string& destination, std::string_view line,
                  const std::function<void(const std::string&)>& error_stream = nullptr);

}  // namespace attune
