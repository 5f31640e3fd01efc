// Turns of several processes that tune on one machine: times that were taken beside other work are
// useless.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune {

// The use that a process makes of every core of the machine.
enum class MachineUse {
  kPrepare,  // Compute a reference, build and verify: beside others that do, beside none that
             // times.
  kTime,     // Alone.
};

class MachineTurns {
 public:
  virtual ~MachineTurns() = default;

  // Holds the machine during its lifetime.
  class Turn {
   public:
    virtual ~Turn() = default;
  };
  struct Grant {
    std::unique_ptr<Turn> turn;  // Null for a caller that proceeds without.
    std::string note;            // Why; empty with a turn.
  };

  // Waits until the others let go. Calls `go_on` (may be null) before each further look, several
  // times in a second, and fails with kDeadlineExceeded when it returns false. A caller holds one
  // turn at a time. A caller that waits longer than any measurement takes, or that cannot take
  // turns at all, proceeds without, or is refused with kUnavailable where measuring beside another
  // is forbidden.
  virtual Result<Grant> Take(MachineUse use, const std::function<bool()>& go_on) = 0;
};

}  // namespace attune
