#include "attune/model/boosted_regressor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attune/model/folds.h"

namespace attune {
namespace {

constexpr float kUnknownCode = -1;
constexpr size_t kMostCodes = 1 << 20;
constexpr size_t kMostBags = 64;
constexpr size_t kFolds = 5;
constexpr double kLargestLog = 50;  // Of a ratio, whatever a file says.

struct MeanTarget {
  double sum = 0;
  size_t count = 0;
};

std::map<std::string, float, std::less<>> InOrder(
    const std::map<std::string, MeanTarget, std::less<>>& means) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, mean] : means) {
    order.emplace_back(mean.sum / static_cast<double>(mean.count), name);
  }
  std::sort(order.begin(), order.end());
  std::map<std::string, float, std::less<>> codes;
  for (size_t i = 0; i < order.size(); ++i) codes[order[i].second] = static_cast<float>(i);
  return codes;
}

float CodeOf(const std::map<std::string, float, std::less<>>& codes, std::string_view name) {
  const auto found = codes.find(name);
  return found == codes.end() ? kUnknownCode : found->second;
}

TreeTable RowsOf(const TreeTable& table, const std::vector<size_t>& positions) {
  TreeTable rows(table.columns);
  for (const size_t i : positions) {
    rows.values.insert(rows.values.end(), table.row(i).begin(), table.row(i).end());
  }
  return rows;
}

void AppendCodes(std::string& text, std::string_view keyword,
                 const std::map<std::string, float, std::less<>>& codes) {
  AppendCount(text, keyword, codes.size());
  for (const auto& [name, code] : codes) {
    AppendCount(text, "code", static_cast<size_t>(code));
    AppendWord(text, "of", name);
  }
}

Result<std::map<std::string, float, std::less<>>> ReadCodes(ModelLines& lines,
                                                            std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count(keyword, kMostCodes));
  std::map<std::string, float, std::less<>> codes;
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const size_t code, lines.Count("code", kMostCodes));
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    if (!codes.emplace(name, static_cast<float>(code)).second) {
      return lines.Wrong(fmt::format("'{}' is there twice.", name));
    }
  }
  return codes;
}

}  // namespace

BoostedRegressor::BoostedRegressor(FeatureSet features, BoostingTarget target,
                                   BoostingSettings settings, int bags)
    : features_(std::move(features)),
      target_(target),
      settings_(settings),
      bags_(bags),
      base_(std::make_unique<KernelRegressor>(features_)) {}

std::string_view BoostedRegressor::name() const {
  return target_ == BoostingTarget::kTime ? "boosted_time" : "boosted_residual";
}

size_t BoostedRegressor::ColumnCount() const {
  return features_.operation.size() + features_.kernel.size() + 5;
}

const KernelRow* BoostedRegressor::MainKernel(const FeatureRow& row, const KernelSum& sum) const {
  const bool has_kernels = !row.kernels.empty() && !features_.kernel.empty();
  return has_kernels ? &row.kernels[sum.main] : nullptr;
}

void BoostedRegressor::AppendColumns(const FeatureRow& row, std::string_view algorithm,
                                     const KernelSum& sum, double base_ms,
                                     std::vector<float>& columns) const {
  const auto add = [&](double x) { columns.push_back(static_cast<float>(x)); };
  for (const double value : row.values) add(value);
  const KernelRow* const main = MainKernel(row, sum);
  for (size_t j = 0; j < features_.kernel.size(); ++j) add(main != nullptr ? main->values[j] : -1);
  add(static_cast<double>(row.kernels.size()));
  add(main != nullptr ? sum.main_share : 0);
  add(std::log(base_ms));
  columns.push_back(CodeOf(algorithms_, algorithm));
  columns.push_back(main != nullptr ? CodeOf(signatures_, main->signature) : kUnknownCode);
}

void BoostedRegressor::MakeCodes(std::span<const Sample> samples, std::span<const KernelSum> sums,
                                 std::span<const double> targets) {
  std::map<std::string, MeanTarget, std::less<>> algorithms;
  std::map<std::string, MeanTarget, std::less<>> signatures;
  const auto add = [](MeanTarget& mean, double target) {
    mean.sum += target;
    ++mean.count;
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    const FeatureRow& row = samples[i].row;
    add(algorithms[row.algorithm], targets[i]);
    const KernelRow* const main = MainKernel(row, sums[i]);
    if (main != nullptr) add(signatures[main->signature], targets[i]);
  }
  algorithms_ = InOrder(algorithms);
  signatures_ = InOrder(signatures);
}

