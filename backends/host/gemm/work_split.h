// How the work of a product is divided among threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/target.h"
#include "attune/space/first_config.h"

namespace attune::host {

enum class WorkSplit {
  kNone,     // One thread does everything.
  kLibrary,  // The library divides it among threads of its own.
  kRows,     // Each thread computes some rows of C,
  kColumns,  // or some columns,
  kDepth,    // or a part of every sum, which are added up afterwards,
  kBatch,    // or some products of the batch.
};
// "none", "library", "rows", "columns", "depth", "batch": the values of the parameter "split".
std::string_view Name(WorkSplit split);
WorkSplit ParseWorkSplit(std::string_view name);

// The division in a config from a space with the parameters below.
struct Division {
  WorkSplit split = WorkSplit::kNone;
  int threads = 1;

  friend bool operator==(const Division&, const Division&) = default;
};
// REQUIRES: `config` has "threads" and "split".
Division DivisionOf(const Config& config);

// 1, 2, 4, ... and `compute_units`, the largest first, because it is the default.
std::vector<ParameterValue> ThreadValues(int compute_units);

// The divisions among our own threads that leave each of them something to do, best guess first.
std::vector<WorkSplit> UsefulSplits(const Gemm& gemm);

// The parameters "threads" and "split" and the rule that ties them: one thread means no split.
SpaceDescription DescribeDivision(const Target& target, const std::vector<WorkSplit>& splits);

}  // namespace attune::host
