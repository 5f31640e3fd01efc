// Times of operations in the output of a profiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct ProfiledOp {
  std::string name;             // Empty where the profiler names none.
  double time_ms = 0;           // The median of `samples` times.
  int64_t workspace_bytes = 0;  // Maximum over its samples.
  int samples = 1;

  friend bool operator==(const ProfiledOp&, const ProfiledOp&) = default;
};

// Reads the fields that AITemplate's runner finds in the output of its profilers:
// "OP:<name>,TIME:<ms>,WS:<bytes>" (or KERNEL:) anywhere in a line, several in one, WS also before
// TIME. A repeated name is one operation with several samples. Without any name there is one
// operation, of all "TIME:<ms>" and "WS:<bytes>"; beside names these are ignored, except a WS that
// begins a line, which belongs to the operation before it. Colours are skipped and a carriage
// return ends a line. In the order of the first lines; empty if there is no operation.
// kInvalidArgument names the line and column (from 1) of a time that is no positive number, or of a
// workspace that is no size: a time of 0 was never measured.
Result<std::vector<ProfiledOp>> ParseProfilerOutput(std::string_view text);

}  // namespace attune
