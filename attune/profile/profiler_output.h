// What a profiler prints about the operations that it timed.
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
  int64_t workspace_bytes = 0;  // The most that one of them told.
  int samples = 1;

  friend bool operator==(const ProfiledOp&, const ProfiledOp&) = default;
};

// The output of AITemplate's profilers: lines "OP:<name>,TIME:<ms>,WS:<bytes>", any number of them,
// or the older "TIME:<ms>" and "WS:<bytes>", the latter of the line before. A name that comes again
// is one operation with several samples. Other lines are ignored. In the order of their first
// lines; empty if there is none. kInvalidArgument names the line (from 1) of a time that is no
// positive number, or of a workspace that is no size: a time of 0 was never measured.
Result<std::vector<ProfiledOp>> ParseProfilerOutput(std::string_view text);

}  // namespace attune
