// Finds the valid combinations of parameters that constraints tie together. Private to this module.
//
// Parameters are chosen level by level. A constraint narrows the values of its last parameter as
// soon as all its other parameters are chosen. Two choices of the first parameters share a state if
// the narrowed values of later parameters are equal, and so are all values that constraints have
// yet to read: computed values (the product of two block sizes, say), not the parameters
// themselves. So the states are few even if the configs are many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"
#include "attune/space/counted_graph.h"

namespace attune {

// Limits on building a group: some seconds and half a gigabyte at most.
struct GroupLimits {
  uint64_t states = uint64_t{1} << 23;  // Per level.
  // Words that these take, with their sets of values; of 8 bytes.
  uint64_t words = uint64_t{1} << 24;
  uint64_t steps = uint64_t{1} << 25;  // Values that lead from one state to another.
  uint64_t checks = uint64_t{1} << 31;
};

// A constraint with its names resolved.
struct BoundConstraint {
  const Constraint* constraint = nullptr;
  std::vector<size_t> parameters;  // Parameters that it reads and that have a choice, ascending.
  Expression::Lookup lookup;       // Reads GroupProblem::current.
};

// Parameters that share constraints, directly or through others.
struct GroupProblem {
  const std::vector<Parameter>* parameters = nullptr;  // Parameters of the whole space.
  std::vector<size_t> order;                           // Those of the group, as they are chosen.
  std::vector<const BoundConstraint*> constraints;     // Each reads one of them at least.
  // The value of every parameter of the space; for this group's parameters, the value being tried.
  std::vector<const ParameterValue*>* current = nullptr;
  GroupLimits limits = {};
};

// How to treat a combination for which a constraint cannot be evaluated.
enum class FailedCheck { kRefuses, kAllows };

struct BuiltGroup {
  std::optional<CountedGraph> graph;  // Nothing if no combination is valid.
  bool any_failed = false;            // A constraint could not be evaluated somewhere.
  // The constraint that refused the last combinations tried.
  const BoundConstraint* refused_by = nullptr;
};

// kResourceExhausted where a limit is exceeded.
Result<BuiltGroup> BuildGroup(const GroupProblem& problem, FailedCheck policy);

}  // namespace attune
