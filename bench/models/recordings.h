// Times that others, or this project, recorded, as samples of models. docs/models.md has where each
// is from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"

namespace attune::bench {

// One configuration with every way to compute it that was measured.
struct RecordedProblem {
  std::vector<Sample> samples;
  // Rows to ask a model about before anything ran: for CUDA from a dry run. As many for each
  // sample, its own next to each other: one, or all possible ones if the right one is unknown.
  std::vector<FeatureRow> asked;
  // The times of the choices of the vendor's heuristics, by heuristic; 0: it does not run. Empty if
  // the data lack them.
  std::map<std::string, double> vendor_ms;
};

struct Recording {
  FeatureSet features;
  std::vector<RecordedProblem> problems;
  std::vector<double> dry_runs_us;  // Time of each; empty if not recorded.
};

// No extent of a layer or a grid that is recorded is larger: products of three of them fit 64 bits.
inline constexpr double kMostWhole = 1 << 20;

// `h200/time_NAME.csv.gz` with `h200/kern_NAME.csv.gz`: convolutions of cuDNN's algorithms.
Result<Recording> ReadH200(const std::filesystem::path& data, const std::string& name);

// `neusight/conv_GPU.csv.gz`: whole operations of which the main kernel is known.
//
// What its recorder added to the times grew as it went on: on the P100 the smallest layers take
// 0.11 ms in the first rows and 0.8 ms in the last ones, in a straight line between. But for
// kUnknown a row's place in the table, which is the order of recording, is one more feature that
// times are linear in, so that a model can tell the recorder from the GPU.
enum class KnownPlace {
  kUnknown,
  kLearnt,  // Models learn at places; predictions know none, and cover all over the table.
  kTold,    // Predictions know it, too.
};
Result<Recording> ReadNeuSight(const std::filesystem::path& data, const std::string& gpu,
                               int64_t multiprocessors, KnownPlace place);

// `cpu_sgemm.csv.gz`.
Result<Recording> ReadCpuSgemm(const std::filesystem::path& data);

// Lines of `cuda_conv_times` (collected_layer.h), of one device. The vendor's heuristics are
// "vendor" (the legacy call), "vendor_a" and "vendor_b" (the graph API's modes).
Result<Recording> ReadCollected(const std::filesystem::path& file);

}  // namespace attune::bench
