#include "apps/attune/report/page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"
#include "apps/attune/report/markup.h"
#include "apps/attune/report/model_plots.h"
#include "apps/attune/report/plots.h"
#include "apps/attune/report/style.h"
#include "apps/attune/timeline_view.h"
#include "apps/attune/winner_table.h"
#include "attune/base/unix_time.h"
#include "attune/tuner/session_notes.h"

namespace attune {
namespace {

std::string Tile(const std::string& figure, const std::string& words) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", HtmlEscaped(figure),
                     HtmlEscaped(words));
}

std::string Section(const std::string& title, const std::string& words) {
  return fmt::format("<h2>{}</h2>\n<p class=\"soft\">{}</p>\n", HtmlEscaped(title),
                     HtmlEscaped(words));
}

// Geometric mean of the speed-ups of all measured problems, defaults included.
double MeanSpeedup(const ReportData& data) {
  double sum = 0;
  int64_t count = 0;
  for (const ReportProblem& problem : data.problems) {
    if (!IsMeasured(problem) || problem.chosen.choice->speedup <= 0) continue;
    sum += std::log(problem.chosen.choice->speedup);
    ++count;
  }
  return count == 0 ? 1 : std::exp(sum / static_cast<double>(count));
}

std::string Tiles(const ReportData& data) {
  int64_t won = 0;
  int64_t measured = 0;
  for (const ReportProblem& problem : data.problems) {
    measured += IsMeasured(problem);
    won += IsMeasured(problem) && problem.chosen.choice->provenance == Provenance::kMeasured;
  }
  std::string html = "<div class=\"tiles\">\n";
  for (const auto& [network, total] : data.totals) {
    if (total.problems == 0) continue;
    html += Tile(FormatSpeedup(total.default_ns / total.tuned_ns),
                 data.totals.size() == 1
                     ? "faster as a whole, weighted"
                     : fmt::format("{} faster as a whole, weighted", Label(*network)));
  }
  if (measured > 0) html += Tile(FormatSpeedup(MeanSpeedup(data)), "geometric mean over problems");
  html += Tile(fmt::format("{} of {}", won, measured), "problems beat their default");
  html += Tile(fmt::format("{}", data.trials), fmt::format("trials in {} sets", data.sets));
  return html + "</div>\n";
}

// A plot for each total, under its name if there are several.
std::string Totals(const ReportData& data) {
  std::string html;
  for (const auto& [network, total] : data.totals) {
    if (total.problems == 0) continue;
    if (data.totals.size() > 1) html += fmt::format("<h3>{}</h3>\n", HtmlEscaped(Label(*network)));
    html += TotalPlot(total);
  }
  return html;
}

std::string Legend(const Palette& palette) {
  std::string html = "<div class=\"legend\">";
  for (const auto& [name, css] : palette.entries()) {
    html += fmt::format("<span><i class=\"{}\"></i>{}</span>", css, HtmlEscaped(name));
  }
  return html + "<span><i class=\"cx\"></i>others</span></div>\n";
}

std::string WinnerRow(const ReportProblem& problem) {
  const std::string label = HtmlEscaped(Label(problem.chosen.tagged.problem));
  const std::string title = HtmlEscaped(Text(problem.chosen.tagged.problem));
  const auto head = fmt::format("<tr><td title=\"{}\">{}</td><td class=\"num\">{}</td>", title,
                                label, problem.chosen.tagged.weight);
  if (!IsMeasured(problem)) {
    const Status& supported = problem.chosen.supported;
    return head + fmt::format("<td colspan=\"7\" class=\"soft\">{}</td></tr>\n",
                              supported.ok() ? "not tuned here" : HtmlEscaped(supported.message()));
  }
  const Choice& choice = *problem.chosen.choice;
  const bool won = choice.provenance == Provenance::kMeasured;
  return head + fmt::format(
                    "<td><code>{}</code></td><td class=\"num\">{}</td>"
                    "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                    "<td class=\"num {}\">{}</td><td class=\"num\">{}</td></tr>\n",
                    HtmlEscaped(Text(choice.candidate)), FormatTime(choice.measurement.median_ns),
                    FormatSpread(choice.measurement),
                    FormatRateOf(choice.problem, choice.measurement.median_ns),
                    FormatTime(choice.default_measurement.median_ns), won ? "good" : "soft",
                    won ? FormatSpeedup(choice.speedup) : "default",
                    FormatRoofline(choice.roofline_fraction));
}

