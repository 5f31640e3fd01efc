// Points of problems in the space of the logarithms of their features, each feature in units of its
// spread. Neighbours are searched among these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/model/feature_row.h"
#include "attune/model/model_text.h"

namespace attune {

class Places {
 public:
  // Those of `samples`, which are not empty and all of one set of features; samples with the same
  // features of the operation share one. Returns the place of each sample.
  std::vector<uint32_t> Take(std::span<const Sample> samples);

  size_t size() const { return values_.size(); }
  // The features of the samples there.
  const std::vector<double>& ValuesAt(uint32_t place) const { return values_[place]; }

  // The squared distance of a row of such features to each place, in the order of places.
  std::vector<double> SquaredDistancesFrom(std::span<const double> values) const;

  // The lines "spreads", "places" and "at" (docs/formats/model.md). Reading fails with kDataLoss.
  void AppendText(std::string& text) const;
  static Result<Places> ReadFrom(ModelLines& lines, size_t features);

 private:
  // Fills coordinates_.
  void LayOut();

  std::vector<double> spreads_;              // One for each feature, above 0.
  std::vector<std::vector<double>> values_;  // By place, as in the samples; all differ.
  // Logarithms in units of their spread, all places of one feature behind each other: distances to
  // many places are computed side by side.
  std::vector<double> coordinates_;
};

}  // namespace attune
