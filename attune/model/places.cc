#include "attune/model/places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace attune {
namespace {

constexpr size_t kMostPlaces = 1 << 24;

// Keeps the sign, and is about linear near 0.
double SignedLog(double x) { return std::copysign(std::log2(1 + std::abs(x)), x); }

std::vector<double> SpreadsOf(std::span<const Sample> samples) {
  const auto count = static_cast<double>(samples.size());
  std::vector<double> spreads(samples.front().row.values.size(), 1);
  for (size_t j = 0; j < spreads.size(); ++j) {
    double sum = 0;
    double squares = 0;
    for (const Sample& sample : samples) {
      const double x = SignedLog(sample.row.values[j]);
      sum += x;
      squares += x * x;
    }
    const double variance = squares / count - sum / count * (sum / count);
    if (variance > 1e-12) spreads[j] = std::sqrt(variance);
  }
  return spreads;
}

}  // namespace

std::vector<uint32_t> Places::Take(std::span<const Sample> samples) {
  spreads_ = SpreadsOf(samples);
  values_.clear();
  std::map<std::vector<double>, uint32_t> known;
  std::vector<uint32_t> places;
  for (const Sample& sample : samples) {
    const auto [place, is_new] =
        known.try_emplace(sample.row.values, static_cast<uint32_t>(values_.size()));
    if (is_new) values_.push_back(sample.row.values);
    places.push_back(place->second);
  }
  LayOut();
  return places;
}

void Places::LayOut() {
  coordinates_.resize(spreads_.size() * values_.size());
  double* next = coordinates_.data();
  for (size_t j = 0; j < spreads_.size(); ++j) {
    for (const std::vector<double>& values : values_) *next++ = SignedLog(values[j]) / spreads_[j];
  }
}

std::vector<double> Places::SquaredDistancesFrom(std::span<const double> values) const {
  std::vector<double> distances(values_.size(), 0);
  for (size_t j = 0; j < spreads_.size(); ++j) {
    const double here = SignedLog(values[j]) / spreads_[j];
    const double* const there = coordinates_.data() + j * distances.size();
    for (size_t i = 0; i < distances.size(); ++i) {
      distances[i] += (there[i] - here) * (there[i] - here);
    }
  }
  return distances;
}

// Candidates of one problem share its place, because the values of places are most of a file.
void Places::AppendText(std::string& text) const {
  AppendNumbers(text, "spreads", spreads_);
  AppendCount(text, "places", values_.size());
  for (const std::vector<double>& values : values_) AppendNumbers(text, "at", values);
}

Result<Places> Places::ReadFrom(ModelLines& lines, size_t features) {
  Places places;
  ATTUNE_ASSIGN_OR_RETURN(places.spreads_, lines.Numbers("spreads", features));
  if (std::ranges::any_of(places.spreads_, [](double spread) { return spread <= 0; })) {
    return lines.Wrong("a spread is not above 0.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count("places", kMostPlaces));
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::vector<double> values, lines.Numbers("at", features));
    places.values_.push_back(std::move(values));
  }
  places.LayOut();
  return places;
}

}  // namespace attune
