// The first config of a space, found without listing the others.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// The arguments of ConfigSpace::Create.
struct SpaceDescription {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  Config constants = {};
};

// Index 0 of the space that ConfigSpace::Create makes of `description`. Checks values in order and
// each constraint as soon as what it reads has a value, so that a default of first values costs one
// check of each. kResourceExhausted once that takes more than `most_checks` values: constraints
// that tie an early parameter to a late one may need as many as there are configs. If no config is
// valid, kInvalidArgument or the first failure of a constraint. kNotFound if a constraint reads a
// name that is neither a parameter nor a constant.
Result<Config> FirstConfig(const SpaceDescription& description,
                           int64_t most_checks = std::numeric_limits<int64_t>::max());

}  // namespace attune
