// What models are fitted to and asked about: numbers with names, of an operation and of each of its
// kernels. Values only; conv_features.h, gemm_features.h and shape_features.h make them of
// problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/fingerprint.h"

namespace attune {

// The names of the columns of rows. Models that were fitted to one set of features refuse another.
struct FeatureSet {
  std::string name;
  std::vector<std::string> operation;  // Of FeatureRow::values.
  std::vector<std::string> kernel;     // Of KernelRow::values.
  // How many of each, from the first on, are at least 0 and what times are sums of. The others say
  // when the sum is wrong.
  size_t linear_operation = 0;
  size_t linear_kernel = 0;

  friend bool operator==(const FeatureSet&, const FeatureSet&) = default;
};
Fingerprint FingerprintOf(const FeatureSet& features);

// Columns that several models know by name.
inline constexpr std::string_view kFlopsFeature = "flops";
inline constexpr std::string_view kBytesFeature = "bytes";

// One kernel of an operation.
struct KernelRow {
  std::string signature;  // Which code it is: its name, as the library calls it.
  std::vector<double> values;

  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// One way to compute one problem.
struct FeatureRow {
  std::string algorithm;           // What is chosen among: an algorithm, an engine, a solver.
  std::vector<double> values;      // Finite.
  std::vector<KernelRow> kernels;  // In the order of launches; empty where none is known.

  friend bool operator==(const FeatureRow&, const FeatureRow&) = default;
};

// A row with what was measured of it.
struct Sample {
  FeatureRow row;
  double time_ms = 0;  // Above 0: of the whole operation, the median of its repeats.
  // Of each kernel of `row`, above 0; empty where only the whole was measured.
  std::vector<double> kernel_times_ms;
  // Samples of one configuration (a problem, whatever the algorithm) are held out together.
  uint64_t configuration = 0;
};

}  // namespace attune