// What the base says of samples that it was not fitted to: what is left of those that it was fitted
// to is less than what it will leave of others, most of all where it had few.
std::vector<double> BoostedRegressor::OutOfFoldBase(std::span<const Sample> samples) const {
  std::vector<double> base(samples.size());
  const std::vector<size_t> folds = FoldsByConfiguration(samples, kFolds, settings_.seed);
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<const Sample*> learnt;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] != fold) learnt.push_back(&samples[i]);
    }
    KernelRegressor model(features_);
    const bool fitted = !learnt.empty() && model.Fit(learnt).ok();
    for (size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] == fold) base[i] = (fitted ? model : *base_).PredictSum(samples[i].row).time_ms;
    }
  }
  return base;
}

Status BoostedRegressor::Fit(std::span<const Sample> samples) {
  ATTUNE_RETURN_IF_ERROR(base_->Fit(samples));
  const std::vector<double> base = OutOfFoldBase(samples);
  std::vector<double> targets;
  std::vector<KernelSum> sums;
  for (size_t i = 0; i < samples.size(); ++i) {
    targets.push_back(
        std::log(samples[i].time_ms / (target_ == BoostingTarget::kResidual ? base[i] : 1)));
    sums.push_back(base_->PredictSum(samples[i].row));
  }
  MakeCodes(samples, sums, targets);
  TreeTable table(ColumnCount());
  table.values.reserve(samples.size() * table.columns);
  for (size_t i = 0; i < samples.size(); ++i) {
    AppendColumns(samples[i].row, samples[i].row.algorithm, sums[i], base[i], table.values);
  }
  all_ = TrainBags(table, targets);
  std::map<std::string, std::vector<size_t>, std::less<>> of_algorithm;
  for (size_t i = 0; i < samples.size(); ++i) of_algorithm[samples[i].row.algorithm].push_back(i);
  own_.clear();
  for (const auto& [name, positions] : of_algorithm) {
    // Those of one algorithm alone would be the same trees again.
    if (positions.size() < kLeastOfAlgorithm || positions.size() == samples.size()) continue;
    std::vector<double> own_targets;
    for (const size_t i : positions) own_targets.push_back(targets[i]);
    own_[name] = TrainBags(RowsOf(table, positions), own_targets);
  }
  return Status::Ok();
}

BoostedRegressor::Bags BoostedRegressor::TrainBags(const TreeTable& table,
                                                   std::span<const double> targets) const {
  Bags bags;
  BoostingSettings settings = settings_;
  for (int bag = 0; bag < bags_; ++bag) {
    settings.seed = settings_.seed + static_cast<uint64_t>(bag);
    bags.push_back(BoostedTrees::Train(table, targets, settings));
  }
  return bags;
}

void BoostedRegressor::AddMean(const Bags& bags, const TreeTable& table, std::span<double> logs) {
  std::vector<double> values(logs.size());
  for (const BoostedTrees& model : bags) {
    model.Predict(table, values);
    for (size_t i = 0; i < logs.size(); ++i) {
      logs[i] += values[i] / static_cast<double>(bags.size());
    }
  }
}

