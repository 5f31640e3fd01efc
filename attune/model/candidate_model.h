// A model of time as serving and tuning ask it: about candidates of problems.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/launch_source.h"
#include "attune/model/model_file.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

struct ExpectedCandidate {
  Candidate candidate;
  double time_ms = 0;
  double high_ms = 0;  // Above nine of ten, at least.
};

// Const methods are thread-safe.
class CandidateModel {
 public:
  // Larger files are refused: a run time reads one while a program waits for it.
  static constexpr size_t kMostBytes = size_t{8} << 20;
  // The tuner predicts all of them, which takes some milliseconds.
  static constexpr size_t kMostKnown = 8192;

  // kFailedPrecondition, with the reason, for a model of another operator, device or set of
  // libraries; kUnsupported for an operator that has no features.
  static Result<CandidateModel> Read(std::string_view text, const ModelOrigin& origin,
                                     std::string_view operator_name);
  // The same of a file, which every error names. kNotFound where there is none.
  static Result<CandidateModel> Open(const std::filesystem::path& file, const ModelOrigin& origin,
                                     std::string_view operator_name);

  // Candidates that were timed for five problems or more (TimeModel::algorithms()), in order, at
  // most kMostKnown. For others only the fit over all algorithms exists, which cannot rank them.
  const std::vector<Candidate>& known() const { return known_; }
  bool Knows(const Candidate& candidate) const { return positions_.contains(candidate); }
  // In known(), if it is there.
  std::optional<size_t> PositionOf(const Candidate& candidate) const;

  // Sets the source of launches from now on, if the model was fitted to launches. Null, as at the
  // beginning: no source. Shared with the models of other operators.
  void AskForLaunches(std::shared_ptr<const LaunchSource> launches);

  // In the order of `candidates`, known or not. REQUIRES: a problem of the operator.
  std::vector<Prediction> Of(const Problem& problem, std::span<const Candidate> candidates) const;
  // Predicts those at `positions` of known(). Takes less than a microsecond for each with trees.
  std::vector<Prediction> OfKnown(const Problem& problem, std::span<const size_t> positions) const;

  using Wanted = std::function<bool(const Candidate&)>;
  // Chooses at most `limit` candidates for `problem`: `standing`, the baseline, and those that are
  // `wanted`. The minimum expected time comes first. Considers candidates tried for the nearest
  // problems if the model has a TimeModel::chooser(), else known() by predicted time. Empty if the
  // model expects nothing of `standing`.
  std::vector<ExpectedCandidate> Choose(const Problem& problem, const Candidate& standing,
                                        const Wanted& wanted, size_t limit) const;

  const std::string& operator_name() const { return operator_name_; }
  size_t samples() const { return model_.samples(); }

 private:
  CandidateModel(TimeModel model, std::string operator_name);

  // Predicts candidates called `names`.
  std::vector<Prediction> Of(const Problem& problem, std::span<const Candidate* const> candidates,
                             std::span<const std::string_view> names) const;
  std::vector<ExpectedCandidate> ChooseNear(const NeighbourChooser& chooser, const Problem& problem,
                                            const Candidate& standing, const Wanted& wanted,
                                            size_t limit) const;

  TimeModel model_;
  std::string operator_name_;
  std::shared_ptr<const LaunchSource> launches_;
  std::vector<Candidate> known_;
  std::vector<std::string> texts_;         // Names of known_.
  std::map<Candidate, size_t> positions_;  // In known_.
  // By algorithm of the model's chooser; nothing for an algorithm that is no candidate.
  std::vector<std::optional<Candidate>> choosable_;
};

}  // namespace attune
