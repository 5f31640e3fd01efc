// Computes columns. Private to this module.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/space/column_program.h"

namespace attune {

// A cell that may be missing because it cannot be computed: a division by zero, an overflow.
struct ScalarCell {
  Cell cell;
  bool failed = false;
};

// Holds the cells of all columns of a program: one cell for each column with chosen levels, and one
// for each value of the others. Not thread-safe.
class ColumnMachine {
 public:
  // Computes the columns that depend on no choice.
  explicit ColumnMachine(const ColumnProgram& program);

  // The values of the parameter at `level`, for the columns that are its values or positions.
  void SetValues(int level, const std::vector<ParameterValue>& values);

  // Computes `columns` of `level`, in this order. REQUIRES: their inputs of the same level are
  // computed, and their inputs of other levels chosen.
  void Run(std::span<const ColumnId> columns, int level);

  // From now on the value number `lane` of its parameter's is chosen in `column`.
  void Choose(ColumnId column, size_t lane) {
    const Lanes& lanes = lanes_[column];
    scalars_[column] = {lanes.cells[lane], lanes.any_failed && lanes.failed[lane] != 0};
  }
  void Set(ColumnId column, ScalarCell cell) { scalars_[column] = cell; }

  const ScalarCell& Scalar(ColumnId column) const { return scalars_[column]; }
  uint64_t Bits(ColumnId column) const { return std::bit_cast<uint64_t>(scalars_[column].cell); }
  bool IsTrue(ColumnId column, size_t lane) const {
    return lanes_[column].cells[lane].integer != 0;
  }
  // Where IsTrue, as bits of `words`, which are 0. Four times as quick as asking for each lane.
  void MarkTrue(ColumnId column, std::vector<uint64_t>& words) const {
    const std::vector<Cell>& cells = lanes_[column].cells;
    for (size_t lane = 0; lane < cells.size(); ++lane) {
      words[lane / 64] |= uint64_t{cells[lane].integer != 0} << (lane % 64);
    }
  }
  bool HasFailed(ColumnId column) const { return lanes_[column].any_failed; }
  bool HasFailed(ColumnId column, size_t lane) const {
    return lanes_[column].any_failed && lanes_[column].failed[lane] != 0;
  }

 private:
  struct Lanes {
    std::vector<Cell> cells;
    std::vector<uint8_t> failed;  // Meaningful if `any_failed`.
    bool any_failed = false;
  };
  friend class ColumnStep;

  const ColumnProgram& program_;
  std::vector<Lanes> lanes_;
  std::vector<ScalarCell> scalars_;
  std::vector<size_t> lanes_of_level_;
};

}  // namespace attune
