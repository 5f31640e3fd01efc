// The timeline of a tuning, from the notes of its session and its evaluator.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/trial/timeline.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Notes when stages begin, in nanoseconds of any one clock.
class StageNotes {
 public:
  // Does nothing if the stage is unchanged.
  void Enter(TuneProgress::Stage stage, int64_t now_ns);
  // The stages until `now_ns`, since `begin_ns`.
  std::vector<StageSpan> Spans(int64_t begin_ns, int64_t now_ns) const;

 private:
  struct Note {
    TuningStage stage = TuningStage::kEnumerate;
    int64_t begin_ns = 0;
  };
  std::vector<Note> notes_;
};

// `begin_ns` is when the tuning began, by the clock of `busy`. Steps of a process that was stopped
// in between are in parts.
Timeline MakeTimeline(std::vector<StageSpan> stages, const BusyTime& busy, int64_t begin_ns);

}  // namespace attune
