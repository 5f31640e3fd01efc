// A list of configs as one group of a space. Private to this module.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config.h"
#include "attune/space/config_space.h"
#include "attune/space/space_builder.h"

namespace attune {

// The parameters of `configs` in the order of their names, each with the values that occur,
// ascending. kInvalidArgument if there is no config, or one has other parameters than the first.
Result<std::vector<Parameter>> ParametersOf(const std::vector<Config>& configs);

struct ListedGroup {
  ParameterGroup group;  // Without parameters if none has a choice.
  // Position in the list, per config in the depth-first order of the group.
  std::vector<uint64_t> place_of_config;
};

// kInvalidArgument if a config occurs twice.
Result<ListedGroup> ListGroup(const std::vector<Parameter>& parameters,
                              const std::vector<Config>& configs);

}  // namespace attune
