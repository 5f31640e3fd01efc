// What a request for attune-tuner asks of the tuning.
#pragma once

#include "attune/tuner/tuner.h"
#include "runtime/tuner_request.h"

namespace attune {

// `options` with what `terms` ask for in place of the usual.
TuneOptions UnderTerms(TuneOptions options, const TuningTerms& terms);

}  // namespace attune
