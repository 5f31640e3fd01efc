#include "apps/attune/report/plots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/front_table.h"
#include "apps/attune/labels.h"
#include "apps/attune/report/svg.h"
#include "apps/attune/timeline_view.h"
#include "apps/attune/winner_table.h"

namespace attune {
namespace {

constexpr double kWidth = 960;
constexpr double kLabelWidth = 330;  // Left of the plots, for the problems.
constexpr double kRow = 17;
constexpr double kTop = 26;
constexpr size_t kLabelColumns = 50;

std::string Tip(const ReportProblem& problem, const Candidate& candidate, double time_ns,
                const std::string& remark) {
  return fmt::format("{}\n{}\n{}{}{}", Label(problem.chosen.tagged.problem), Text(candidate),
                     FormatTime(time_ns), remark.empty() ? "" : ", ", remark);
}

void DrawRowLabel(Svg& svg, double y, const Problem& problem) {
  svg.Label(kLabelWidth - 10, y + 4, Shortened(Label(problem), kLabelColumns),
            {"row", "end", Text(problem)});
}

// Vertical grid lines with their values above.
void DrawAxis(Svg& svg, const Scale& scale, const std::vector<double>& ticks, double bottom,
              const char* format) {
  for (const double tick : ticks) {
    const double x = scale.At(tick);
    svg.Line(x, kTop - 6, x, bottom, tick == 1 ? "one" : "grid");
    svg.Label(x, kTop - 11, fmt::format(fmt::runtime(format), tick), {"tick", "middle"});
  }
}

std::vector<double> SpeedupTicks(double high) {
  const double step = high <= 2 ? 0.25 : high <= 4 ? 0.5 : high <= 10 ? 1 : std::ceil(high / 10);
  std::vector<double> ticks;
  for (double tick = 0; tick <= high + 1e-9; tick += step) ticks.push_back(tick);
  return ticks;
}

std::vector<const ReportProblem*> Measured(const ReportData& data) {
  std::vector<const ReportProblem*> problems;
  for (const ReportProblem& problem : data.problems) {
    if (IsMeasured(problem)) problems.push_back(&problem);
  }
  return problems;
}

void DrawSpeedupRow(Svg& svg, const Scale& scale, double y, const ReportProblem& problem,
                    const Palette& palette) {
  const Choice& choice = *problem.chosen.choice;
  DrawRowLabel(svg, y, problem.chosen.tagged.problem);
  const bool won = choice.provenance == Provenance::kMeasured;
  const std::string css = won ? palette.ClassOf(choice.candidate.solver.name) : "quiet";
  const double zero = scale.At(0);
  svg.Rect({zero, y - 5, scale.At(choice.speedup) - zero, 10}, css,
           Tip(problem, choice.candidate, choice.measurement.median_ns,
               won ? fmt::format("{} ({:.2f} to {:.2f})", FormatSpeedup(choice.speedup),
                                 choice.speedup_low, choice.speedup_high)
                   : "the default stays"));
  if (won) svg.Line(scale.At(choice.speedup_low), y, scale.At(choice.speedup_high), y, "whisker");
  const double end = scale.At(won ? std::max(choice.speedup_high, choice.speedup) : 1);
  svg.Label(end + 6, y + 4, FormatSpeedup(choice.speedup), {"value"});
}

constexpr double kFarthest = 10;  // Times of the winner; slower ones are drawn at the edge.

void DrawStripRow(Svg& svg, const Scale& scale, double y, const ReportProblem& problem,
                  const Palette& palette) {
  const Story* winner = FindStory(problem.stories, problem.chosen.choice->candidate);
  if (winner == nullptr) return;
  DrawRowLabel(svg, y, problem.chosen.tagged.problem);
  svg.Line(kLabelWidth, y, kWidth - 30, y, "lane");
  // Slowest first, so that the winner lies on top.
  for (auto story = problem.stories.rbegin(); story != problem.stories.rend(); ++story) {
    if (story->failure || story->only_qualified()) continue;
    const auto ratio = TimeAgainst(*story, *winner);
    if (!ratio) continue;
    const Measurement& measured = story->final ? *story->final : *story->screen;
    std::string css = palette.ClassOf(story->candidate.solver.name) + " dot";
    if (story->is_default) css += " ring";
    const double radius = &*story == winner || story->is_default ? 4.5 : 3;
    svg.Circle(scale.At(*ratio), y, radius, css,
               Tip(problem, story->candidate, measured.median_ns,
                   fmt::format("{:.2f} times the winner{}", *ratio,
                               story->is_default ? ", the default" : "")));
  }
}

}  // namespace

bool IsMeasured(const ReportProblem& problem) {
  return problem.chosen.choice && problem.chosen.choice->provenance != Provenance::kUntuned;
}

Palette::Palette(const ReportData& data) {
  std::map<std::string, int64_t> counts;
  for (const ReportProblem& problem : data.problems) {
    for (const Story& story : problem.stories) ++counts[story.candidate.solver.name];
    // Winners get colours before the crowd.
    if (IsMeasured(problem)) counts[problem.chosen.choice->candidate.solver.name] += 1'000;
  }
  for (const auto& [name, count] : counts) names_.push_back(name);
  std::stable_sort(names_.begin(), names_.end(), [&](const std::string& a, const std::string& b) {
    return counts[a] > counts[b];
  });
}

std::string Palette::ClassOf(const std::string& solver_name) const {
  const auto found = std::find(names_.begin(), names_.end(), solver_name);
  const auto index = static_cast<size_t>(found - names_.begin());
  return index < kColours ? fmt::format("c{}", index) : "cx";
}

std::vector<std::pair<std::string, std::string>> Palette::entries() const {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < names_.size() && i < kColours; ++i) {
    entries.emplace_back(names_[i], fmt::format("c{}", i));
  }
  return entries;
}

