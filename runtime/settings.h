// Options of a run time out of the C struct and the environment.
#pragma once

#include "attune/attune.h"
#include "attune/base/process_variables.h"
#include "attune/base/status.h"
#include "runtime/runtime.h"

namespace attune {

// The runtime options from `options` (may be null), else from ATTUNE_DEVICE, ATTUNE_DB,
// ATTUNE_PACKAGES, ATTUNE_POLICY, ATTUNE_PRESET, ATTUNE_RECORD_TAG, ATTUNE_DETERMINISTIC and
// ATTUNE_IEEE_SPECIAL_VALUES, else the defaults. ATTUNE_FORCE and ATTUNE_TIME_MODELS apply in any
// case. kInvalidArgument names the field or variable and its value.
Result<RuntimeOptions> ReadSettings(const attune_options* options,
                                    const ProcessVariables& variables);

}  // namespace attune
