// Changes of a database: which records are new, gone, faster, slower.
#pragma once

#include <string>
#include <vector>

#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {

// A problem that both find-dbs know, by its quickest solver in each.
struct FindChange {
  std::string key;
  std::string solver_before;
  std::string solver_after;
  double before_ms = 0;
  double after_ms = 0;
};

struct FindDifference {
  // Keys, in order of appearance. A record of which MIOpen passes over all items does not count.
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<FindChange> faster;  // Largest factor first.
  std::vector<FindChange> slower;
  std::vector<FindChange> other_solver;  // Equally fast by another one.
  size_t unchanged = 0;                  // The same solver in the same time.
  // Geometric mean of before / after over all records that both have; 1 if there are none.
  double speedup = 1;
};
FindDifference Difference(const FindDb& before, const FindDb& after);

struct PerfChange {
  std::string key;
  std::string solver;
  std::string before;  // Parameters; empty where there were none.
  std::string after;
};

struct PerfDifference {
  std::vector<PerfChange> added;
  std::vector<PerfChange> removed;
  std::vector<PerfChange> changed;
  size_t unchanged = 0;
};
// REQUIRES: both are under the same form of keys.
PerfDifference Difference(const PerfDb& before, const PerfDb& after);

}  // namespace attune::miopen