std::string SpeedupPlot(const ReportData& data, const Palette& palette) {
  std::vector<const ReportProblem*> problems = Measured(data);
  std::stable_sort(problems.begin(), problems.end(), [](const auto* a, const auto* b) {
    return a->chosen.choice->speedup > b->chosen.choice->speedup;
  });
  double high = 1.25;
  for (const ReportProblem* problem : problems) {
    high = std::max(high, problem->chosen.choice->speedup * 1.05);
  }
  const double bottom = kTop + kRow * static_cast<double>(problems.size());
  const Scale scale = Scale::Linear(0, high, kLabelWidth, kWidth - 70);
  Svg svg(kWidth, bottom + 6, "Speed-up over the default for each problem");
  DrawAxis(svg, scale, SpeedupTicks(high), bottom, "{:g}x");
  double y = kTop + kRow / 2;
  for (const ReportProblem* problem : problems) {
    DrawSpeedupRow(svg, scale, y, *problem, palette);
    y += kRow;
  }
  return svg.Finish();
}

std::string StripPlot(const ReportData& data, const Palette& palette) {
  const std::vector<const ReportProblem*> problems = Measured(data);
  const double bottom = kTop + kRow * static_cast<double>(problems.size());
  const Scale scale = Scale::Log(0.9, kFarthest, kLabelWidth, kWidth - 30);
  Svg svg(kWidth, bottom + 6, "Time of every timed candidate relative to the winner");
  DrawAxis(svg, scale, {1, 1.5, 2, 3, 5, 10}, bottom, "{:g}x");
  double y = kTop + kRow / 2;
  for (const ReportProblem* problem : problems) {
    DrawStripRow(svg, scale, y, *problem, palette);
    y += kRow;
  }
  return svg.Finish();
}

std::string SpacePlot(const SpaceView& space, const Palette& palette) {
  constexpr double kPlotWidth = 300;
  constexpr double kPlotHeight = 130;
  constexpr double kBase = 104;
  constexpr size_t kBins = 36;
  const double low = std::min(0.9, space.ratios.front() * 0.95);
  const double high = std::max(4.0, std::min(space.ratios.back() * 1.05, 30.0));
  std::vector<size_t> bins(kBins);
  const Scale to_bin = Scale::Log(low, high, 0, kBins - 1e-6);
  for (const double ratio : space.ratios) ++bins[static_cast<size_t>(to_bin.At(ratio))];
  const size_t tallest = *std::max_element(bins.begin(), bins.end());
  const Scale x = Scale::Log(low, high, 8, kPlotWidth - 8);
  Svg svg(kPlotWidth, kPlotHeight, "Histogram of one solver's configs");
  const double bin_width = (kPlotWidth - 16) / kBins;
  for (size_t i = 0; i < kBins; ++i) {
    if (bins[i] == 0) continue;
    const double height = 84.0 * static_cast<double>(bins[i]) / static_cast<double>(tallest);
    svg.Rect({8 + bin_width * static_cast<double>(i) + 0.5, kBase - height, bin_width - 1, height},
             palette.ClassOf(space.solver.name), fmt::format("{} configs", bins[i]));
  }
  svg.Line(8, kBase, kPlotWidth - 8, kBase, "axis");
  for (const double tick : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    if (tick > high) continue;
    svg.Line(x.At(tick), tick == 1 ? 12 : kBase, x.At(tick), kBase + 4, tick == 1 ? "one" : "axis");
    svg.Label(x.At(tick), kBase + 17, fmt::format("{:g}x", tick), {"tick", "middle"});
  }
  svg.Line(x.At(space.ratios.front()), 12, x.At(space.ratios.front()), kBase, "best");
  return svg.Finish();
}

