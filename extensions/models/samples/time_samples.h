// Find-dbs as samples of models of time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/formats/miopen/find_db.h"
#include "attune/model/feature_row.h"

namespace attune::miopen {

// Samples of ShapeFeatures("conv"); a solver's name is the algorithm and each record is a
// configuration.
struct FindSamples {
  std::vector<Sample> samples;
  // By configuration: its layer without batch, direction, type and layout, as a text. Records of
  // one layer are much alike, so a split by records says little about unseen layers.
  std::vector<std::string> layers;
  size_t left_out = 0;  // Records that Conv cannot express.
};
FindSamples SamplesOf(const FindDb& db);

}  // namespace attune::miopen
