#include "attune/forecast/candidate_model.h"

#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/model/launch_features.h"
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
  const auto header = ReadModelHeader(text);
  ATTUNE_ASSIGN_OR_RETURN(
      const FeatureSet features,
      FeaturesCalled(header.ok() ? std::string_view(header->features) : "", operator_name));
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

std::optional<size_t> CandidateModel::PositionOf(const Candidate& candidate) const {
  const auto found = positions_.find(candidate);
  return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

void CandidateModel::AskForLaunches(std::shared_ptr<const LaunchSource> launches) {
  launches_ = model_.features().kernel.empty() ? nullptr : std::move(launches);
}

// What nobody knows launches of is asked about in one question, in which everything that such
// candidates have in common is computed once.
std::vector<Prediction> CandidateModel::Of(const Problem& problem,
                                           std::span<const Candidate* const> candidates,
                                           std::span<const std::string_view> names) const {
  std::vector<Prediction> predictions(candidates.size());
  if (candidates.empty()) return predictions;
  const FeatureRow shape = ShapeRow(problem, "");
  std::vector<std::string_view> unknown;
  std::vector<size_t> positions;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto profile =
        launches_ == nullptr ? std::nullopt : FindOneKernel(*launches_, problem, *candidates[i]);
    if (!profile.has_value()) {
      unknown.push_back(names[i]);
      positions.push_back(i);
      continue;
    }
    FeatureRow row = shape;
    row.algorithm = names[i];
    row.kernels = KernelRowsOf(problem, *profile);
    model_.Predict({&row, 1}, {&predictions[i], 1});
  }
  std::vector<Prediction> of_unknown(unknown.size());
  if (!unknown.empty()) model_.PredictEach(shape, unknown, of_unknown);
  for (size_t i = 0; i < positions.size(); ++i) predictions[positions[i]] = of_unknown[i];
  return predictions;
}

std::vector<Prediction> CandidateModel::Of(const Problem& problem,
                                           std::span<const Candidate> candidates) const {
  std::vector<std::string> texts;
  std::vector<const Candidate*> asked;
  for (const Candidate& candidate : candidates) {
    texts.push_back(Text(candidate));
    asked.push_back(&candidate);
  }
  return Of(problem, asked, std::vector<std::string_view>(texts.begin(), texts.end()));
}

std::vector<Prediction> CandidateModel::OfKnown(const Problem& problem,
                                                std::span<const size_t> positions) const {
  std::vector<std::string_view> names;
  std::vector<const Candidate*> asked;
  for (const size_t position : positions) {
    names.push_back(texts_[position]);
    asked.push_back(&known_[position]);
  }
  return Of(problem, asked, names);
}

}  // namespace attune