std::string Winners(const ReportData& data) {
  const char* shared = data.totals.size() > 1
                           ? " What several of the networks compute is there once, as often as "
                             "all of them have it."
                           : "";
  std::string html = Section(
      "Winners", fmt::format("The median of one launch with its interval, beside the default "
                             "measured in the same rounds. The rate is in bytes where memory "
                             "limits the operator. Hover over a problem for its canonical text.{}",
                             shared));
  html +=
      "<div class=\"wide\"><table class=\"winners\"><thead><tr><th>problem</th><th "
      "class=\"num\">times</th>"
      "<th>candidate</th><th class=\"num\">time</th><th class=\"num\">interval</th>"
      "<th class=\"num\">rate</th><th class=\"num\">default</th><th class=\"num\">speed-up</th>"
      "<th class=\"num\">roofline</th></tr></thead><tbody>\n";
  for (const ReportProblem& problem : data.problems) html += WinnerRow(problem);
  html += "</tbody></table></div>\n";
  for (const ReportProblem& problem : data.problems) {
    const SetConditions& conditions = problem.chosen.conditions;
    const std::string throttle_note =
        HeldBackBy(conditions).empty() ? "" : HeldBackNote(conditions);
    for (const std::string& note :
         {problem.chosen.baseline_note, problem.chosen.roofline_note, throttle_note}) {
      if (note.empty()) continue;
      html += fmt::format("<p class=\"soft\">{}: {}</p>\n",
                          HtmlEscaped(Label(problem.chosen.tagged.problem)), HtmlEscaped(note));
    }
  }
  return html;
}

// Stages and steps of all tunings together, and the longest one drawn.
std::string TimeSpent(const ReportData& data) {
  const Timeline* longest = nullptr;
  int64_t longest_ns = 0;
  std::vector<StageCost> costs;
  int64_t wall_ns = 0;
  size_t tunings = 0;
  for (const ReportProblem& problem : data.problems) {
    for (const Timeline& timeline : problem.timelines) {
      const int64_t end_ns = timeline.stages.empty() ? 0 : timeline.stages.back().end_ns;
      wall_ns += end_ns;
      ++tunings;
      const std::vector<StageCost> of_tuning = CostsOf(timeline);
      costs.insert(costs.end(), of_tuning.begin(), of_tuning.end());
      if (end_ns <= longest_ns) continue;
      longest_ns = end_ns;
      longest = &timeline;
    }
  }
  if (longest == nullptr) return "";
  std::string html = Section(
      "Where the time went",
      fmt::format("{} tunings took {}. What their processes did, summed; below it the longest "
                  "tuning. Hover over a mark for its candidate.",
                  tunings, FormatTime(static_cast<double>(wall_ns))));
  html +=
      "<div class=\"wide\"><table><thead><tr><th>step</th><th class=\"num\">time</th></tr>"
      "</thead><tbody>\n";
  for (const StepTotal& total : StepTotals(costs)) {
    html += fmt::format("<tr><td>{}</td><td class=\"num\">{}</td></tr>\n", Name(total.step),
                        FormatTime(static_cast<double>(total.ns)));
  }
  return html + "</tbody></table></div>\n" + TimelinePlot(*longest);
}

std::string Fronts(const ReportData& data) {
  if (data.fronts.empty()) return "";
  std::string html = Section(
      "Fronts of two objectives",
      "Every candidate that was measured by both: blue are those whom nobody beats in both, in the "
      "rounds at the end; the default is ringed. Hover over a point for the candidate.");
  html += "<div class=\"spaces\">\n";
  for (const FrontView& view : data.fronts) {
    const auto on_front = std::count_if(view.front.points.begin(), view.front.points.end(),
                                        [](const FrontPoint& point) { return point.is_on_front; });
    html += fmt::format(
        "<div class=\"space\"><h3>{}</h3><p class=\"soft\">{}</p>{}<p>{} measured, {} of them on "
        "the front</p></div>\n",
        HtmlEscaped(Text(view.front.objectives)), HtmlEscaped(Label(view.problem)), FrontPlot(view),
        view.front.points.size(), on_front);
  }
  return html + "</div>\n";
}

std::string Spaces(const ReportData& data, const Palette& palette) {
  if (data.spaces.empty()) return "";
  std::string html = Section(
      "Large spaces of our own kernels",
      "Every solver of which at least 100 configs were tried on one problem: how many configs need "
      "which time, relative to the winner of that problem (1x, of any solver). The dashed line is "
      "the best config that was tried.");
  html += "<div class=\"spaces\">\n";
  for (const SpaceView& space : data.spaces) {
    html += fmt::format(
        "<div class=\"space\"><h3>{}</h3><p class=\"soft\">{}</p>{}<p>{} tried: {} timed, "
        "{} failed; the best takes {} the winner's time, the median {}</p></div>\n",
        HtmlEscaped(Text(space.solver)), HtmlEscaped(Label(space.problem)),
        SpacePlot(space, palette),
        space.configs > 0 ? fmt::format("{} of {} configs", space.tried, space.configs)
                          : fmt::format("{} configs", space.tried),
        space.ratios.size(), space.failed, fmt::format("{:.2f}x", space.ratios.front()),
        fmt::format("{:.2f}x", space.ratios[space.ratios.size() / 2]));
  }
  return html + "</div>\n";
}

