#include "runtime/model_predictor.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr double kNsInMs = 1e6;

}  // namespace

ModelPredictor::ModelPredictor(const ModelLocation& location, ModelOrigin origin,
                               std::shared_ptr<const LaunchSource> launches)
    : origin_(std::move(origin)), launches_(std::move(launches)) {
  for (ModelFile& place : ModelFilesAt(location, origin_)) {
    files_.push_back({std::move(place), {}, nullptr, ""});
  }
  Update();
}

bool ModelPredictor::Update() {
  const std::lock_guard<std::mutex> update(update_mutex_);
  bool has_changed = false;
  for (File& file : files_) {
    std::error_code error;
    auto changed = std::filesystem::last_write_time(file.place.path, error);
    if (error) changed = {};
    const bool is_known = file.model != nullptr || !file.refusal.empty();
    const bool is_news = is_known ? changed != file.changed : !error || file.place.is_named;
    if (!is_news) continue;
    auto read = OpenModel(file.place, origin_);
    if (read.ok()) read->AskForLaunches(launches_);
    const std::lock_guard<std::mutex> lock(mutex_);
    file.changed = changed;
    has_changed = has_changed || read.ok() || file.model != nullptr;
    file.model = read.ok() ? std::make_shared<const CandidateModel>(*std::move(read)) : nullptr;
    const bool is_refused =
        !read.ok() && (file.place.is_named || read.error().code() != StatusCode::kNotFound);
    file.refusal =
        is_refused ? fmt::format("A model of time is not used: {}", read.error().message()) : "";
  }
  return has_changed;
}

std::vector<std::string> ModelPredictor::notes() const {
  std::vector<std::string> notes;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const File& file : files_) {
    if (!file.refusal.empty()) notes.push_back(file.refusal);
  }
  return notes;
}

std::shared_ptr<const CandidateModel> ModelPredictor::ModelFor(const Problem& problem) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const File& file : files_) {
    if (file.model != nullptr && file.model->operator_name() == problem.op().name()) {
      return file.model;
    }
  }
  return nullptr;
}

std::vector<PredictedCandidate> ModelPredictor::Predict(const Problem& problem,
                                                        const Candidate& standing,
                                                        const Wanted& wanted, size_t limit) const {
  const std::shared_ptr<const CandidateModel> model = ModelFor(problem);
  if (model == nullptr) return {};
  std::vector<PredictedCandidate> predicted;
  for (const ExpectedCandidate& each : model->Choose(problem, standing, wanted, limit)) {
    predicted.push_back({each.candidate, each.time_ms * kNsInMs, each.high_ms * kNsInMs});
  }
  return predicted;
}

}  // namespace attune
