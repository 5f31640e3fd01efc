#include "extensions/models/replay_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/report/markup.h"
#include "apps/attune/report/style.h"
#include "apps/attune/report/svg.h"

namespace attune {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 220;
constexpr double kLeft = 60;
constexpr double kBottom = 190;
// Draws every fifth point of the grid, which is finer than an image can show.
constexpr size_t kEvery = 5;

// Draws times over the optimum; the axis ends at the worst time of random search.
void DrawCurve(Svg& svg, const std::vector<double>& times_ms, const ScoreBasis& basis,
               std::string_view css) {
  const double worst_ms = basis.baseline_ms.front();
  const Scale across =
      Scale::Linear(basis.grid_ms.front(), basis.grid_ms.back(), kLeft, kWidth - 10);
  const Scale up = Scale::Linear(basis.optimum_ms(), worst_ms, kBottom, 20);
  for (size_t i = kEvery; i < times_ms.size(); i += kEvery) {
    const double x = across.At(basis.grid_ms[i]);
    const double before = up.At(times_ms[i - kEvery]);
    svg.Line(across.At(basis.grid_ms[i - kEvery]), before, x, before, css);
    svg.Line(x, before, x, up.At(times_ms[i]), css);
  }
}

std::string Plot(const ReplayedSpace& space) {
  const ScoreBasis& basis = space.result.basis;
  Svg svg(kWidth, kHeight, fmt::format("What was found over time in {}", space.name));
  svg.Line(kLeft, kBottom, kWidth - 10, kBottom, "axis");
  svg.Line(kLeft, 20, kLeft, kBottom, "axis");
  svg.Label(kLeft - 6, kBottom, "optimum", {.css = "soft", .anchor = "end"});
  svg.Label(kLeft - 6, 26, fmt::format("{:.2f}x", basis.baseline_ms.front() / basis.optimum_ms()),
            {.css = "soft", .anchor = "end"});
  svg.Label(kLeft, kHeight - 12, fmt::format("{:.0f} s", basis.grid_ms.front() / 1e3),
            {.css = "soft"});
  svg.Label(kWidth - 10, kHeight - 12, fmt::format("{:.0f} s", basis.budget_ms / 1e3),
            {.css = "soft", .anchor = "end"});
  DrawCurve(svg, basis.baseline_ms, basis, "best");
  DrawCurve(svg, space.result.curve_ms, basis, "whisker");
  return svg.Finish();
}

}  // namespace

std::string ReplayPage(const std::string& searcher, int repeats,
                       const std::vector<ReplayedSpace>& spaces) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<title>attune replay: {0}</title>\n<style>{1}</style></head>\n<body><main>\n"
      "<h1>Searcher {0}, {2} runs</h1>\n<p class=\"soft\">The best time found so far, on average "
      "over the runs, by the time charged. The dashed line is random search, calculated.</p>\n",
      HtmlEscaped(searcher), ReportStyle(), repeats);
  for (const ReplayedSpace& space : spaces) {
    html += fmt::format(
        "<h2>{}</h2>\n<p class=\"soft\">Score {:.3f}; {:.0f} % of the runs reach "
        "the target.</p>\n{}",
        HtmlEscaped(space.name), space.result.score, space.result.share_reaching_target * 100,
        Plot(space));
  }
  return html + "</main></body></html>\n";
}

}  // namespace attune
