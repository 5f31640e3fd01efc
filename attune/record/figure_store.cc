#include "attune/record/figure_store.h"

#include <cmath>

#include <fmt/format.h>

namespace attune {

Status Validate(const TrialFigure& trial) {
  const FigureValue& figure = trial.figure;
  bool is_good = !trial.objective.name.empty() && figure.samples >= 1 && figure.confidence >= 0 &&
                 figure.confidence <= 1;
  for (const double number : {figure.value, figure.low, figure.high, figure.confidence}) {
    is_good = is_good && std::isfinite(number);
  }
  if (is_good && figure.low <= figure.value && figure.value <= figure.high) return Status::Ok();
  return InvalidArgument(
      fmt::format("The figure '{}' of {} is {} in [{}, {}] of {} samples, which "
                  "is impossible.",
                  trial.objective.name, Text(trial.candidate), figure.value, figure.low,
                  figure.high, figure.samples));
}

Status MemoryFigureStore::AppendFigures(std::string_view set_id,
                                        std::span<const TrialFigure> figures) {
  for (const TrialFigure& figure : figures) ATTUNE_RETURN_IF_ERROR(Validate(figure));
  std::vector<TrialFigure>& kept = figures_[std::string(set_id)];
  kept.insert(kept.end(), figures.begin(), figures.end());
  return Status::Ok();
}

Result<std::vector<TrialFigure>> MemoryFigureStore::FiguresOf(std::string_view set_id) {
  const auto found = figures_.find(set_id);
  return found == figures_.end() ? std::vector<TrialFigure>() : found->second;
}

}  // namespace attune
