// How the end of a program is a failure of the candidate that it ran.
#pragma once

#include <optional>
#include <string_view>

#include "attune/base/program_run.h"
#include "attune/trial/trial.h"

namespace attune {

// Empty if it ended with status 0. Else kCrashed for a signal or another status and kTimedOut past
// `deadline_ns`, with the last line of standard error.
std::optional<Failure> FailureOf(const ProgramEnd& end, Phase phase, int64_t deadline_ns);

}  // namespace attune
