#include "attune/model/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/boosted_regressor.h"
#include "attune/model/choice_regressor.h"
#include "attune/model/chooser_trial.h"
#include "attune/model/folds.h"
#include "attune/model/kernel_regressor.h"
#include "attune/model/nearest_regressor.h"
#include "attune/model/quantile.h"

namespace attune {
namespace {

constexpr size_t kFolds = 5;
constexpr uint64_t kSeed = 1;
constexpr size_t kMostMembers = 16;
constexpr size_t kMostNames = 1 << 20;
constexpr double kLowShare = 0.05;
constexpr double kHighShare = 0.95;
constexpr double kWidestLog = 20;
// An algorithm of fewer configurations takes the choice over all, and one of fewer than the second
// is not known. One configuration may be there several times, with launches and without: the copies
// say no more of others.
constexpr size_t kLeastToChoose = 20;
constexpr size_t kLeastToKnow = 5;
// Trees on the time itself differ more from seed to seed than those on the residuals of a model.
constexpr int kBagsOfTime = 3;
constexpr int kBagsOfResidual = 1;

size_t ConfigurationsOf(std::span<const Sample> samples, const std::vector<size_t>& positions) {
  std::set<uint64_t> configurations;
  for (const size_t i : positions) configurations.insert(samples[i].configuration);
  return configurations.size();
}

Result<std::unique_ptr<Regressor>> ReadMember(ModelLines& lines, const FeatureSet& features) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("member"));
  if (name == KernelRegressor::kName) return KernelRegressor::ReadFrom(lines, features);
  if (name == RooflineRegressor::kName) return RooflineRegressor::ReadFrom(lines, features);
  if (name == ChoiceRegressor::kName) return ChoiceRegressor::ReadFrom(lines, features);
  if (name == NearestRegressor::kName) return NearestRegressor::ReadFrom(lines, features);
  for (const BoostingTarget target : {BoostingTarget::kTime, BoostingTarget::kResidual}) {
    if (name == BoostedRegressor(features, target, {}, 1).name()) {
      return BoostedRegressor::ReadFrom(target, lines, features);
    }
  }
  return FailedPrecondition(
      fmt::format("The model has a member '{}', which this program does not know: fit it again.",
                  Excerpt(name)));
}

}  // namespace

TimeModel::TimeModel(FeatureSet features, std::vector<std::unique_ptr<Regressor>> members)
    : features_(std::move(features)), members_(std::move(members)) {}

Result<TimeModel> TimeModel::Standard(const FeatureSet& features, DevicePeaks peaks) {
  std::vector<std::unique_ptr<Regressor>> members;
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Regressor> roofline,
                          RooflineRegressor::Make(features, peaks));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Regressor> nearest,
                          NearestRegressor::Make(features, peaks));
  members.push_back(std::move(roofline));
  members.push_back(std::move(nearest));
  members.push_back(std::make_unique<KernelRegressor>(features));
  members.push_back(std::make_unique<BoostedRegressor>(features, BoostingTarget::kTime,
                                                       BoostingSettings{}, kBagsOfTime));
  members.push_back(std::make_unique<BoostedRegressor>(features, BoostingTarget::kResidual,
                                                       BoostingSettings{}, kBagsOfResidual));
  return TimeModel(features, std::move(members));
}

TimeModel TimeModel::ForChoosing(const FeatureSet& features) {
  std::vector<std::unique_ptr<Regressor>> members;
  members.push_back(std::make_unique<ChoiceRegressor>(features));
  return TimeModel(features, std::move(members));
}

Result<TimeModel> TimeModel::ForChoosingAmongMany(const FeatureSet& features) {
  TimeModel model = ForChoosing(features);
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Regressor> nearest, NearestRegressor::Make(features, {}));
  model.members_.push_back(std::move(nearest));
  return model;
}

Result<TimeModel::LogErrors> TimeModel::HeldOutErrors(std::span<const Sample> samples,
                                                      ChooserTrial* trial) const {
  LogErrors errors(members_.size(), std::vector<double>(samples.size()));
  const std::vector<size_t> folds = FoldsByConfiguration(samples, kFolds, kSeed);
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Sample> learnt;
    std::vector<FeatureRow> asked;
    std::vector<size_t> positions;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] != fold) {
        learnt.push_back(samples[i]);
      } else {
        asked.push_back(samples[i].row);
        positions.push_back(i);
      }
    }
    if (asked.empty()) continue;
    std::vector<double> medians(asked.size());
    std::vector<std::unique_ptr<Regressor>> models;
    for (size_t m = 0; m < members_.size(); ++m) {
      models.push_back(members_[m]->Fresh());
      ATTUNE_RETURN_IF_ERROR(models[m]->Fit(learnt));
      models[m]->Predict(asked, medians);
      for (size_t i = 0; i < positions.size(); ++i) {
        errors[m][positions[i]] = std::log(samples[positions[i]].time_ms / medians[i]);
      }
    }
    if (trial == nullptr) continue;
    ATTUNE_ASSIGN_OR_RETURN(NeighbourChooser chooser, NeighbourChooser::Make(features_));
    ATTUNE_RETURN_IF_ERROR(chooser.Fit(learnt));
    trial->Ask(models, chooser, positions);
  }
  return errors;
}

