// Finds the valid configs of a space. Private to this module.
//
// Parameters that share a constraint, directly or through others, form a group. Groups do not
// influence each other, so the space is their product, and only each one's own valid combinations
// are looked for.
#pragma once

#include <cstddef>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"
#include "attune/space/counted_graph.h"

namespace attune {

struct ParameterGroup {
  std::vector<size_t> parameters;  // By level of the graph; those with one value have no group.
  CountedGraph graph;
};

// Groups by their first parameter. Fails as ConfigSpace::Create does.
Result<std::vector<ParameterGroup>> BuildGroups(const std::vector<Parameter>& parameters,
                                                const std::vector<Constraint>& constraints,
                                                const Config& constants);

}  // namespace attune