std::string TotalPlot(const NetworkTotal& total) {
  Svg svg(kWidth, 76, "Time of the whole list, by default and tuned");
  const double high = std::max(total.default_ns, total.tuned_ns);
  const Scale scale = Scale::Linear(0, high, 90, kWidth - 130);
  const auto bar = [&](double y, const char* name, double time_ns, const char* css) {
    svg.Label(80, y + 15, name, {"row", "end"});
    svg.Rect({90, y, scale.At(time_ns) - 90, 22}, css, FormatTime(time_ns));
    svg.Label(scale.At(time_ns) + 8, y + 15, FormatTime(time_ns), {"value"});
  };
  bar(8, "default", total.default_ns, "quiet");
  bar(42, "tuned", total.tuned_ns, "c0");
  return svg.Finish();
}

namespace {

constexpr double kFrontWidth = 460;
constexpr double kFrontHeight = 300;
constexpr double kFrontLeft = 70;
constexpr double kFrontBottom = 262;

// The scale of objective `k`, from `from` to `to`: logarithmic if all values are positive and far
// apart.
Scale FrontScale(const ObjectiveFront& front, size_t k, double from, double to) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const FrontPoint& point : front.points) {
    low = std::min(low, point.figures[k].value);
    high = std::max(high, point.figures[k].value);
  }
  constexpr double kFarApart = 5;
  if (low > 0 && high > kFarApart * low) return Scale::Log(low / 1.1, high * 1.1, from, to);
  const double room = high > low ? 0.05 * (high - low) : std::max(std::abs(low), 1.0);
  return Scale::Linear(low - room, high + room, from, to);
}

// The least and the most value of objective `k`, where they are.
void DrawFrontAxis(Svg& svg, const ObjectiveFront& front, size_t k, const Scale& scale) {
  const auto value = [k](const FrontPoint& point) { return point.figures[k].value; };
  const auto [low, high] = std::minmax_element(
      front.points.begin(), front.points.end(),
      [&](const FrontPoint& a, const FrontPoint& b) { return value(a) < value(b); });
  for (const auto& end : {low, high}) {
    const double at = scale.At(value(*end));
    const std::string text = FormatFigure(value(*end), front.objectives[k]);
    if (k == 0) {
      svg.Line(at, 20, at, kFrontBottom, "grid");
      svg.Label(at, kFrontBottom + 14, text, {"tick", "middle"});
    } else {
      svg.Line(kFrontLeft, at, kFrontWidth - 16, at, "grid");
      svg.Label(kFrontLeft - 6, at + 4, text, {"tick", "end"});
    }
  }
  const std::string& name = front.objectives[k].name;
  if (k == 0) {
    svg.Label((kFrontLeft + kFrontWidth) / 2, kFrontHeight - 8, name, {"row", "middle"});
  } else {
    svg.Label(8, 14, name, {"row", "start"});
  }
}

}  // namespace

