#include "apps/attune/model/candidate_times.h"

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/model/shape_features.h"

namespace attune::model {
namespace {

constexpr std::string_view kLibraryPrefix = "library.";

}  // namespace

std::string LibrariesOf(const Environment& environment) {
  std::string text;
  for (const auto& [key, value] : environment) {
    if (!key.starts_with(kLibraryPrefix)) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(kLibraryPrefix.size()), value);
  }
  return text.empty() ? "none" : text;
}

ModelOrigin OriginOf(const Place& place) {
  return {Text(place.target), LibrariesOf(place.environment)};
}

Result<CandidateTimes> CandidateTimes::Open(const std::string& file, const Place& place,
                                            std::string_view operator_name) {
  ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, ShapeFeatures(operator_name));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  auto model = ReadModel(text, OriginOf(place), features);
  if (!model.ok()) return model.error().WithContext(fmt::format("'{}'", file));
  return CandidateTimes(*std::move(model));
}

std::vector<Prediction> CandidateTimes::Of(const Problem& problem,
                                           std::span<const Candidate> candidates) const {
  std::vector<FeatureRow> rows;
  for (const Candidate& candidate : candidates) rows.push_back(ShapeRow(problem, Text(candidate)));
  std::vector<Prediction> predictions(rows.size());
  if (!rows.empty()) model_.Predict(rows, predictions);
  return predictions;
}

}  // namespace attune::model
