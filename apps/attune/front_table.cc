#include "apps/attune/front_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"

namespace attune {
namespace {

// Half of the interval as a share of the value: "±0.8%"; empty where one sample says it all.
std::string Spread(const FigureValue& figure) {
  const bool is_known = figure.samples > 1 || figure.low < figure.high;
  if (!is_known) return "";
  if (figure.low == figure.high) return "±0%";
  if (figure.value == 0) return fmt::format("±{:.2g}", (figure.high - figure.low) / 2);
  return fmt::format("±{:.2g}%", 50 * (figure.high - figure.low) / std::abs(figure.value));
}

Json FigureJson(const FigureValue& figure) {
  return {{"value", figure.value},
          {"low", figure.low},
          {"high", figure.high},
          {"confidence", figure.confidence},
          {"samples", figure.samples}};
}

}  // namespace

std::string FormatFigure(double value, const Objective& objective) {
  if (objective.name == kTimeObjective) return FormatTime(value);
  return fmt::format("{:.4g}{}{}", value, objective.unit.empty() ? "" : " ", objective.unit);
}

Table FrontTable(const ObjectiveFront& front) {
  using Align = Column::Align;
  using Fit = Column::Fit;
  std::vector<Column> columns = {{"candidate", Align::kLeft, Fit::kBelow}};
  for (const Objective& objective : front.objectives) {
    columns.push_back({objective.name, Align::kRight});
    columns.push_back({"interval", Align::kRight, Fit::kLeftOut});
  }
  columns.push_back({"", Align::kLeft});
  Table table(std::move(columns));
  for (const FrontPoint& point : front.points) {
    if (!point.is_on_front && !point.is_default) continue;
    std::vector<std::string> cells = {Text(point.candidate)};
    for (size_t i = 0; i < front.objectives.size(); ++i) {
      cells.push_back(FormatFigure(point.figures[i].value, front.objectives[i]));
      cells.push_back(Spread(point.figures[i]));
    }
    cells.emplace_back(point.is_default ? "default" : "");
    table.AddRow(std::move(cells), point.is_on_front ? Colour::kGreen : Colour::kPlain);
  }
  return table;
}

Json ToJson(const ObjectiveFront& front) {
  Json objectives = Json::array();
  for (const Objective& objective : front.objectives) {
    objectives.push_back({{"name", objective.name},
                          {"direction", Name(objective.direction)},
                          {"unit", objective.unit}});
  }
  Json points = Json::array();
  for (const FrontPoint& point : front.points) {
    Json figures = Json::object();
    for (size_t i = 0; i < front.objectives.size(); ++i) {
      figures[front.objectives[i].name] = FigureJson(point.figures[i]);
    }
    points.push_back({{"candidate", Text(point.candidate)},
                      {"on_front", point.is_on_front},
                      {"final", point.is_final},
                      {"default", point.is_default},
                      {"figures", std::move(figures)}});
  }
  return {{"objectives", std::move(objectives)},
          {"set", front.set.id},
          {"started_unix_ns", front.set.started_unix_ns},
          {"points", std::move(points)}};
}

}  // namespace attune
