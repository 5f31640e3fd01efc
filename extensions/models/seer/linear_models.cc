#include "extensions/models/seer/linear_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "attune/model/least_squares.h"

namespace attune::seer {
namespace {

constexpr std::array<int64_t, 5> kBandWidths = {16, 32, 64, 128, 256};
constexpr int64_t kTile = 32;

double Number(int64_t x) { return static_cast<double>(x); }

std::vector<double> FftTerms(const Layer& x, Rules rules) {
  const double n = Number(x.n);
  const double c = Number(x.c);
  const double k = Number(x.k);
  if (rules == Rules::kAsPublished) return {c, c * k, k, 1};
  return {n * c, n * c * k, c * k, n * k, 1};
}

std::vector<double> FftTilingTerms(const Layer& x, Rules rules) {
  const double side = std::ceil(Number(x.p) / Number(kTile - x.f + 1));
  const double tiles = side * side;
  std::vector<double> terms = FftTerms(x, rules);
  if (rules == Rules::kAsPublished) {
    for (double& term : terms) term *= tiles;
  } else {
    for (const size_t of_images : {0, 1, 3}) terms[of_images] *= tiles;
  }
  return terms;
}

double MacsOf(const Layer& x) {
  return Number(x.n * x.p * x.p) * Number(x.k) * Number(x.f * x.f) * Number(x.c);
}
double InOf(const Layer& x) { return Number(x.n * x.w * x.w) * Number(x.c); }
double OutOf(const Layer& x) { return Number(x.n * x.p * x.p) * Number(x.k); }

double MeanOf(const std::vector<double>& values, size_t most) {
  const size_t count = std::min(values.size(), most);
  if (count == 0) return 0;
  return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

std::vector<double> RatioFeatures(const Layer& x) {
  return {Number(x.c), Number(x.w), Number(x.k), Number(x.p), Number(x.f), Number(x.s)};
}

}  // namespace

double Polynomial::Predict(const Layer& layer) const {
  const double sum = Dot(coefficients, terms(layer, rules));
  return rules == Rules::kFixed ? std::max(sum, least_ms / 2) : sum;
}

Result<Polynomial> FitPolynomial(std::vector<double> (*terms)(const Layer&, Rules),
                                 std::span<const TimedLayer> samples, Rules rules) {
  if (samples.empty()) return FailedPrecondition("A polynomial cannot be fitted to no samples.");
  std::vector<std::vector<double>> rows;
  std::vector<double> times;
  for (const TimedLayer& sample : samples) {
    if (!std::isfinite(sample.time_ms) || sample.time_ms <= 0) {
      return FailedPrecondition(fmt::format("A time of {} ms cannot be fitted.", sample.time_ms));
    }
    rows.push_back(terms(sample.layer, rules));
    times.push_back(sample.time_ms);
  }
  Polynomial polynomial{terms, rules, FitTerms(rows, times, rules), 0};
  polynomial.least_ms = *std::min_element(times.begin(), times.end());
  return polynomial;
}

bool FftModel::Supports(const Layer& layer) {
  return layer.s == 1 && layer.w <= kBandWidths.back();
}

Result<FftModel> FftModel::Train(std::span<const TimedLayer> samples, Rules rules) {
  std::array<std::vector<TimedLayer>, kBandWidths.size()> bands;
  for (const TimedLayer& sample : samples) {
    if (!Supports(sample.layer)) continue;
    const auto band = std::lower_bound(kBandWidths.begin(), kBandWidths.end(), sample.layer.w);
    bands[static_cast<size_t>(band - kBandWidths.begin())].push_back(sample);
  }
  FftModel model;
  for (size_t i = 0; i < bands.size(); ++i) {
    if (bands[i].empty()) continue;
    ATTUNE_ASSIGN_OR_RETURN(model.bands_[i], FitPolynomial(&FftTerms, bands[i], rules));
  }
  return model;
}

std::optional<double> FftModel::Predict(const Layer& layer) const {
  if (!Supports(layer)) return std::nullopt;
  const auto band = std::lower_bound(kBandWidths.begin(), kBandWidths.end(), layer.w);
  const std::optional<Polynomial>& fit = bands_[static_cast<size_t>(band - kBandWidths.begin())];
  if (!fit.has_value()) return std::nullopt;
  return fit->Predict(layer);
}

bool FftTilingModel::Supports(const Layer& layer) { return layer.s == 1 && layer.f <= kTile; }

Result<FftTilingModel> FftTilingModel::Train(std::span<const TimedLayer> samples, Rules rules) {
  std::vector<TimedLayer> supported;
  for (const TimedLayer& sample : samples) {
    if (Supports(sample.layer)) supported.push_back(sample);
  }
  FftTilingModel model;
  ATTUNE_ASSIGN_OR_RETURN(model.polynomial_, FitPolynomial(&FftTilingTerms, supported, rules));
  return model;
}

std::vector<double> Im2colTerms(const Layer& x, Rules) {
  return {Number(x.n * x.p * x.p) * Number(x.f * x.f * x.c),
          Number(x.k) * Number(x.f * x.f) * Number(x.c), 1};
}

std::vector<double> WinogradTransformTerms(const Layer& x, Rules rules) {
  const double filter = Number(x.c) * Number(x.k) * Number(x.f * x.f);
  return {InOf(x), rules == Rules::kAsPublished ? Number(x.n) * filter : filter, OutOf(x), 1};
}

double TransformTime(const TransformTimes& times, Rules rules) {
  if (rules == Rules::kAsPublished) return 3 * MeanOf(times.data_ms, 4);
  return MeanOf(times.data_ms, SIZE_MAX) + MeanOf(times.filter_ms, SIZE_MAX) +
         MeanOf(times.output_ms, SIZE_MAX);
}

std::vector<double> MaxPoolTerms(const Layer& x, Rules) {
  return {OutOf(x) * Number(x.f), InOf(x), OutOf(x), 1};
}

std::vector<double> MaxPoolGradientTerms(const Layer& x, Rules) {
  return {OutOf(x) * Number(x.f), InOf(x), 1};
}

std::vector<double> PointwiseNarrowTerms(const Layer& layer, Rules) {
  Layer x = layer;
  x.k = (x.k + 31) / 32 * 32;
  return {InOf(x), OutOf(x), MacsOf(x), 1};
}

std::vector<double> PointwiseWideTerms(const Layer& x, Rules) { return {MacsOf(x), 1}; }

std::vector<double> LayoutTerms(const Layer& x, Rules) { return {InOf(x), 1}; }

Result<PointwiseModel> PointwiseModel::Train(std::span<const TimedLayer> samples, Rules rules) {
  std::vector<TimedLayer> narrow, wide;
  for (const TimedLayer& sample : samples) {
    (sample.layer.k <= 128 ? narrow : wide).push_back(sample);
  }
  PointwiseModel model;
  if (!narrow.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(model.narrow_, FitPolynomial(&PointwiseNarrowTerms, narrow, rules));
  }
  if (!wide.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(model.wide_, FitPolynomial(&PointwiseWideTerms, wide, rules));
  }
  return model;
}

std::optional<double> PointwiseModel::Predict(const Layer& layer) const {
  const std::optional<Polynomial>& fit = layer.k <= 128 ? narrow_ : wide_;
  if (!fit.has_value()) return std::nullopt;
  return fit->Predict(layer);
}

Result<GradientModel> GradientModel::Train(std::span<const GradientSample> samples, uint64_t seed) {
  CartData data;
  for (const GradientSample& sample : samples) {
    if (!(sample.forward_ms > 0) || !(sample.gradient_ms > 0)) {
      return FailedPrecondition("Times of a gradient have to be above 0.");
    }
    data.rows.push_back(RatioFeatures(sample.layer));
    data.targets.push_back(sample.gradient_ms / sample.forward_ms);
  }
  if (data.targets.empty()) return FailedPrecondition("There are no gradients to train with.");
  GradientModel model;
  model.ratio_ = Cart::GrowCrossValidated(CartKind::kRegression, data, seed);
  return model;
}

double GradientModel::Predict(const Layer& layer, double forward_ms) const {
  return forward_ms * ratio_.Predict(RatioFeatures(layer));
}

void Polynomial::AppendText(std::string& text) const {
  AppendNumbers(text, "least_ms", std::span(&least_ms, 1));
  AppendNumbers(text, "coefficients", coefficients);
}

Result<Polynomial> Polynomial::ReadFrom(ModelLines& lines,
                                        std::vector<double> (*terms)(const Layer&, Rules),
                                        Rules rules) {
  Polynomial polynomial{terms, rules, {}, 0};
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> least, lines.Numbers("least_ms", 1));
  if (!(least[0] > 0)) return lines.Wrong("a least time is not above 0.");
  polynomial.least_ms = least[0];
  const size_t count = terms(Layer{}, rules).size();
  ATTUNE_ASSIGN_OR_RETURN(polynomial.coefficients, lines.Numbers("coefficients", count));
  return polynomial;
}

namespace {

// Reads the output of AppendOptional().
Result<std::optional<Polynomial>> ReadOptional(ModelLines& lines, std::string_view keyword,
                                               std::vector<double> (*terms)(const Layer&, Rules),
                                               Rules rules) {
  ATTUNE_ASSIGN_OR_RETURN(const bool is_there, lines.IsThere(keyword));
  if (!is_there) return std::optional<Polynomial>();
  ATTUNE_ASSIGN_OR_RETURN(Polynomial polynomial, Polynomial::ReadFrom(lines, terms, rules));
  return std::optional<Polynomial>(std::move(polynomial));
}

}  // namespace

void FftModel::AppendText(std::string& text) const {
  for (const std::optional<Polynomial>& band : bands_) AppendOptional(text, "band", band);
}

Result<FftModel> FftModel::ReadFrom(ModelLines& lines, Rules rules) {
  FftModel model;
  for (std::optional<Polynomial>& band : model.bands_) {
    ATTUNE_ASSIGN_OR_RETURN(band, ReadOptional(lines, "band", &FftTerms, rules));
  }
  return model;
}

Result<FftTilingModel> FftTilingModel::ReadFrom(ModelLines& lines, Rules rules) {
  FftTilingModel model;
  ATTUNE_ASSIGN_OR_RETURN(model.polynomial_, Polynomial::ReadFrom(lines, &FftTilingTerms, rules));
  return model;
}

void PointwiseModel::AppendText(std::string& text) const {
  AppendOptional(text, "narrow", narrow_);
  AppendOptional(text, "wide", wide_);
}

Result<PointwiseModel> PointwiseModel::ReadFrom(ModelLines& lines, Rules rules) {
  PointwiseModel model;
  ATTUNE_ASSIGN_OR_RETURN(model.narrow_,
                          ReadOptional(lines, "narrow", &PointwiseNarrowTerms, rules));
  ATTUNE_ASSIGN_OR_RETURN(model.wide_, ReadOptional(lines, "wide", &PointwiseWideTerms, rules));
  return model;
}

Result<GradientModel> GradientModel::ReadFrom(ModelLines& lines) {
  GradientModel model;
  ATTUNE_ASSIGN_OR_RETURN(model.ratio_, Cart::ReadFrom(lines, RatioFeatures(Layer{}).size(), 0));
  return model;
}

}  // namespace attune::seer
