#include "attune/model/kernel_regressor.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "attune/model/least_squares.h"

namespace attune {
namespace {

constexpr int kReweightings = 3;
constexpr double kHuberScales = 1.345;  // 95 % efficient for normal errors.
constexpr double kDeviationsInMedian = 1.4826;
constexpr double kLeastScale = 0.005;  // Share of a time: below it the clock is the noise.
// A kernel that is never alone would shrink towards 0, round by round, where another explains as
// much.
constexpr double kLeastKernelMs = 0.001;
constexpr int kShareRounds = 6;  // Twice as many follow the noise of few samples.
constexpr size_t kMostNames = 1 << 20;

using Group = std::vector<LinearSample>;
using Groups = std::map<std::string, Group, std::less<>>;

double MedianOfValues(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Columns without a part in the times, which are most, are left out.
std::vector<double> HuberWeights(const Matrix& x, std::span<const double> times,
                                 std::span<const double> coefficients) {
  std::vector<double> errors(x.rows, 0);
  for (size_t j = 0; j < x.columns; ++j) {
    const double coefficient = coefficients[j];
    if (coefficient == 0) continue;
    const auto column = x.column(j);
    for (size_t i = 0; i < x.rows; ++i) errors[i] += coefficient * column[i];
  }
  for (size_t i = 0; i < x.rows; ++i) errors[i] = std::abs(errors[i] / times[i] - 1);
  const double scale = std::max(kDeviationsInMedian * MedianOfValues(errors), kLeastScale);
  for (double& error : errors)
    error = std::min(1.0, kHuberScales * scale / std::max(error, 1e-300));
  return errors;
}

// The fit of `group` as `base`, scaled to the few samples that there are.
LinearFit Scaled(LinearFit base, std::span<const LinearSample> group) {
  std::vector<double> ratios;
  for (const LinearSample& sample : group) {
    ratios.push_back(sample.time_ms / base.Predict(sample.values));
  }
  const double ratio = MedianOfValues(std::move(ratios));
  for (double& coefficient : base.coefficients) coefficient *= ratio;
  base.least_ms *= ratio;
  return base;
}

bool AreSame(const Group& a, const Group& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LinearSample& x, const LinearSample& y) {
                      return x.values.data() == y.values.data() && x.time_ms == y.time_ms;
                    });
}

// Fits of groups, each computed once. A family often has only one signature, and an algorithm only
// one family; their samples are then the same.
class GroupFits {
 public:
  // `group` has to outlive this.
  const LinearFit& Of(const Group& group) {
    for (const auto& [known, fit] : fits_) {
      if (AreSame(*known, group)) return fit;
    }
    return fits_.emplace_back(&group, FitRelative(group)).second;
  }

 private:
  std::deque<std::pair<const Group*, LinearFit>> fits_;
};

// A signature's samples, and the groups that they are in as well.
struct SignatureGroup {
  Group samples;
  Group* family = nullptr;
  std::string algorithm;  // The last sample's.
};

}  // namespace

double LinearFit::Predict(std::span<const double> values) const {
  return std::max(Dot(coefficients, values.first(coefficients.size())), least_ms / 2);
}

LinearFit FitRelative(std::span<const LinearSample> samples) {
  Matrix x(samples.size(), samples.front().values.size());
  std::vector<double> times;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t j = 0; j < x.columns; ++j) x.at(i, j) = samples[i].values[j];
    times.push_back(samples[i].time_ms);
  }
  LinearFit fit;
  fit.least_ms = *std::min_element(times.begin(), times.end());
  std::vector<double> weights;
  for (int round = 0; round <= kReweightings; ++round) {
    if (round > 0) weights = HuberWeights(x, times, fit.coefficients);
    RelativeRows rows = MakeRelative(x, times, weights);
    fit.coefficients = NonNegativeLeastSquares(std::move(rows.a), std::move(rows.b));
  }
  return fit;
}

std::string FamilyOf(const std::string& signature) {
  std::string family;
  for (const char c : signature) {
    if (c < '0' || c > '9') family += c;
  }
  return family;
}

const LinearFit& KernelRegressor::SharedFit(std::string_view algorithm,
                                            const std::string& signature) const {
  const auto family = families_.find(FamilyOf(signature));
  if (family != families_.end()) return family->second;
  const auto shared = kernels_of_algorithms_.find(algorithm);
  if (shared != kernels_of_algorithms_.end()) return shared->second;
  return kernels_of_algorithms_.find("")->second;
}

