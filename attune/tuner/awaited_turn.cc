#include "attune/tuner/awaited_turn.h"

#include <utility>

#include "attune/tuner/evaluator.h"

namespace attune {

Result<AwaitedTurn> AwaitTurn(const TunerParts& parts, MachineUse use, const TuneBounds& bounds,
                              const std::function<void()>& is_waiting) {
  if (parts.machine == nullptr) return AwaitedTurn();
  const int64_t begin_ns = parts.clock->NowNs();
  auto grant = parts.machine->Take(use, [&] {
    is_waiting();
    const bool is_late = bounds.end_ns > 0 && parts.clock->NowNs() >= bounds.end_ns;
    return !is_late && !(bounds.stop_requested && bounds.stop_requested());
  });
  if (!grant.ok()) return EvaluationStatus(grant.error());
  return AwaitedTurn{std::move(grant->turn), parts.clock->NowNs() - begin_ns,
                     std::move(grant->note)};
}

}  // namespace attune
