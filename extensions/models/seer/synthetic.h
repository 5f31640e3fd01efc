// Data from known coefficients, which a trained model must recover.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "extensions/models/seer/grids.h"
#include "extensions/models/seer/linear_models.h"
#include "extensions/models/seer/variant_model.h"

namespace attune::seer {

// The behaviour of a synthetic kernel of a variant. Classes are those of a tree of two splits on C
// and W, and traffic has a step on K, so that trees can find all of it.
struct KnownKernel {
  double instructions_slope = 4.5;                                  // a of i = a q + b.
  double instructions_offset = 900;                                 // b.
  std::array<double, 2> compute = {3e-9, 0.004};                    // a, b.
  std::array<double, 2> dram = {2e-8, 0.01};                        // a, b.
  std::array<double, 4> under_utilised = {5e-9, 1e-9, 0.02, 7e-9};  // a, b, c, d.
  double processors = kTitanXpProcessors;

  KernelClass ClassAt(const Layer& layer) const;
};

// A record for each layer, the time times e^(noise u) with u uniform in [-1, 1).
std::vector<KernelRecord> MakeRecords(const Variant& variant, const KnownKernel& kernel,
                                      const std::vector<Layer>& layers, double noise,
                                      uint64_t seed);

// The times by a polynomial with these coefficients.
std::vector<TimedLayer> MakeTimes(std::vector<double> (*terms)(const Layer&, Rules), Rules rules,
                                  const std::vector<double>& coefficients,
                                  const std::vector<Layer>& layers);

}  // namespace attune::seer
