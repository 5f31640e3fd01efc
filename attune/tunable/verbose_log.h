// What VERBOSE asks for, written where VERBOSE_FILENAME says.
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

// Writes `line` and a line end, in one write, to "err", "out" or the file called so, which is
// appended to. What cannot be written is dropped: a log must not fail its host. `error_stream`
// takes what is for "err"; null: standard error does, as long as it is the one that it was at the
// start.
void WriteLogLine(const std::string& destination, std::string_view line,
                  const std::function<void(const std::string&)>& error_stream = nullptr);

}  // namespace attune
