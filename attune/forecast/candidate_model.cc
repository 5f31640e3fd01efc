#include "attune/forecast/candidate_model.h"

#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/model/shape_features.h"

namespace attune {

CandidateModel::CandidateModel(TimeModel model, std::string operator_name)
    : model_(std::move(model)), operator_name_(std::move(operator_name)) {
  for (std::string& name : model_.algorithms()) {
    if (known_.size() == kMostKnown) break;
    // Tables of others call algorithms as they like; those are no candidates here.
    const auto candidate = ParseCandidate(name);
    if (!candidate.ok()) continue;
    positions_.emplace(*candidate, known_.size());
    known_.push_back(*candidate);
    texts_.push_back(std::move(name));
  }
}

Result<CandidateModel> CandidateModel::Read(std::string_view text, const ModelOrigin& origin,
                                            std::string_view operator_name) {
  ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, ShapeFeatures(operator_name));
  ATTUNE_ASSIGN_OR_RETURN(TimeModel model, ReadModel(text, origin, features));
  return CandidateModel(std::move(model), std::string(operator_name));
}

Result<CandidateModel> CandidateModel::Open(const std::filesystem::path& file,
                                            const ModelOrigin& origin,
                                            std::string_view operator_name) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFileAtOnce(file, kMostBytes));
  auto model = Read(text, origin, operator_name);
  if (!model.ok()) return model.error().WithContext(fmt::format("'{}'", file.string()));
  return model;
}

std::vector<Prediction> CandidateModel::Of(const Problem& problem,
                                           std::span<const Candidate> candidates) const {
  std::vector<Prediction> predictions(candidates.size());
  if (candidates.empty()) return predictions;
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates) texts.push_back(Text(candidate));
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  model_.PredictEach(ShapeRow(problem, ""), names, predictions);
  return predictions;
}

std::vector<Prediction> CandidateModel::OfKnown(const Problem& problem,
                                                std::span<const size_t> positions) const {
  std::vector<Prediction> predictions(positions.size());
  if (positions.empty()) return predictions;
  std::vector<std::string_view> names;
  for (const size_t position : positions) names.push_back(texts_[position]);
  model_.PredictEach(ShapeRow(problem, ""), names, predictions);
  return predictions;
}

}  // namespace attune
