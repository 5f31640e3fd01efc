// Sentences for people about the evidence of a tuning. Each comment below states the content of its
// sentence.
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

// The times behind `choice` are of a busy machine. REQUIRES: !WasSteady(choice).
std::string UnsteadyNote(const Choice& choice);

// The clock was held back around the final, and the cause. REQUIRES: HeldBackBy(conditions) is not
// empty.
std::string HeldBackNote(const SetConditions& conditions);

// The device is no longer asked for its conditions, because of `reason`.
std::string SilenceNote(std::string_view reason);

// The device conditions are impossible, for `reason`, and not kept.
std::string ImpossibleConditionsNote(std::string_view reason);

// The incumbent `standing` is kept, because the new evidence is worse.
std::string StandsNote(const Choice& standing);

// `candidate` is left out, because creating it took longer than its problem has.
std::string SlowToCreateNote(const Candidate& candidate, int64_t load_ns, int64_t per_problem_ns);

// The default `candidate` is no baseline, because it failed or was not ready in time.
std::string LostDefaultNote(const Candidate& candidate, bool was_late);

// `count` candidates were tried by an interrupted tuning, whose search took `searched_ns`.
std::string TakenOverNote(int64_t count, int64_t searched_ns);

// No candidate could be timed: how the tried ones failed and the message of the first, or that none
// was tried. REQUIRES: !report.choice.
std::string NothingTimedNote(const TuneReport& report);

// The timeline could not be kept, because of `status`.
std::string LostTimelineNote(const Status& status);

// `baseline` failed while it was timed.
std::string LostBaselineNote(const Candidate& baseline);

}  // namespace attune
