// Rows that models are fitted to and predict: numbers with names, of an operation and of each of
// its kernels. Values only; conv_features.h, gemm_features.h and shape_features.h make them of
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
  std::vector<std::string> operation;  // Names of FeatureRow::values.
  std::vector<std::string> kernel;     // Names of KernelRow::values.
  // Numbers of leading features that are at least 0 and of which times are sums. The others show
  // where the sum is wrong.
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
  std::string algorithm;           // A choice is among these: an algorithm, an engine, a solver.
  std::vector<double> values;      // Finite.
  std::vector<KernelRow> kernels;  // In the order of launches; empty where none is known.

  friend bool operator==(const FeatureRow&, const FeatureRow&) = default;
};

// A row and its measured times.
struct Sample {
  FeatureRow row;
  double time_ms = 0;  // Above 0: of the whole operation, the median of its repeats.
  // The time of each kernel of `row`, above 0; empty if only the whole was measured.
  std::vector<double> kernel_times_ms;
  // Samples of one configuration (a problem, with any algorithm) are held out together.
  uint64_t configuration = 0;
};

}  // namespace attune
