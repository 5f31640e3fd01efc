#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "attune/base/gzip.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "bench/models/recordings.h"
#include "extensions/models/samples/conv_features.h"
#include "extensions/models/samples/gemm_features.h"
#include "extensions/models/seer/csv.h"

namespace attune::bench {
namespace {

Result<Conv> NeuSightConv(const CsvRow& row, const std::vector<size_t>& columns) {
  std::array<int64_t, 7> numbers = {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(numbers[i], WholeIn(row, columns[i], i == 6 ? 0 : 1, kMostWhole));
  }
  const auto [b, in, out, filter, width, stride, pad] = numbers;
  Conv conv;
  conv.batch = b;
  conv.in_channels = in;
  conv.out_channels = out;
  conv.filter = {1, filter, filter};
  conv.in = {1, width, width};
  conv.stride = {1, stride, stride};
  conv.pad = {0, pad, pad};
  const Status valid = Validate(conv);
  if (!valid.ok()) return valid.WithContext(fmt::format("Line {}", row.line));
  return conv;
}

// Places over the whole table to predict at when the place is unknown.
constexpr size_t kPlacesAsked = 41;

// One more feature that times are linear in, behind the others of that kind.
void AddPlaces(Recording& recording, bool is_told) {
  FeatureSet& features = recording.features;
  const auto operation = static_cast<std::ptrdiff_t>(features.linear_operation++);
  const auto kernel = static_cast<std::ptrdiff_t>(features.linear_kernel++);
  features.name += "_in_place";
  features.operation.insert(features.operation.begin() + operation, "place");
  features.kernel.insert(features.kernel.begin() + kernel, "place");
  const auto placed = [&](FeatureRow row, double place) {
    row.values.insert(row.values.begin() + operation, place);
    row.kernels[0].values.insert(row.kernels[0].values.begin() + kernel, place);
    return row;
  };
  const double step =
      static_cast<double>(recording.problems.size()) / static_cast<double>(kPlacesAsked);
  for (size_t i = 0; i < recording.problems.size(); ++i) {
    RecordedProblem& problem = recording.problems[i];
    const FeatureRow row = problem.asked[0];
    problem.samples[0].row = placed(row, static_cast<double>(i));
    problem.asked = {problem.samples[0].row};
    if (is_told) continue;
    problem.asked.clear();
    for (size_t j = 0; j < kPlacesAsked; ++j) {
      problem.asked.push_back(placed(row, step * (static_cast<double>(j) + 0.5)));
    }
  }
}

}  // namespace

Result<Recording> ReadNeuSight(const std::filesystem::path& data, const std::string& gpu,
                               int64_t multiprocessors, KnownPlace place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                          ReadFileUnpacked(data / "neusight" / fmt::format("conv_{}.csv.gz", gpu)));
  ATTUNE_ASSIGN_OR_RETURN(const CsvTable table, ReadCsv(text));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<size_t> extents,
                          ColumnsOf(table, {"B", "Input_Channel", "Output_Channel", "Kernel_Szie",
                                            "Input_Size", "Stride", "Padding"}));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<size_t> columns,
                          ColumnsOf(table, {"Latency", "Kernel Name", "Grid x", "Grid y", "Grid z",
                                            "Block x", "Block y", "Block z", "Kernels"}));
  Recording recording{ConvFeatures(), {}, {}};
  std::map<std::string, uint64_t> configurations;
  for (const CsvRow& row : table.rows) {
    ATTUNE_ASSIGN_OR_RETURN(const Conv conv, NeuSightConv(row, extents));
    std::array<int64_t, 6> launch = {};
    for (size_t i = 0; i < launch.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(launch[i], WholeIn(row, columns[2 + i], 1, kMostWhole));
    }
    const std::string& names = row.fields[columns[8]];
    LaunchProfile profile;
    profile.multiprocessors = multiprocessors;
    profile.launches = std::count(names.begin(), names.end(), ';');
    // The list of all kernels says more than the name of the longest: which of them are around it.
    profile.kernels.push_back({row.fields[columns[1]] + " in " + names,
                               launch[0] * launch[1] * launch[2], launch[3] * launch[4] * launch[5],
                               0, 0, 0});
    RecordedProblem problem;
    Sample sample;
    ATTUNE_ASSIGN_OR_RETURN(sample.time_ms, NumberIn(row, columns[0], 1e-6));
    sample.row = ConvRow(conv, "conv", profile);
    sample.kernel_times_ms = {sample.time_ms};
    // The same convolution twice is one configuration.
    std::string key;
    for (const size_t column : extents) (key += row.fields[column]) += ',';
    sample.configuration = configurations.emplace(key, configurations.size()).first->second;
    problem.asked = {sample.row};
    problem.samples = {std::move(sample)};
    recording.problems.push_back(std::move(problem));
  }
  if (place != KnownPlace::kUnknown) AddPlaces(recording, place == KnownPlace::kTold);
  return recording;
}

Result<Recording> ReadCpuSgemm(const std::filesystem::path& data) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFileUnpacked(data / "cpu_sgemm.csv.gz"));
  ATTUNE_ASSIGN_OR_RETURN(const CsvTable table, ReadCsv(text));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<size_t> columns,
                          ColumnsOf(table, {"m", "n", "k", "ms"}));
  Recording recording{GemmFeatures(), {}, {}};
  std::map<std::string, size_t> positions;
  std::vector<std::vector<double>> times;
  for (const CsvRow& row : table.rows) {
    std::array<int64_t, 3> extents = {};
    for (size_t i = 0; i < extents.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(extents[i], WholeIn(row, columns[i], 1, kMostWhole));
    }
    ATTUNE_ASSIGN_OR_RETURN(const double time_ms, NumberIn(row, columns[3], 1e-9));
    const std::string key = fmt::format("{},{},{}", extents[0], extents[1], extents[2]);
    const auto [at, is_new] = positions.emplace(key, recording.problems.size());
    if (is_new) {
      Sample sample;
      sample.row = GemmRow(PackedGemm(extents[0], extents[1], extents[2]), "sgemm", {});
      sample.configuration = at->second;
      recording.problems.push_back({{sample}, {sample.row}, {}});
      times.emplace_back();
    }
    times[at->second].push_back(time_ms);
  }
  // A shape that was timed several times has the median of those.
  for (size_t i = 0; i < times.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    recording.problems[i].samples[0].time_ms = times[i][times[i].size() / 2];
  }
  return recording;
}

}  // namespace attune::bench