TimeModel::Choice TimeModel::Choose(const LogErrors& errors, const std::vector<size_t>& samples) {
  Choice best;
  double least = -1;
  for (size_t a = 0; a < errors.size(); ++a) {
    for (size_t b = a; b < errors.size(); ++b) {
      std::vector<double> both;
      double sum = 0;
      for (const size_t i : samples) {
        both.push_back((errors[a][i] + errors[b][i]) / 2);
        sum += std::abs(both.back());
      }
      if (least >= 0 && sum >= least) continue;
      least = sum;
      best = {a, b, QuantileOf(both, kLowShare), QuantileOf(both, kHighShare)};
    }
  }
  return best;
}

Status TimeModel::Fit(std::span<const Sample> samples) {
  std::set<uint64_t> configurations;
  for (const Sample& sample : samples) configurations.insert(sample.configuration);
  if (configurations.size() < 2) {
    return FailedPrecondition(
        fmt::format("A model needs samples of two configurations at least, and {} are of {}.",
                    samples.size(), configurations.size()));
  }
  ATTUNE_RETURN_IF_ERROR(CheckSamples(samples, features_));
  std::map<std::string, std::vector<size_t>, std::less<>> of_algorithm;
  seen_.clear();
  for (size_t i = 0; i < samples.size(); ++i) {
    of_algorithm[""].push_back(i);
    if (!samples[i].row.algorithm.empty()) of_algorithm[samples[i].row.algorithm].push_back(i);
    for (const KernelRow& kernel : samples[i].row.kernels) ++seen_[kernel.signature];
  }
  std::vector<std::string> known;
  std::map<std::string, size_t, std::less<>> counts;  // Configurations of each that is known.
  for (const auto& [name, positions] : of_algorithm) {
    const size_t count = ConfigurationsOf(samples, positions);
    if (name.empty() || count < kLeastToKnow) continue;
    known.push_back(name);
    counts[name] = count;
  }
  chooser_.reset();
  std::optional<ChooserTrial> trial;
  if (may_choose_by_neighbours_ && configurations.size() > NeighbourChooser::kNeighbours) {
    trial.emplace(samples, known);
  }
  ATTUNE_ASSIGN_OR_RETURN(const LogErrors errors,
                          HeldOutErrors(samples, trial.has_value() ? &*trial : nullptr));
  choices_.clear();
  const Choice over_all = Choose(errors, of_algorithm[""]);
  choices_[""] = over_all;
  for (const auto& [name, count] : counts) {
    choices_[name] = count < kLeastToChoose ? over_all : Choose(errors, of_algorithm[name]);
  }
  for (const std::unique_ptr<Regressor>& member : members_) {
    ATTUNE_RETURN_IF_ERROR(member->Fit(samples));
  }
  samples_ = samples.size();
  return trial.has_value() ? FitChooser(samples, *trial) : Status::Ok();
}

Status TimeModel::FitChooser(std::span<const Sample> samples, const ChooserTrial& trial) {
  const double of_times = trial.LogRegretOfTimes([&](std::string_view algorithm) {
    const Choice& choice = ChoiceFor(algorithm);
    return std::pair(choice.first, choice.second);
  });
  if (trial.LogRegretOfNeighbours() >= of_times) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(NeighbourChooser chooser, NeighbourChooser::Make(features_));
  ATTUNE_RETURN_IF_ERROR(chooser.Fit(samples));
  chooser_ = std::move(chooser);
  return Status::Ok();
}

const TimeModel::Choice& TimeModel::ChoiceFor(std::string_view algorithm) const {
  const auto found = choices_.find(algorithm);
  return found != choices_.end() ? found->second : choices_.find("")->second;
}

std::string TimeModel::ChosenFor(const std::string& algorithm) const {
  const Choice& choice = ChoiceFor(algorithm);
  std::string text(members_[choice.first]->name());
  if (choice.second != choice.first) (text += '+') += members_[choice.second]->name();
  return text;
}

std::vector<std::string> TimeModel::algorithms() const {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices_) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

bool TimeModel::IsUnseen(const FeatureRow& row) const {
  return std::any_of(row.kernels.begin(), row.kernels.end(),
                     [&](const KernelRow& kernel) { return !seen_.contains(kernel.signature); });
}

Prediction TimeModel::Answer(const Choice& choice, double median_ms, bool is_unseen) {
  const double wider = is_unseen ? kWiderWhenUnseen : 1;
  return {median_ms, median_ms * std::exp(wider * std::min(choice.low, 0.0)),
          median_ms * std::exp(wider * std::max(choice.high, 0.0))};
}

