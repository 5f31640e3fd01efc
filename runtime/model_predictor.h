// The models of time that a run time asks about shapes that nobody has measured.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attune/dispatch/time_predictor.h"
#include "attune/index/candidate_models.h"
#include "attune/model/model_file.h"

namespace attune {

// Thread-safe. Callers ask what was read last; nobody waits for a file but who makes this.
class ModelPredictor final : public TimePredictor {
 public:
  // Reads what is there, as Update() does. Models ask `launches`, which may be null.
  ModelPredictor(const ModelLocation& location, ModelOrigin origin,
                 std::shared_ptr<const LaunchSource> launches = nullptr);

  bool Knows(const Problem& problem) const override { return ModelFor(problem) != nullptr; }
  std::vector<PredictedCandidate> Predict(const Problem& problem, const Candidate& standing,
                                          const Wanted& wanted, size_t limit) const override;

  // Reads files that have changed since. Whether one of them is used now, or none any more. A model
  // that is refused is left out, and what was read before it, too: notes() say why.
  bool Update();

  // Which files were refused, and why.
  std::vector<std::string> notes() const;

 private:
  struct File {
    ModelFile place;
    std::filesystem::file_time_type changed = {};
    std::shared_ptr<const CandidateModel> model;  // Null without one.
    std::string refusal;                          // Why not, if there is a file.
  };
  std::shared_ptr<const CandidateModel> ModelFor(const Problem& problem) const;

  const ModelOrigin origin_;
  const std::shared_ptr<const LaunchSource> launches_;
  std::mutex update_mutex_;   // One update at a time.
  mutable std::mutex mutex_;  // Guards files_, but for what only updates change.
  std::vector<File> files_;
};

}  // namespace attune
