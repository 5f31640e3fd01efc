// Measures how libraries that take turns in one process disturb each other.
#pragma once

#include <string>
#include <vector>

namespace attune {

struct AlternatingRow {
  std::string library;
  double alone_ns = 0;        // Median of calls that follow one of the same library.
  double alternating_ns = 0;  // Median of calls that follow one of another library.
  double ratio = 0;           // Median over the rounds of one by the other.
  double ratio_p90 = 0;       // Single calls in turn, over the median alone.
};

// One runtime, one product of size x size x (size + i) for each library, forced; `rounds` rounds of
// a block alone for each library and one block in turn. Ends the program if a library is missing.
std::vector<AlternatingRow> MeasureAlternating(int size, int rounds);

}  // namespace attune
