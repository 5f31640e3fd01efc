// The times that a program prints.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/library/library.h"

namespace attune {

// How a line that has a time looks: "OP:x,TIME:x,WS:x".
struct PrintedFormat {
  char separator = ',';  // Between the pairs of a line.
  char assign = ':';     // Between a key and its value.
  std::string time = "TIME";
  double unit_ns = 1e6;          // Unit of the time: milliseconds.
  std::string workspace = "WS";  // In bytes; a line may lack it. Empty: none has it.
  // Only lines that have these values count.
  std::map<std::string, std::string> only = {};

  friend bool operator==(const PrintedFormat&, const PrintedFormat&) = default;
};

// Nanoseconds of "ns", "us", "ms" or "s"; 0 for any other word.
double UnitNs(std::string_view unit);

// The median time of the lines of `text` that count, and the maximum workspace. Other lines are
// ignored. kNotFound if none counts; kInvalidArgument names the line (from 1) of a time that is not
// positive and finite, of a workspace that is no number of bytes, or of a repeated key.
Result<LibraryTime> ParsePrintedTime(const PrintedFormat& format, std::string_view text);

}  // namespace attune
