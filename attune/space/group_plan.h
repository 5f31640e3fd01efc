// The work of a group's builder at each level, planned before any value is chosen. Private to this
// module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attune/space/column_program.h"
#include "attune/space/group_builder.h"

namespace attune {

// A constraint, by levels.
struct PlannedConstraint {
  const BoundConstraint* bound = nullptr;
  std::vector<int> levels;  // Levels of the parameters that it reads, ascending.
  // Its column of 0 and 1; nothing if it has to be evaluated for each combination.
  std::optional<ColumnId> truth;
  std::vector<ColumnId> last_columns;  // To be computed at the last level, in order.
  std::vector<ColumnId> inputs;        // Columns of earlier levels that these read.
  // The inputs depend on nothing but the value at the level at which it is decided.
  bool by_value = false;

  int last_level() const { return levels.back(); }
  // The level at which all but the last parameter are chosen. REQUIRES: it reads two or more.
  int decided_level() const { return levels[levels.size() - 2]; }
};

struct LevelPlan {
  std::vector<ColumnId> own_columns;    // Computed once for the level.
  std::vector<ColumnId> mixed_columns;  // Computed for each state.
  std::vector<ColumnId> chosen;  // Columns of the level with a cell that is read after the choice.
  std::vector<size_t> decides;   // Constraints that narrow a later level from here on.
  // A state behind this level: narrowed levels, and columns still to be read, ascending.
  std::vector<size_t> narrowed;
  std::vector<ColumnId> carried;

  // True if different values can lead to different states.
  bool ValueMatters() const { return !chosen.empty() || !decides.empty(); }
  size_t StateWords() const {
    return narrowed.size() + carried.size() + FailureWords(carried.size());
  }
  // Words with a bit for each of `cells` cells that is 1 if the cell is missing.
  static size_t FailureWords(size_t cells) { return (cells + 63) / 64; }
};

struct GroupPlan {
  ColumnProgram program;
  std::vector<PlannedConstraint> constraints;
  std::vector<LevelPlan> levels;
};

GroupPlan PlanGroup(const GroupProblem& problem);

}  // namespace attune
