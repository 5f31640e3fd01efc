#include "attune/model/candidate_model.h"

#include <algorithm>
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
  if (model_.chooser() == nullptr) return;
  for (const std::string& name : model_.chooser()->algorithms()) {
    auto candidate = ParseCandidate(name);
    choosable_.push_back(candidate.ok() ? std::optional(*std::move(candidate)) : std::nullopt);
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

// Candidates without known launches are predicted in one call, which computes their common part
// once.
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

std::vector<ExpectedCandidate> CandidateModel::ChooseNear(const NeighbourChooser& chooser,
                                                          const Problem& problem,
                                                          const Candidate& standing,
                                                          const Wanted& wanted,
                                                          size_t limit) const {
  std::vector<ExpectedCandidate> chosen;
  bool has_standing = false;
  for (const NeighbourChooser::Proposal& proposal : chooser.Propose(ShapeRow(problem, ""))) {
    const std::optional<Candidate>& candidate = choosable_[proposal.algorithm];
    if (!candidate.has_value()) continue;
    const bool is_standing = *candidate == standing;
    // The last place is kept for the incumbent.
    const size_t kept = has_standing || is_standing ? 0 : 1;
    if (chosen.size() + kept >= limit || (!is_standing && !wanted(*candidate))) continue;
    chosen.push_back({*candidate, proposal.time_ms, proposal.high_ms});
    has_standing = has_standing || is_standing;
  }
  return has_standing ? chosen : std::vector<ExpectedCandidate>();
}

std::vector<ExpectedCandidate> CandidateModel::Choose(const Problem& problem,
                                                      const Candidate& standing,
                                                      const Wanted& wanted, size_t limit) const {
  if (const NeighbourChooser* chooser = model_.chooser()) {
    return ChooseNear(*chooser, problem, standing, wanted, limit);
  }
  const std::optional<size_t> first = PositionOf(standing);
  std::vector<size_t> asked;
  if (first.has_value()) asked.push_back(*first);
  for (size_t i = 0; i < known_.size() && asked.size() < limit; ++i) {
    if (i != first && wanted(known_[i])) asked.push_back(i);
  }
  // Not earlier: `wanted` also notes the candidates that its caller cannot use.
  if (!first.has_value()) return {};
  const std::vector<Prediction> predictions = OfKnown(problem, asked);
  std::vector<ExpectedCandidate> chosen;
  for (size_t i = 0; i < asked.size(); ++i) {
    chosen.push_back({known_[asked[i]], predictions[i].median_ms, predictions[i].high_ms});
  }
  std::ranges::stable_sort(chosen, {}, &ExpectedCandidate::time_ms);
  return chosen;
}

}  // namespace attune