std::vector<double> KernelRegressor::SharesOf(const Sample& sample) const {
  std::vector<double> times;
  double sum = 0;
  for (const KernelRow& kernel : sample.row.kernels) {
    const double time_ms = knows_kernels() ? PredictKernel(sample.row.algorithm, kernel) : 1;
    times.push_back(std::max(time_ms, kLeastKernelMs));
    sum += times.back();
  }
  for (double& time_ms : times) time_ms *= sample.time_ms / sum;
  return times;
}

void KernelRegressor::FitKernels(std::span<const Sample* const> samples,
                                 const KernelTimes& times_ms) {
  signatures_ = {};
  families_ = {};
  kernels_of_algorithms_ = {};
  std::map<std::string_view, SignatureGroup> signatures;
  Groups families;
  Groups algorithms;
  for (size_t s = 0; s < samples.size(); ++s) {
    if (times_ms[s].empty()) continue;
    const FeatureRow& row = samples[s]->row;
    Group& of_algorithm = algorithms[row.algorithm];
    Group& of_all = algorithms[""];
    for (size_t i = 0; i < row.kernels.size(); ++i) {
      const KernelRow& kernel = row.kernels[i];
      const LinearSample linear = {std::span(kernel.values).first(features_.linear_kernel),
                                   times_ms[s][i]};
      SignatureGroup& signature = signatures[kernel.signature];
      if (signature.family == nullptr) signature.family = &families[FamilyOf(kernel.signature)];
      signature.samples.push_back(linear);
      signature.family->push_back(linear);
      signature.algorithm = row.algorithm;
      of_algorithm.push_back(linear);
      of_all.push_back(linear);
    }
  }
  GroupFits fits;
  for (const auto& [name, group] : algorithms) kernels_of_algorithms_[name] = fits.Of(group);
  for (const auto& [name, group] : families) {
    if (group.size() >= kLeastOfSignature) families_[name] = fits.Of(group);
  }
  for (const auto& [view, group] : signatures) {
    const std::string name(view);
    signatures_[name] = group.samples.size() >= kLeastOfSignature
                            ? fits.Of(group.samples)
                            : Scaled(SharedFit(group.algorithm, name), group.samples);
  }
}

void KernelRegressor::FitOperations(std::span<const Sample* const> samples) {
  // They are asked for where no kernel is known, which for some algorithms is where there are many.
  std::map<std::string_view, size_t> without_kernels;
  for (const Sample* const sample : samples) {
    if (sample->row.kernels.empty()) ++without_kernels[sample->row.algorithm];
  }
  Groups groups;
  for (const Sample* const sample : samples) {
    const FeatureRow& row = sample->row;
    if (!row.kernels.empty() && without_kernels[row.algorithm] >= kLeastOfSignature) continue;
    const LinearSample linear = {std::span(row.values).first(features_.linear_operation),
                                 sample->time_ms};
    groups[row.algorithm].push_back(linear);
    groups[""].push_back(linear);
  }
  GroupFits fits;
  operations_[""] = fits.Of(groups[""]);
  for (const auto& [name, group] : groups) {
    if (name.empty()) continue;
    operations_[name] =
        group.size() >= kLeastOfSignature ? fits.Of(group) : Scaled(operations_[""], group);
  }
}

Status KernelRegressor::Fit(std::span<const Sample> samples) {
  ATTUNE_RETURN_IF_ERROR(CheckSamples(samples, features_));
  std::vector<const Sample*> all;
  for (const Sample& sample : samples) all.push_back(&sample);
  return Fit(all);
}

Status KernelRegressor::Fit(std::span<const Sample* const> samples) {
  if (samples.empty())
    return FailedPrecondition("A model of kernels cannot be fitted to no samples.");
  operations_ = {};
  KernelTimes times_ms(samples.size());
  std::vector<size_t> shared;  // Timed as a whole.
  for (size_t i = 0; i < samples.size(); ++i) {
    times_ms[i] = samples[i]->kernel_times_ms;
    const size_t kernels = samples[i]->row.kernels.size();
    if (!times_ms[i].empty() || kernels == 0) continue;
    if (kernels == 1) {
      times_ms[i] = {samples[i]->time_ms};
    } else {
      shared.push_back(i);
    }
  }
  FitKernels(samples, times_ms);
  for (int round = 0; round < kShareRounds && !shared.empty(); ++round) {
    for (const size_t i : shared) times_ms[i] = SharesOf(*samples[i]);
    FitKernels(samples, times_ms);
  }
  FitOperations(samples);
  return Status::Ok();
}

