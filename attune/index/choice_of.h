// Converts a measurement set to the choice that a lookup needs.
#pragma once

#include <optional>

#include "attune/record/record.h"
#include "attune/record/select.h"
#include "attune/trial/choice_source.h"

namespace attune {

// The choice of `set`, in any environment; nothing if it is not finished or timed nothing. The
// ranking holds the choice, the final's other candidates, then those of the screening that the
// final left out, each quickest first; it skips candidates with a failure as their last result.
// `set` is with samples.
std::optional<IndexedChoice> ChoiceOf(const RecordedSet& set, const SelectOptions& options);

}  // namespace attune
