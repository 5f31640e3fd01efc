// The times that gemm_choice has measured for every product, and its figures over all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/measure/statistics.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

// The calls of a program that does not choose: each with its own default.
inline constexpr const char* kGemmLibraries[] = {"host.openblas-gemm", "host.blis-gemm",
                                                 "host.onednn-gemm", "host.libxsmm-gemm",
                                                 "host.eigen-gemm"};
inline constexpr const char* kGemmBaseline = kGemmLibraries[0];

struct GemmChoiceRow {
  std::string family;
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  // By solver name; a library that does not apply is absent from both.
  std::map<std::string, double> library_ns;
  std::map<std::string, RatioEstimate> speedup;  // Library over choice, paired by rounds.
  int64_t considered = 0;
};

// The library that computes the product of `row` in the least time.
// REQUIRES: some library was timed.
const std::string& FastestLibrary(const GemmChoiceRow& row);

struct GemmChoiceSummary {
  double geomean_over_openblas = 0;
  double geomean_over_best_single_library = 0;    // The one with which the geometric mean is least.
  double geomean_over_best_library_of_shape = 0;  // For each product the one fastest for it.
  double worst = 0;                               // Over OpenBLAS.
  std::string best_single_library;
  std::string worst_problem;
};

// REQUIRES: `rows` is not empty, and every row has kGemmBaseline, to which a program would fall
// back where the library that it calls does not apply.
GemmChoiceSummary Summarize(std::span<const GemmChoiceRow> rows);

}  // namespace attune
