// The work that a message is about: one kind of machine and one step.
#pragma once

#include <compare>
#include <string>

#include "attune/session/job.h"

namespace attune {

struct Channel {
  // The machines that can do it: Text(Target), and after a space the environment if that counts.
  std::string target;
  JobStep step;

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// The name of a channel in subjects and queue names, which allow neither spaces nor ':':
// "perf-measure-" and 32 hexadecimal digits, those of the fingerprint of the target. The same on
// every machine and in every release.
std::string Token(const Channel& channel);

}  // namespace attune
