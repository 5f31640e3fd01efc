// What a tuning says about its own evidence: sentences for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/record/select.h"
#include "attune/trial/candidate.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"
#include "attune/tuner/tuner.h"

namespace attune {

// That the times on which `choice` rests are of a busy machine. REQUIRES: !WasSteady(choice).
std::string UnsteadyNote(const Choice& choice);

// That the clock was held back around the final, and by what. REQUIRES: HeldBackBy(conditions) is
// not empty.
std::string HeldBackNote(const SetConditions& conditions);

// That the device is no longer asked for its conditions, because of `reason`.
std::string SilenceNote(std::string_view reason);

// That what the device said of itself is impossible, for `reason`, and is not kept.
std::string ImpossibleConditionsNote(std::string_view reason);

// That `standing` is kept, because the new evidence is worse.
std::string StandsNote(const Choice& standing);

// That `candidate` is left out, because creating it took longer than its problem has.
std::string SlowToCreateNote(const Candidate& candidate, int64_t load_ns, int64_t per_problem_ns);

// That the default `candidate` is no baseline, because it failed or was not ready in time.
std::string LostDefaultNote(const Candidate& candidate, bool was_late);

// That so many candidates were tried by a tuning that was cut off, whose search took `searched_ns`.
std::string TakenOverNote(int64_t count, int64_t searched_ns);

// That no candidate could be timed, how those failed that were tried and what the first of them
// said, or that none was tried. REQUIRES: !report.choice.
std::string NothingTimedNote(const TuneReport& report);

// That the timeline could not be kept, because of `status`.
std::string LostTimelineNote(const Status& status);

// That `baseline` failed while it was timed.
std::string LostBaselineNote(const Candidate& baseline);

}  // namespace attune
