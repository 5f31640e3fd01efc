// Waits for the turn of a process at the machine, within the bounds of its run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "attune/base/status.h"
#include "attune/tuner/machine_turns.h"
#include "attune/tuner/tuner.h"

namespace attune {

struct AwaitedTurn {
  std::unique_ptr<MachineTurns::Turn> turn;  // Null where no other process measures.
  int64_t waited_ns = 0;                     // Not counted in the time of the problem.
  std::string note;                          // Why there is none; empty with a turn.
};

// Takes the machine of `parts` for `use`. Calls `is_waiting` before each further look.
// kDeadlineExceeded if `bounds` end before.
Result<AwaitedTurn> AwaitTurn(const TunerParts& parts, MachineUse use, const TuneBounds& bounds,
                              const std::function<void()>& is_waiting);

}  // namespace attune
