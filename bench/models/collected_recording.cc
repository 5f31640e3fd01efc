#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/gzip.h"
#include "attune/ops/conv/conv.h"
#include "bench/models/collected_layer.h"
#include "bench/models/recordings.h"
#include "extensions/models/samples/conv_features.h"

namespace attune::bench {
namespace {

RecordedProblem ProblemFrom(const CollectedLayer& layer, uint64_t configuration) {
  RecordedProblem problem;
  for (const CollectedCandidate& candidate : layer.candidates) {
    if (candidate.time_ms <= 0) continue;
    LaunchProfile profile;
    profile.kernels = candidate.launches;
    profile.launches = candidate.kernels;
    profile.multiprocessors = layer.multiprocessors;
    Sample sample;
    sample.row = ConvRow(layer.problem.Get<Conv>(), candidate.candidate, profile);
    sample.time_ms = candidate.time_ms;
    if (candidate.launches.size() == 1) sample.kernel_times_ms = {candidate.time_ms};
    sample.configuration = configuration;
    problem.asked.push_back(sample.row);
    problem.samples.push_back(std::move(sample));
  }
  for (const auto& [name, answer] : layer.heuristics) problem.vendor_ms[name] = answer.time_ms;
  return problem;
}

}  // namespace

Result<Recording> ReadCollected(const std::filesystem::path& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFileUnpacked(file));
  Recording recording{ConvFeatures(), {}, {}};
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    auto layer = ParseCollectedLayer(std::string_view(text).substr(begin, end - begin));
    ++line;
    if (!layer.ok()) {
      return layer.error().WithContext(fmt::format("{}, line {}", file.string(), line));
    }
    if (!layer->problem.Is<Conv>()) {
      return InvalidArgument(fmt::format("{}, line {}: '{}' is no convolution.", file.string(),
                                         line, Text(layer->problem)));
    }
    RecordedProblem problem = ProblemFrom(*layer, recording.problems.size());
    if (!problem.samples.empty()) recording.problems.push_back(std::move(problem));
    begin = end + 1;
  }
  return recording;
}

}  // namespace attune::bench
