#include "apps/attune/report/model_plots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"
#include "apps/attune/report/markup.h"
#include "apps/attune/report/svg.h"

namespace attune {
namespace {

constexpr double kNsInMs = 1e6;
constexpr double kWidth = 960;
constexpr double kLabelWidth = 330;
constexpr double kRow = 17;
constexpr double kTop = 26;
constexpr double kFarthest = 4;  // Larger errors are drawn at the edge.

struct SolverErrors {
  std::vector<const PredictedTime*> times;
  double median_ratio = 1;
  double median_error = 0;  // Median of |predicted / measured - 1|.
};

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

SolverErrors ErrorsOf(std::vector<const PredictedTime*> times) {
  std::vector<double> ratios, errors;
  for (const PredictedTime* time : times) {
    ratios.push_back(time->ratio());
    errors.push_back(std::abs(time->ratio() - 1));
  }
  return {std::move(times), MedianOf(std::move(ratios)), MedianOf(std::move(errors))};
}

std::map<std::string, SolverErrors> BySolver(const std::vector<PredictedTime>& times) {
  std::map<std::string, std::vector<const PredictedTime*>> solvers;
  for (const PredictedTime& time : times) solvers[time.candidate.solver.name].push_back(&time);
  std::map<std::string, SolverErrors> errors;
  for (auto& [name, group] : solvers) errors[name] = ErrorsOf(std::move(group));
  return errors;
}

std::string Tip(const PredictedTime& time) {
  return fmt::format(
      "{}\n{}\npredicted {} ({} to {}), measured {}", Label(time.problem), Text(time.candidate),
      FormatTime(time.predicted.median_ms * kNsInMs), FormatTime(time.predicted.low_ms * kNsInMs),
      FormatTime(time.predicted.high_ms * kNsInMs), FormatTime(time.measured_ms * kNsInMs));
}

// "Of 34 candidates ... half are within 5.0 % ..., and 31 within their range."
std::string InWords(const std::vector<PredictedTime>& times) {
  std::vector<double> errors;
  for (const PredictedTime& time : times) errors.push_back(std::abs(time.ratio() - 1));
  const auto within = std::ranges::count_if(times, &PredictedTime::is_within);
  return fmt::format(
      "Predicted against measured times of {} candidates: half are within {:.1f} % of what was "
      "measured, and {} within their range of nine of ten times.",
      times.size(), 100 * MedianOf(std::move(errors)), within);
}

std::string ErrorTable(const std::vector<PredictedTime>& times) {
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th>solver</th><th class=\"num\">candidates</th>"
      "<th class=\"num\">median error</th><th class=\"num\">median of predicted over measured</th>"
      "<th class=\"num\">within range</th></tr></thead><tbody>\n";
  for (const auto& [name, errors] : BySolver(times)) {
    const auto within = std::ranges::count_if(
        errors.times, [](const PredictedTime* time) { return time->is_within(); });
    html += fmt::format(
        "<tr><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{:.1f} %</td>"
        "<td class=\"num\">{:.2f}x</td><td class=\"num\">{}</td></tr>\n",
        HtmlEscaped(name), errors.times.size(), 100 * errors.median_error, errors.median_ratio,
        within);
  }
  return html + "</tbody></table></div>\n";
}

std::string RegretInWords(const RegretCurves& curves) {
  const auto slower = [](double ratio) { return fmt::format("{:.1f} %", 100 * (ratio - 1)); };
  return fmt::format(
      "How much longer than the best takes what is found by measuring so many candidates of each "
      "of "
      "{} problems. By the model: {} with one, {} with three; at random: {} with one, {} with "
      "three; "
      "the default: {}.",
      curves.problems, slower(curves.by_model[0]), slower(curves.by_model[2]),
      slower(curves.at_random[0]), slower(curves.at_random[2]), slower(curves.of_default));
}

}  // namespace

std::string PredictedPlot(const std::vector<PredictedTime>& times, const Palette& palette) {
  constexpr double kSide = 420;
  constexpr double kLeft = 90;
  constexpr double kBottom = 440;
  double low = times.front().measured_ms;
  double high = low;
  for (const PredictedTime& time : times) {
    low = std::min({low, time.measured_ms, time.predicted.median_ms});
    high = std::max({high, time.measured_ms, time.predicted.median_ms});
  }
  low /= 1.2;
  high *= 1.2;
  const Scale x = Scale::Log(low, high, kLeft, kLeft + kSide);
  const Scale y = Scale::Log(low, high, kBottom, kBottom - kSide);
  Svg svg(kLeft + kSide + 30, kBottom + 42, InWords(times));
  for (double tick = std::pow(10, std::ceil(std::log10(low))); tick <= high; tick *= 10) {
    svg.Line(x.At(tick), kBottom, x.At(tick), kBottom - kSide, "grid");
    svg.Line(kLeft, y.At(tick), kLeft + kSide, y.At(tick), "grid");
    const std::string text = FormatTime(tick * kNsInMs);
    svg.Label(x.At(tick), kBottom + 16, text, {"tick", "middle"});
    svg.Label(kLeft - 6, y.At(tick) + 4, text, {"tick", "end"});
  }
  svg.Line(x.At(low), y.At(low), x.At(high), y.At(high), "one");
  for (const PredictedTime& time : times) {
    svg.Circle(x.At(time.measured_ms), y.At(time.predicted.median_ms), 3,
               palette.ClassOf(time.candidate.solver.name) + " dot", Tip(time));
  }
  svg.Label(kLeft + kSide / 2, kBottom + 34, "measured", {"row", "middle"});
  svg.Label(kLeft, kBottom - kSide - 6, "predicted", {"row", "end"});
  return svg.Finish();
}

std::string ErrorPlot(const std::vector<PredictedTime>& times, const Palette& palette) {
  const auto solvers = BySolver(times);
  const double bottom = kTop + kRow * static_cast<double>(solvers.size());
  const Scale scale = Scale::Log(1 / kFarthest, kFarthest, kLabelWidth, kWidth - 30);
  Svg svg(
      kWidth, bottom + 6,
      fmt::format("Predicted over measured time of the candidates of {} solvers, which the table "
                  "below has as numbers",
                  solvers.size()));
  for (const double tick : {0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0}) {
    svg.Line(scale.At(tick), kTop - 6, scale.At(tick), bottom, tick == 1 ? "one" : "grid");
    svg.Label(scale.At(tick), kTop - 11, fmt::format("{:g}x", tick), {"tick", "middle"});
  }
  double y = kTop + kRow / 2;
  for (const auto& [name, errors] : solvers) {
    svg.Label(kLabelWidth - 10, y + 4, name, {"row", "end"});
    svg.Line(kLabelWidth, y, kWidth - 30, y, "lane");
    for (const PredictedTime* time : errors.times) {
      svg.Circle(scale.At(time->ratio()), y, 3, palette.ClassOf(name) + " dot", Tip(*time));
    }
    const double median = scale.At(errors.median_ratio);
    svg.Line(median, y - 7, median, y + 7, "whisker");
    y += kRow;
  }
  return svg.Finish();
}

std::string RegretPlot(const RegretCurves& curves) {
  constexpr double kPlotWidth = 560;
  constexpr double kBase = 240;
  double high = std::max(curves.of_default, 1.02);
  for (size_t i = 0; i < curves.by_model.size(); ++i) {
    high = std::max({high, curves.by_model[i], curves.at_random[i]});
  }
  const auto most = static_cast<double>(RegretCurves::kMostMeasured);
  const Scale x = Scale::Linear(1, most, 60, kPlotWidth - 110);
  const Scale y = Scale::Log(1, high * 1.02, kBase, 20);
  Svg svg(kPlotWidth, kBase + 42, RegretInWords(curves));
  for (const double tick : {1.0, high}) {
    svg.Line(60, y.At(tick), kPlotWidth - 110, y.At(tick), tick == 1 ? "axis" : "grid");
    svg.Label(54, y.At(tick) + 4, fmt::format("{:.3g}x", tick), {"tick", "end"});
  }
  for (const int tick : {1, 2, 4, 8, 16}) {
    svg.Label(x.At(tick), kBase + 16, fmt::format("{}", tick), {"tick", "middle"});
  }
  const auto curve = [&](const std::vector<double>& values, const char* css, const char* name) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double at = x.At(static_cast<double>(i + 1));
      svg.Circle(at, y.At(values[i]), 3.5, css,
                 fmt::format("{}, {} measured: {:.3f}x the best", name, i + 1, values[i]));
      if (i == 0) continue;
      svg.Line(x.At(static_cast<double>(i)), y.At(values[i - 1]), at, y.At(values[i]), "axis");
    }
  };
  curve(curves.at_random, "quiet", "at random");
  curve(curves.by_model, "c0", "by the model");
  svg.Line(60, y.At(curves.of_default), kPlotWidth - 110, y.At(curves.of_default), "best");
  svg.Label(kPlotWidth - 104, y.At(curves.of_default) + 4, "default", {"value"});
  svg.Label((kPlotWidth - 50) / 2, kBase + 34, "candidates measured for each problem",
            {"row", "middle"});
  return svg.Finish();
}

std::string ModelSection(const std::vector<PredictedTime>& times, const Palette& palette) {
  if (times.empty()) return "";
  const RegretCurves curves = RegretOf(times);
  const auto words = [](const std::string& text) {
    return fmt::format("<p class=\"soft\">{}</p>\n", HtmlEscaped(text));
  };
  std::string html = "<h2>What a model predicts</h2>\n";
  html +=
      words(InWords(times) +
            " What a model was fitted to it predicts better than what it was not: 'attune model "
            "fit' says how good it is there.");
  html += PredictedPlot(times, palette);
  html += "<h3>Error by kernel</h3>\n";
  html += words(
      "Predicted over measured time; the short line is the median of a solver. What is "
      "farther off than 4x stands at the edge.");
  html += ErrorPlot(times, palette) + ErrorTable(times);
  if (curves.problems == 0) return html;
  html += "<h3>Regret</h3>\n" +
          words(RegretInWords(curves) +
                " Coloured: by the model; grey: at random; dashed: the "
                "default, which takes no measurement.") +
          RegretPlot(curves);
  return html;
}

}  // namespace attune