void TimeModel::Predict(std::span<const FeatureRow> rows, std::span<Prediction> predictions) const {
  std::vector<bool> is_needed(members_.size(), false);
  for (const FeatureRow& row : rows) {
    is_needed[ChoiceFor(row.algorithm).first] = true;
    is_needed[ChoiceFor(row.algorithm).second] = true;
  }
  std::vector<std::vector<double>> medians(members_.size());
  for (size_t m = 0; m < members_.size(); ++m) {
    if (!is_needed[m]) continue;
    medians[m].resize(rows.size());
    members_[m]->Predict(rows, medians[m]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const Choice& choice = ChoiceFor(rows[i].algorithm);
    const double median = std::sqrt(medians[choice.first][i] * medians[choice.second][i]);
    predictions[i] = Answer(choice, median, IsUnseen(rows[i]));
  }
}

void TimeModel::PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                            std::span<Prediction> predictions) const {
  std::vector<const Choice*> choices;
  for (const std::string_view algorithm : algorithms) choices.push_back(&ChoiceFor(algorithm));
  // Each member answers for those alone that it was chosen for.
  std::vector<double> products(algorithms.size(), 1);
  std::vector<std::string_view> asked;
  std::vector<size_t> positions;
  std::vector<double> medians;
  for (size_t m = 0; m < members_.size(); ++m) {
    asked.clear();
    positions.clear();
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i]->first != m && choices[i]->second != m) continue;
      asked.push_back(algorithms[i]);
      positions.push_back(i);
    }
    if (asked.empty()) continue;
    medians.resize(asked.size());
    members_[m]->PredictEach(row, asked, medians);
    for (size_t j = 0; j < positions.size(); ++j) {
      const Choice& choice = *choices[positions[j]];
      products[positions[j]] *=
          choice.first == choice.second ? medians[j] * medians[j] : medians[j];
    }
  }
  const bool is_unseen = IsUnseen(row);
  for (size_t i = 0; i < predictions.size(); ++i) {
    predictions[i] = Answer(*choices[i], std::sqrt(products[i]), is_unseen);
  }
}

void TimeModel::AppendText(std::string& text) const {
  AppendCount(text, "samples", samples_);
  AppendCount(text, "members", members_.size());
  for (const std::unique_ptr<Regressor>& member : members_) {
    AppendWord(text, "member", member->name());
    member->AppendText(text);
  }
  AppendCount(text, "choices", choices_.size());
  for (const auto& [name, choice] : choices_) {
    AppendWord(text, "of", name);
    AppendCount(text, "first", choice.first);
    AppendCount(text, "second", choice.second);
    AppendNumbers(text, "interval", std::array{choice.low, choice.high});
  }
  AppendCount(text, "seen", seen_.size());
  for (const auto& [name, count] : seen_) {
    AppendCount(text, "times", count);
    AppendWord(text, "of", name);
  }
  AppendOptional(text, "chooser", chooser_);
}

Result<TimeModel> TimeModel::ReadFrom(ModelLines& lines, const FeatureSet& features,
                                      bool tells_chooser) {
  TimeModel model(features, {});
  ATTUNE_ASSIGN_OR_RETURN(model.samples_, lines.Count("samples", size_t{1} << 40));
  ATTUNE_ASSIGN_OR_RETURN(const size_t members, lines.Count("members", kMostMembers));
  if (members == 0) return lines.Wrong("a model without members.");
  for (size_t i = 0; i < members; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Regressor> member, ReadMember(lines, features));
    model.members_.push_back(std::move(member));
  }
  ATTUNE_ASSIGN_OR_RETURN(const size_t choices, lines.Count("choices", kMostNames));
  for (size_t i = 0; i < choices; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    Choice choice;
    ATTUNE_ASSIGN_OR_RETURN(choice.first, lines.Count("first", members - 1));
    ATTUNE_ASSIGN_OR_RETURN(choice.second, lines.Count("second", members - 1));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> interval, lines.Numbers("interval", 2));
    choice.low = interval[0];
    choice.high = interval[1];
    if (std::abs(choice.low) > kWidestLog || std::abs(choice.high) > kWidestLog) {
      return lines.Wrong("an interval is too wide.");
    }
    if (!model.choices_.emplace(name, choice).second) return lines.Wrong("a name is there twice.");
  }
  if (!model.choices_.contains("")) return lines.Wrong("no choice over all algorithms.");
  ATTUNE_ASSIGN_OR_RETURN(const size_t seen, lines.Count("seen", kMostNames));
  for (size_t i = 0; i < seen; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const size_t times, lines.Count("times", size_t{1} << 40));
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    model.seen_[name] = times;
  }
  if (!tells_chooser) return model;
  ATTUNE_ASSIGN_OR_RETURN(const bool has_chooser, lines.IsThere("chooser"));
  if (!has_chooser) return model;
  ATTUNE_ASSIGN_OR_RETURN(NeighbourChooser chooser, NeighbourChooser::ReadFrom(lines, features));
  model.chooser_ = std::move(chooser);
  return model;
}

}  // namespace attune
