// The first config of a space, and whether it has a given one, without listing the others.
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

// Index 0 of the space that ConfigSpace::Create makes of `description`. Tries values in order and
// checks each constraint as soon as its inputs have values, so that a default of first values costs
// one check for each. kResourceExhausted beyond `most_checks` values: constraints that tie an early
// parameter to a late one may need as many as there are configs. If no config is valid,
// kInvalidArgument or the first failure of a constraint. kNotFound if a constraint reads a name
// that is neither a parameter nor a constant.
Result<Config> FirstConfig(const SpaceDescription& description,
                           int64_t most_checks = std::numeric_limits<int64_t>::max());

// True if the space that ConfigSpace::Create makes of `description` has `config`. Evaluates each
// constraint once. The failure of a constraint that cannot be evaluated at `config`.
Result<bool> HasConfig(const SpaceDescription& description, const Config& config);

}  // namespace attune
