// Which work a message is about: that of one kind of machine and one step.
#pragma once

#include <compare>
#include <string>

#include "attune/session/job.h"

namespace attune {

struct Channel {
  // Of the machines that can do it: Text(Target), and behind a blank the environment if that
  // counts.
  std::string target;
  JobStep step;

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// What a channel is called in subjects and names of queues, where neither blanks nor ':' may stand:
// "perf-measure-" and 32 hexadecimal digits, those of the fingerprint of the target. The same on
// every machine and in every release.
std::string Token(const Channel& channel);

}  // namespace attune