std::string Failures(const ReportData& data) {
  std::string html = Section("Failures",
                             "Candidates that failed cost one trial each and can "
                             "never win, however fast. Wrong results are never timed.");
  if (data.failures.empty()) return html + "<p>None.</p>\n";
  html +=
      "<div class=\"wide\"><table><thead><tr><th>kind</th><th>solver</th>"
      "<th class=\"num\">count</th><th>one of them</th></tr></thead><tbody>\n";
  for (const auto& [key, failure] : data.failures) {
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"num\">{}</td>"
        "<td><code>{}</code></td></tr>\n",
        HtmlEscaped(Name(key.first)), HtmlEscaped(Text(key.second)), failure.count,
        HtmlEscaped(Shortened(failure.example, 400)));
  }
  return html + "</tbody></table></div>\n";
}

std::string Row(const std::string& key, const std::string& value) {
  return fmt::format("<tr><td>{}</td><td><code>{}</code></td></tr>\n", HtmlEscaped(key),
                     HtmlEscaped(value));
}

std::string EnvironmentTable(const ReportData& data) {
  std::string html = Section("Environment",
                             "What the measurements depended on. Those of another environment are "
                             "kept, and left out of the choice where they no longer hold.");
  html += "<div class=\"wide\"><table><tbody>\n";
  html += Row("device", data.place.target.device);
  html += Row("target", Text(data.place.target));
  for (const auto& [key, value] : data.place.environment) html += Row(key, value);
  for (const ReportProblem& problem : data.problems) {
    if (problem.stories.empty()) continue;
    const Peaks& peaks = problem.set.peaks;
    html += Row("peak f32", FormatRate(peaks.f32_flops, "FLOP/s"));
    html += Row("peak f64", FormatRate(peaks.f64_flops, "FLOP/s"));
    html += Row("peak memory", FormatRate(peaks.bytes_per_second, "B/s"));
    break;
  }
  return html + "</tbody></table></div>\n";
}

std::string Method(const ReportData& data) {
  std::set<std::string> facts[4];
  for (const ReportProblem& problem : data.problems) {
    if (problem.stories.empty()) continue;
    facts[0].insert(std::string(Name(problem.set.cache)));
    facts[1].insert(problem.set.searcher);
    facts[2].insert(fmt::format("{}", problem.set.seed));
    facts[3].insert(problem.set.measured_by);
  }
  const auto joined = [](const std::set<std::string>& values) {
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
    return text;
  };
  const SelectOptions rules;
  std::string html = Section(
      "Method",
      "Each candidate is built and verified in a process of its own, against a reference of higher "
      "precision on random data. Those that are right are timed in interleaved rounds in random "
      "order, the default in every round; the decision rests on fresh rounds of the finalists "
      "alone. " +
          fmt::format(
              "The default stays unless a candidate is faster by {:g}% with {} confidence. ",
              100 * rules.margin, FormatConfidence(rules.confidence)) +
          "Times are medians with a distribution-free interval; a speed-up is the median of the "
          "default's time over the candidate's in the same round, which is not the ratio of their "
          "medians. Totals by default are tuned times multiplied by it.");
  html += "<div class=\"wide\"><table><tbody>\n";
  html += Row("caches", joined(facts[0])) + Row("searcher", joined(facts[1])) +
          Row("seed", joined(facts[2])) + Row("measured by", joined(facts[3]));
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string RenderPage(const ReportData& data, const std::vector<PredictedTime>& predicted) {
  const Palette palette(data);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>attune: {0}</title>\n<style>{1}</style></head>\n<body><main>\n<h1>{0}</h1>\n"
      "<p class=\"soft\">Tuned on {2} ({3}, {4} units). Report of {5}.</p>\n",
      HtmlEscaped(data.title), ReportStyle(), HtmlEscaped(data.place.target.device),
      HtmlEscaped(data.place.target.arch), data.place.target.compute_units,
      FormatMoment(data.made_unix_ns));
  html += Tiles(data);
  html += Totals(data);
  if (std::any_of(data.problems.begin(), data.problems.end(), IsMeasured)) {
    html += Section("Speed-up over the default",
                    "Coloured by the winning solver; grey where the default stays. The short line "
                    "is the confidence interval.");
    html += Legend(palette) + SpeedupPlot(data, palette);
    html += Section("How close the others come",
                    "Every candidate that was timed, at its time over that of the winner; the "
                    "default is ringed, and what is slower than 10x stands at the right edge.");
    html += Legend(palette) + StripPlot(data, palette);
  }
  html += ModelSection(predicted, palette) + Fronts(data) + Spaces(data, palette) + Winners(data) +
          Failures(data) + TimeSpent(data) + EnvironmentTable(data) + Method(data);
  return html + "</main></body></html>\n";
}

}  // namespace attune