double KernelRegressor::PredictKernel(std::string_view algorithm, const KernelRow& kernel) const {
  const auto own = signatures_.find(kernel.signature);
  if (own != signatures_.end()) return own->second.Predict(kernel.values);
  return SharedFit(algorithm, kernel.signature).Predict(kernel.values);
}

KernelSum KernelRegressor::PredictSum(const FeatureRow& row, std::string_view algorithm) const {
  KernelSum sum;
  if (row.kernels.empty() || !knows_kernels()) {
    auto fit = operations_.find(algorithm);
    if (fit == operations_.end()) fit = operations_.find("");
    sum.time_ms = fit->second.Predict(row.values);
    return sum;
  }
  double longest = 0;
  for (size_t i = 0; i < row.kernels.size(); ++i) {
    const double time_ms = PredictKernel(algorithm, row.kernels[i]);
    sum.time_ms += time_ms;
    if (time_ms > longest) {
      longest = time_ms;
      sum.main = i;
    }
  }
  sum.main_share = sum.time_ms > 0 ? longest / sum.time_ms : 0;
  return sum;
}

void KernelRegressor::Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const {
  for (size_t i = 0; i < rows.size(); ++i) median_ms[i] = PredictSum(rows[i]).time_ms;
}

void KernelRegressor::PredictEach(const FeatureRow& row,
                                  std::span<const std::string_view> algorithms,
                                  std::span<double> median_ms) const {
  for (size_t i = 0; i < algorithms.size(); ++i) {
    median_ms[i] = PredictSum(row, algorithms[i]).time_ms;
  }
}

std::unique_ptr<Regressor> KernelRegressor::Fresh() const {
  return std::make_unique<KernelRegressor>(features_);
}

void KernelRegressor::AppendFits(std::string& text, std::string_view keyword, const Fits& fits) {
  AppendCount(text, keyword, fits.size());
  for (const auto& [name, fit] : fits) {
    AppendWord(text, "of", name);
    AppendNumbers(text, "least_ms", std::span(&fit.least_ms, 1));
    AppendNumbers(text, "coefficients", fit.coefficients);
  }
}

void KernelRegressor::AppendText(std::string& text) const {
  AppendFits(text, "signatures", signatures_);
  AppendFits(text, "families", families_);
  AppendFits(text, "algorithms", kernels_of_algorithms_);
  AppendFits(text, "operations", operations_);
}

Result<KernelRegressor::Fits> KernelRegressor::ReadFits(ModelLines& lines, std::string_view keyword,
                                                        size_t columns) {
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count(keyword, kMostNames));
  Fits fits;
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    LinearFit fit;
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> least, lines.Numbers("least_ms", 1));
    if (least[0] <= 0) return lines.Wrong("the shortest time has to be above 0.");
    fit.least_ms = least[0];
    ATTUNE_ASSIGN_OR_RETURN(fit.coefficients, lines.Numbers("coefficients", columns));
    if (std::any_of(fit.coefficients.begin(), fit.coefficients.end(),
                    [](double x) { return x < 0; })) {
      return lines.Wrong("a coefficient is below 0.");
    }
    if (!fits.emplace(name, std::move(fit)).second) {
      return lines.Wrong(fmt::format("'{}' is there twice.", name));
    }
  }
  return fits;
}

Result<std::unique_ptr<Regressor>> KernelRegressor::ReadFrom(ModelLines& lines,
                                                             const FeatureSet& features) {
  auto model = std::make_unique<KernelRegressor>(features);
  ATTUNE_ASSIGN_OR_RETURN(model->signatures_,
                          ReadFits(lines, "signatures", features.linear_kernel));
  ATTUNE_ASSIGN_OR_RETURN(model->families_, ReadFits(lines, "families", features.linear_kernel));
  ATTUNE_ASSIGN_OR_RETURN(model->kernels_of_algorithms_,
                          ReadFits(lines, "algorithms", features.linear_kernel));
  ATTUNE_ASSIGN_OR_RETURN(model->operations_,
                          ReadFits(lines, "operations", features.linear_operation));
  if (!model->operations_.contains("")) return lines.Wrong("no fit of all operations.");
  // A model with kernels of any kind has a fit of all kernels.
  const bool has_kernels = !model->signatures_.empty() || !model->families_.empty() ||
                           !model->kernels_of_algorithms_.empty();
  if (has_kernels && !model->kernels_of_algorithms_.contains("")) {
    return lines.Wrong("no fit of all kernels.");
  }
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
