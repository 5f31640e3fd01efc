// From a measurement set to what a lookup needs of it.
#pragma once

#include <optional>

#include "attune/record/record.h"
#include "attune/record/select.h"
#include "attune/trial/choice_source.h"

namespace attune {

// What `set` chose, whatever its environment; nothing if it is not finished or timed nothing. The
// ranking holds the choice, the final's other candidates, then those of the screening that the
// final left out, each quickest first; none whose last word was a failure. `set` is with samples.
std::optional<IndexedChoice> ChoiceOf(const RecordedSet& set, const SelectOptions& options);

}  // namespace attune
