// How much faster attune's choices on a GPU are than the vendor's own: main() of cuda_gemm and
// cuda_conv.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attune/problem/problem.h"

namespace attune {

struct ProblemSet {
  std::string name;  // For --set.
  std::vector<Problem> problems;
};

// Parses the texts of problems (problem/problem.h); ends the process with a message at a text that
// is no problem.
ProblemSet SetOfTexts(std::string name, std::span<const char* const> texts);

// The comparison that a bench makes.
struct VendorBench {
  std::string name;           // Name of the program.
  std::string vendor_solver;  // Its first config is the vendor's first choice.
  std::vector<ProblemSet> sets;
};

// Tunes the problems of a set, those that --db knows already aside, and times in a fresh process
// for each problem: the vendor's first choice, the vendor's best (the candidate of its solver with
// the least median that was recorded), what a program is served without records, and the choice.
// Prints a table or one JSON object, with the roofline of each problem, and candidates tried,
// failed and chosen for each solver. Returns the exit status.
int VendorBenchMain(int argc, char** argv, const VendorBench& bench);

}  // namespace attune
