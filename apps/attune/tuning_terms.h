// Tuning terms of a request for attune-tuner.
#pragma once

#include "attune/tuner/tuner.h"
#include "runtime/tuner_request.h"

namespace attune {

// `options`, with the values of `terms` instead of the usual ones.
TuneOptions UnderTerms(TuneOptions options, const TuningTerms& terms);

}  // namespace attune
