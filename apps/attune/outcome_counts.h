// How many problems of a run ended how, in words and as the exit status of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "attune/tuner/tune_run.h"

namespace attune {

struct OutcomeCounts {
  static constexpr std::array kKinds = {
      ProblemOutcome::Kind::kTuned, ProblemOutcome::Kind::kAlreadyTuned,
      ProblemOutcome::Kind::kUnsupported, ProblemOutcome::Kind::kFailed,
      ProblemOutcome::Kind::kNotReached};
  // In the order of kKinds, which is that of getting less far.
  std::array<int64_t, kKinds.size()> of_kind = {};

  void Add(ProblemOutcome::Kind kind);
  int64_t Of(ProblemOutcome::Kind kind) const;
  int64_t all() const;
  // Problems were looked at, and not one of all is tuned now. So is none at all.
  bool IsInVain() const;
};

OutcomeCounts CountOutcomes(const RunSummary& summary);

// "3 tuned, 1 failed": the tuned ones always, of the others those there are.
std::string Text(const OutcomeCounts& counts);

// A problem that no solver computes makes a run no worse, unless there is nothing else.
int ExitStatusOf(const OutcomeCounts& counts);

// The part of `wall_ns` in which candidates were built, verified or measured, in [0, 1].
double BusyShare(int64_t busy_ns, int64_t wall_ns);

}  // namespace attune
