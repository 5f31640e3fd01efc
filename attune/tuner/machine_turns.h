// Whose turn it is to use a machine when several processes tune on it: times that were taken while
// others worked beside are worth nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune {

// What a process is about to do with every core of the machine.
enum class MachineUse {
  kPrepare,  // Compute a reference, build and verify: beside others who do, beside nobody who
             // times.
  kTime,     // Alone.
};

class MachineTurns {
 public:
  virtual ~MachineTurns() = default;

  // The machine, as long as it lives.
  class Turn {
   public:
    virtual ~Turn() = default;
  };
  struct Grant {
    std::unique_ptr<Turn> turn;  // Null for who has to go without.
    std::string note;            // Why; empty with a turn.
  };

  // Waits until the others let go. Asks `go_on` (may be null) before each further look, several
  // times in a second, and fails with kDeadlineExceeded when that says no. A caller holds one turn
  // at a time. Who waits longer than anybody measures, or cannot take turns at all, goes without,
  // or is refused with kUnavailable where nobody may measure beside another.
  virtual Result<Grant> Take(MachineUse use, const std::function<bool()>& go_on) = 0;
};

}  // namespace attune