void BoostedRegressor::Predict(std::span<const FeatureRow> rows,
                               std::span<double> median_ms) const {
  std::vector<double> base(rows.size());
  TreeTable table(ColumnCount());
  table.values.reserve(rows.size() * table.columns);
  std::map<std::string_view, std::vector<size_t>> of_algorithm;
  for (size_t i = 0; i < rows.size(); ++i) {
    const KernelSum sum = base_->PredictSum(rows[i]);
    base[i] = sum.time_ms;
    AppendColumns(rows[i], rows[i].algorithm, sum, base[i], table.values);
    of_algorithm[rows[i].algorithm].push_back(i);
  }
  std::vector<double> logs(rows.size(), 0);
  AddMean(all_, table, logs);
  for (const auto& [name, positions] : of_algorithm) {
    const auto own = own_.find(name);
    if (own == own_.end()) continue;
    std::vector<double> own_logs(positions.size(), 0);
    AddMean(own->second, RowsOf(table, positions), own_logs);
    for (size_t i = 0; i < positions.size(); ++i) {
      logs[positions[i]] = (logs[positions[i]] + own_logs[i]) / 2;
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) median_ms[i] = MedianOf(logs[i], base[i]);
}

void BoostedRegressor::PredictEach(const FeatureRow& row,
                                   std::span<const std::string_view> algorithms,
                                   std::span<double> median_ms) const {
  const size_t columns = ColumnCount();
  std::vector<double> base(algorithms.size());
  TreeTable table(columns);
  table.values.reserve(algorithms.size() * columns);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    const KernelSum sum = base_->PredictSum(row, algorithms[i]);
    base[i] = sum.time_ms;
    AppendColumns(row, algorithms[i], sum, base[i], table.values);
  }
  std::vector<double> logs(algorithms.size(), 0);
  AddMean(all_, table, logs);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    const auto own = own_.find(algorithms[i]);
    if (own != own_.end()) logs[i] = (logs[i] + MeanOf(own->second, table.row(i))) / 2;
    median_ms[i] = MedianOf(logs[i], base[i]);
  }
}

double BoostedRegressor::MeanOf(const Bags& bags, std::span<const float> row) {
  double log = 0;
  for (const BoostedTrees& model : bags) {
    log += model.PredictRow(row) / static_cast<double>(bags.size());
  }
  return log;
}

double BoostedRegressor::MedianOf(double log, double base_ms) const {
  return std::exp(std::clamp(log, -kLargestLog, kLargestLog)) *
         (target_ == BoostingTarget::kResidual ? base_ms : 1);
}

void BoostedRegressor::AppendText(std::string& text) const {
  base_->AppendText(text);
  AppendCodes(text, "algorithm_codes", algorithms_);
  AppendCodes(text, "signature_codes", signatures_);
  AppendCount(text, "bags", all_.size());
  for (const BoostedTrees& model : all_) model.AppendText(text);
  AppendCount(text, "own", own_.size());
  for (const auto& [name, bags] : own_) {
    AppendWord(text, "of", name);
    AppendCount(text, "bags", bags.size());
    for (const BoostedTrees& model : bags) model.AppendText(text);
  }
}

std::unique_ptr<Regressor> BoostedRegressor::Fresh() const {
  return std::make_unique<BoostedRegressor>(features_, target_, settings_, bags_);
}

Result<BoostedRegressor::Bags> BoostedRegressor::ReadBags(ModelLines& lines, size_t columns) {
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count("bags", kMostBags));
  if (count == 0) return lines.Wrong("no trees.");
  Bags bags;
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(BoostedTrees trees, BoostedTrees::ReadFrom(lines, columns));
    bags.push_back(std::move(trees));
  }
  return bags;
}

Result<std::unique_ptr<Regressor>> BoostedRegressor::ReadFrom(BoostingTarget target,
                                                              ModelLines& lines,
                                                              const FeatureSet& features) {
  auto model = std::make_unique<BoostedRegressor>(features, target, BoostingSettings{}, 1);
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Regressor> base,
                          KernelRegressor::ReadFrom(lines, features));
  model->base_.reset(static_cast<KernelRegressor*>(base.release()));
  ATTUNE_ASSIGN_OR_RETURN(model->algorithms_, ReadCodes(lines, "algorithm_codes"));
  ATTUNE_ASSIGN_OR_RETURN(model->signatures_, ReadCodes(lines, "signature_codes"));
  ATTUNE_ASSIGN_OR_RETURN(model->all_, ReadBags(lines, model->ColumnCount()));
  ATTUNE_ASSIGN_OR_RETURN(const size_t own, lines.Count("own", kMostCodes));
  for (size_t i = 0; i < own; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    ATTUNE_ASSIGN_OR_RETURN(Bags bags, ReadBags(lines, model->ColumnCount()));
    if (!model->own_.emplace(name, std::move(bags)).second) {
      return lines.Wrong(fmt::format("'{}' is there twice.", name));
    }
  }
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
