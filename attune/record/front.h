// What was found where more than the time counts: the candidates that nobody beats in everything.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/figure_store.h"
#include "attune/record/record_store.h"
#include "attune/trial/figure.h"

namespace attune {

inline constexpr size_t kMaxObjectives = 2;

// "time,energy".
std::string Text(std::span<const Objective> objectives);

// Whether `a` is as good as `b` in everything and better in something. REQUIRES: as many values as
// objectives.
bool Dominates(std::span<const double> a, std::span<const double> b,
               std::span<const Objective> objectives);

// Positions of those that nobody dominates, best in the first objective first; of several with the
// same values the first. All comparisons are of the values alone: what noise leaves open stands
// beside them, in their intervals.
std::vector<size_t> ParetoFront(std::span<const std::vector<double>> values,
                                std::span<const Objective> objectives);

// A candidate with its figures, one for each objective, in their order.
struct FrontPoint {
  Candidate candidate;
  std::vector<FigureValue> figures;
  bool is_default = false;
  bool is_final = false;  // Measured in the last rounds, which alone decide about the front.
  bool is_on_front = false;

  friend bool operator==(const FrontPoint&, const FrontPoint&) = default;
};

// Of one measurement set.
struct ObjectiveFront {
  MeasurementSet set;
  std::vector<Objective> objectives;
  std::vector<FrontPoint> points;  // Those of the front first, in its order; then the others.
};

// The newest set of `problem` on `here` in which `names` ("energy", "time,error") was sought, if it
// came to its end; nothing if there is none. Fails as the stores do.
struct FrontQuery {
  Problem problem;
  Target here;
  std::string names;
};
Result<std::optional<ObjectiveFront>> FindFront(RecordStore& records, FigureStore& figures,
                                                const FrontQuery& query);

}  // namespace attune
