#include "bench/gemm_choice_summary.h"

#include <algorithm>

#include "bench/geometric_mean.h"

namespace attune {
namespace {

// Library time over the time of the choice, for every product.
std::vector<double> SpeedupsOver(const std::string& library, std::span<const GemmChoiceRow> rows) {
  std::vector<double> speedups;
  for (const GemmChoiceRow& row : rows) {
    const auto found = row.speedup.find(library);
    const auto& used = found != row.speedup.end() ? found->second : row.speedup.at(kGemmBaseline);
    speedups.push_back(used.ratio);
  }
  return speedups;
}

double GeometricMeanOverFastest(std::span<const GemmChoiceRow> rows) {
  std::vector<double> speedups;
  for (const GemmChoiceRow& row : rows) {
    speedups.push_back(row.speedup.at(FastestLibrary(row)).ratio);
  }
  return GeometricMean(speedups);
}

}  // namespace

const std::string& FastestLibrary(const GemmChoiceRow& row) {
  return std::min_element(row.library_ns.begin(), row.library_ns.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

GemmChoiceSummary Summarize(std::span<const GemmChoiceRow> rows) {
  GemmChoiceSummary summary;
  const std::vector<double> over_openblas = SpeedupsOver(kGemmBaseline, rows);
  summary.geomean_over_openblas = GeometricMean(over_openblas);
  summary.geomean_over_best_library_of_shape = GeometricMeanOverFastest(rows);
  const auto worst = std::min_element(over_openblas.begin(), over_openblas.end());
  summary.worst = *worst;
  summary.worst_problem = Text(rows[static_cast<size_t>(worst - over_openblas.begin())].problem);
  for (const char* library : kGemmLibraries) {
    const double geomean = GeometricMean(SpeedupsOver(library, rows));
    if (!summary.best_single_library.empty() &&
        geomean >= summary.geomean_over_best_single_library) {
      continue;
    }
    summary.best_single_library = library;
    summary.geomean_over_best_single_library = geomean;
  }
  return summary;
}

}  // namespace attune