std::string FrontPlot(const FrontView& view) {
  const ObjectiveFront& front = view.front;
  Svg svg(kFrontWidth, kFrontHeight, "The front of " + Text(front.objectives));
  const Scale across = FrontScale(front, 0, kFrontLeft + 10, kFrontWidth - 24);
  const Scale upwards = FrontScale(front, 1, kFrontBottom - 8, 28);
  DrawFrontAxis(svg, front, 0, across);
  DrawFrontAxis(svg, front, 1, upwards);
  const FrontPoint* last = nullptr;
  for (const FrontPoint& point : front.points) {
    if (!point.is_on_front) break;
    if (last != nullptr) {
      svg.Line(across.At(last->figures[0].value), upwards.At(last->figures[1].value),
               across.At(point.figures[0].value), upwards.At(point.figures[1].value), "front");
    }
    last = &point;
  }
  // The front last, so that it lies on top.
  for (auto point = front.points.rbegin(); point != front.points.rend(); ++point) {
    std::string css = point->is_on_front ? "c0 dot" : "quiet dot";
    if (point->is_default) css += " ring";
    svg.Circle(across.At(point->figures[0].value), upwards.At(point->figures[1].value),
               point->is_on_front ? 4.5 : 3, css,
               fmt::format("{}\n{}, {}", Text(point->candidate),
                           FormatFigure(point->figures[0].value, front.objectives[0]),
                           FormatFigure(point->figures[1].value, front.objectives[1])));
  }
  return svg.Finish();
}

namespace {

// A colour for each step; waiting is quiet.
std::string_view ClassOf(TuningStep step) {
  switch (step) {
    case TuningStep::kStart:
      return "c4";
    case TuningStep::kReference:
      return "c5";
    case TuningStep::kCompile:
      return "c0";
    case TuningStep::kLoad:
      return "c3";
    case TuningStep::kVerify:
      return "c1";
    case TuningStep::kTime:
      return "c2";
    case TuningStep::kWait:
      return "quiet";
  }
  return "quiet";
}

std::string StepTip(const Timeline& timeline, const StepSpan& span) {
  const std::string time = FormatTime(static_cast<double>(span.end_ns - span.begin_ns));
  if (!span.candidate) return fmt::format("{}, {}", Name(span.step), time);
  return fmt::format("{}, {}\n{}", Name(span.step), time,
                     timeline.candidates[static_cast<size_t>(*span.candidate)]);
}

}  // namespace

std::string TimelinePlot(const Timeline& timeline) {
  constexpr double kNameWidth = 70;
  constexpr double kLeast = 0.4;  // Narrower spans would not be seen.
  int64_t end_ns = 1;
  const int lanes = LanesOf(timeline);
  for (const StageSpan& span : timeline.stages) end_ns = std::max(end_ns, span.end_ns);
  const double bottom = kTop + kRow * (lanes + 1);
  Svg svg(kWidth, bottom + 4, "What each process of a tuning did when");
  const double end_s = static_cast<double>(end_ns) / 1e9;
  const Scale scale = Scale::Linear(0, end_s, kNameWidth, kWidth - 10);
  const auto box = [&](int row, int64_t begin_ns, int64_t span_end_ns) {
    const double from = scale.At(static_cast<double>(begin_ns) / 1e9);
    const double to = scale.At(static_cast<double>(span_end_ns) / 1e9);
    return Box{from, kTop + kRow * row + 2, std::max(kLeast, to - from), kRow - 4};
  };
  constexpr int kTicks = 5;
  for (int i = 0; i <= kTicks; ++i) {
    const double x = scale.At(end_s * i / kTicks);
    svg.Line(x, kTop - 6, x, bottom, "grid");
    svg.Label(x, kTop - 11, fmt::format("{:.3g} s", end_s * i / kTicks), {"tick", "middle"});
  }
  svg.Label(kNameWidth - 8, kTop + kRow - 5, "stages", {"row", "end"});
  for (const StageSpan& span : timeline.stages) {
    const std::string time = FormatTime(static_cast<double>(span.end_ns - span.begin_ns));
    svg.Rect(box(0, span.begin_ns, span.end_ns),
             static_cast<size_t>(span.stage) % 2 == 0 ? "quiet" : "c6",
             fmt::format("{}, {}", Name(span.stage), time));
  }
  for (int lane = 0; lane < lanes; ++lane) {
    svg.Label(kNameWidth - 8, kTop + kRow * (lane + 2) - 5,
              lane == 0 ? "tuner" : fmt::format("child {}", lane), {"row", "end"});
  }
  for (const StepSpan& span : timeline.steps) {
    svg.Rect(box(span.lane + 1, span.begin_ns, span.end_ns), ClassOf(span.step),
             StepTip(timeline, span));
  }
  return svg.Finish();
}

}  // namespace attune
