// The Pareto front of a set with other objectives than time: candidates that no other dominates.
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

// Returns true if `a` is as good as `b` in every value and better in one. REQUIRES: as many values
// as objectives.
bool Dominates(std::span<const double> a, std::span<const double> b,
               std::span<const Objective> objectives);

// Indices of the Pareto front, best in the first objective first; among equals the first. Compares
// the values alone: their intervals hold the uncertainty from noise.
std::vector<size_t> ParetoFront(std::span<const std::vector<double>> values,
                                std::span<const Objective> objectives);

// A candidate with its metrics, one for each objective, in their order.
struct FrontPoint {
  Candidate candidate;
  std::vector<FigureValue> figures;
  bool is_default = false;
  bool is_final = false;  // Measured in the last rounds, which alone decide about the front.
  bool is_on_front = false;

  friend bool operator==(const FrontPoint&, const FrontPoint&) = default;
};

// The objectives and points of one measurement set.
struct ObjectiveFront {
  MeasurementSet set;
  std::vector<Objective> objectives;
  std::vector<FrontPoint> points;  // The front first, in its order; then the others.
};

// The newest finished set of `problem` on `here` with the objectives `names` ("energy",
// "time,error"); nothing if there is none. Fails as the stores do.
struct FrontQuery {
  Problem problem;
  Target here;
  std::string names;
};
Result<std::optional<ObjectiveFront>> FindFront(RecordStore& records, FigureStore& figures,
                                                const FrontQuery& query);

}  // namespace attune
