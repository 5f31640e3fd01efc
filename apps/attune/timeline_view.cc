#include "apps/attune/timeline_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/table.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr double kNsPerUs = 1e3;

std::string TimeText(int64_t ns) { return ns == 0 ? "-" : FormatTime(static_cast<double>(ns)); }

int64_t WallNs(const std::vector<StageCost>& costs) {
  int64_t wall_ns = 0;
  for (const StageCost& cost : costs) wall_ns += cost.wall_ns;
  return wall_ns;
}

Json SpanJson(int64_t begin_ns, int64_t end_ns) {
  return {{"begin_us", static_cast<double>(begin_ns) / kNsPerUs},
          {"duration_us", static_cast<double>(end_ns - begin_ns) / kNsPerUs}};
}

Json CostsJson(const std::vector<StageCost>& costs) {
  Json list = Json::array();
  for (const StageCost& cost : costs) {
    Json json = {{"stage", Name(cost.stage)}, {"wall_ns", cost.wall_ns}, {"idle_ns", cost.idle_ns}};
    for (size_t step = 0; step < cost.step_ns.size(); ++step) {
      json["steps_ns"][std::string(Name(static_cast<TuningStep>(step)))] = cost.step_ns[step];
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::vector<StepTotal> StepTotals(const std::vector<StageCost>& costs) {
  std::vector<StepTotal> totals;
  for (size_t step = 0; step < kTuningSteps; ++step) {
    StepTotal total{static_cast<TuningStep>(step), 0};
    for (const StageCost& cost : costs) total.ns += cost.step_ns[step];
    if (total.ns > 0) totals.push_back(total);
  }
  return totals;
}

int LanesOf(const Timeline& timeline) {
  int lanes = 0;
  for (const StepSpan& span : timeline.steps) lanes = std::max(lanes, span.lane + 1);
  return lanes;
}

std::string TimelineText(const Timeline& timeline, const Output& out) {
  const std::vector<StageCost> costs = CostsOf(timeline);
  const std::vector<StepTotal> totals = StepTotals(costs);
  const int64_t wall_ns = WallNs(costs);
  std::vector<Column> columns = {
      {"stage"}, {"wall", Column::Align::kRight}, {"share", Column::Align::kRight}};
  for (const StepTotal& total : totals) {
    columns.push_back({std::string(Name(total.step)), Column::Align::kRight});
  }
  columns.push_back({"idle", Column::Align::kRight});
  Table table(std::move(columns));
  const auto add = [&](std::string_view name, int64_t stage_ns, const auto& step_ns,
                       int64_t idle_ns) {
    const double share = wall_ns > 0 ? 100.0 * static_cast<double>(stage_ns) / wall_ns : 0;
    std::vector<std::string> cells = {std::string(name), TimeText(stage_ns),
                                      fmt::format("{:.0f} %", share)};
    for (const StepTotal& total : totals) cells.push_back(TimeText(step_ns(total)));
    cells.push_back(TimeText(idle_ns));
    table.AddRow(std::move(cells));
  };
  int64_t idle_ns = 0;
  for (const StageCost& cost : costs) {
    idle_ns += cost.idle_ns;
    const auto of_stage = [&](const StepTotal& total) {
      return cost.step_ns[static_cast<size_t>(total.step)];
    };
    add(Name(cost.stage), cost.wall_ns, of_stage, cost.idle_ns);
  }
  add(
      "all", wall_ns, [](const StepTotal& total) { return total.ns; }, idle_ns);
  std::string text = fmt::format(
      "\nTime of the tuning of {}, {} candidates; steps are summed over {} processes:\n{}",
      FormatMoment(timeline.began_unix_ns), timeline.candidates.size(), LanesOf(timeline),
      table.Render(out.screen(), out.width()));
  if (timeline.left_out > 0) {
    text += fmt::format("The last {} steps were not kept.\n", timeline.left_out);
  }
  return text;
}

Json ToJson(const Timeline& timeline) {
  Json stages = Json::array();
  for (const StageSpan& span : timeline.stages) {
    Json json = SpanJson(span.begin_ns, span.end_ns);
    json["stage"] = Name(span.stage);
    stages.push_back(std::move(json));
  }
  Json steps = Json::array();
  for (const StepSpan& span : timeline.steps) {
    Json json = SpanJson(span.begin_ns, span.end_ns);
    json["step"] = Name(span.step);
    json["process"] = span.lane;
    json["candidate"] = span.candidate
                            ? Json(timeline.candidates[static_cast<size_t>(*span.candidate)])
                            : Json(nullptr);
    steps.push_back(std::move(json));
  }
  return {{"began_unix_ns", timeline.began_unix_ns},
          {"costs", CostsJson(CostsOf(timeline))},
          {"stages", std::move(stages)},
          {"steps", std::move(steps)},
          {"steps_left_out", timeline.left_out}};
}

}  // namespace attune
