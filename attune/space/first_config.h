// The first config of a space, found without listing the others.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// What ConfigSpace::Create makes a space of, without constants.
struct SpaceDescription {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
};

// Index 0 of the space that ConfigSpace::Create makes of `description`. Checks values in order and
// each constraint as soon as what it reads has a value, so that a default of first values costs one
// check of each. If no config is valid, kInvalidArgument or the first failure of a constraint;
// kNotFound if a constraint reads what is no parameter.
Result<Config> FirstConfig(const SpaceDescription& description);

}  // namespace attune
