// Finds the valid configs of a space. Private to this module.
//
// Parameters that share a constraint, directly or through others, form a component. Components do
// not influence each other, so the space is their product and only each one's own valid
// combinations are listed: a space of 10^16 configs whose components are small costs kilobytes.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// Bounds on what a space may cost to build.
inline constexpr uint64_t kMaxComponentConfigs = uint64_t{1} << 25;
inline constexpr uint64_t kMaxVisits = uint64_t{1} << 32;

struct Component {
  std::vector<size_t> parameters;  // Ascending; those with one value belong to no component.
  std::vector<uint64_t> weights;   // Of each parameter's value position in a rank; the last is 1.
  // Mixed-radix numbers of the valid combinations, ascending, which is the depth-first order.
  std::vector<uint64_t> ranks;
};

// Fails as ConfigSpace::Create does.
Result<std::vector<Component>> BuildComponents(const std::vector<Parameter>& parameters,
                                               const std::vector<Constraint>& constraints,
                                               const Config& constants);

}  // namespace attune
