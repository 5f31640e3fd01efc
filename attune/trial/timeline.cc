#include "attune/trial/timeline.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kStageNames = {
    "enumerate", "wait", "reference", "search", "screen", "final", "record"};
constexpr std::array<std::string_view, kTuningSteps> kStepNames = {
    "start", "reference", "compile", "load", "verify", "time", "wait"};
constexpr int64_t kNsPerUs = 1000;
// About 30 years: no sum of two overflows.
constexpr int64_t kMostUs = int64_t{1} << 50;
constexpr int kMostLanes = 1 << 20;

template <class Enum, size_t kCount>
std::optional<Enum> Parse(const std::array<std::string_view, kCount>& names,
                          std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// The part of [begin, end) inside of `stage`.
int64_t Overlap(const StageSpan& stage, int64_t begin_ns, int64_t end_ns) {
  return std::max<int64_t>(0, std::min(stage.end_ns, end_ns) - std::max(stage.begin_ns, begin_ns));
}

// A span of the text: [name, ..., begin, duration].
struct TextSpan {
  std::string name;
  int64_t lane = 0;
  int64_t candidate = -1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

Result<TextSpan> ReadSpan(const Json& json, bool is_step) {
  const size_t numbers = is_step ? 4 : 2;
  const bool has_form = json.is_array() && json.size() == numbers + 1 && json[0].is_string() &&
                        std::all_of(json.begin() + 1, json.end(),
                                    [](const Json& number) { return number.is_number_integer(); });
  if (!has_form) {
    return InvalidArgument(
        fmt::format("a span is a name and {} integers, not {}", numbers, json.dump()));
  }
  TextSpan span;
  span.name = json[0].get<std::string>();
  if (is_step) {
    span.lane = json[1].get<int64_t>();
    span.candidate = json[2].get<int64_t>();
  }
  const auto begin_us = json[numbers - 1].get<int64_t>();
  const auto duration_us = json[numbers].get<int64_t>();
  const auto is_possible = [](int64_t us) { return us >= 0 && us <= kMostUs; };
  const bool is_valid = is_possible(begin_us) && is_possible(duration_us) && span.lane >= 0 &&
                        span.lane <= kMostLanes && span.candidate >= -1;
  if (!is_valid) return InvalidArgument(fmt::format("the span {} is impossible", json.dump()));
  span.begin_ns = begin_us * kNsPerUs;
  span.end_ns = (begin_us + duration_us) * kNsPerUs;
  return span;
}

Status ReadStages(const Json& json, Timeline& timeline) {
  for (const Json& each : json) {
    ATTUNE_ASSIGN_OR_RETURN(const TextSpan span, ReadSpan(each, false));
    const auto stage = ParseTuningStage(span.name);
    if (!stage) return InvalidArgument(fmt::format("'{}' is no stage of a tuning", span.name));
    timeline.stages.push_back({*stage, span.begin_ns, span.end_ns});
  }
  return Status::Ok();
}

Status ReadSteps(const Json& json, Timeline& timeline) {
  for (const Json& each : json) {
    ATTUNE_ASSIGN_OR_RETURN(const TextSpan span, ReadSpan(each, true));
    const auto step = ParseTuningStep(span.name);
    if (!step) return InvalidArgument(fmt::format("'{}' is no step of a candidate", span.name));
    if (span.candidate >= static_cast<int64_t>(timeline.candidates.size())) {
      return InvalidArgument(fmt::format("there is no candidate {}: {} are listed", span.candidate,
                                         timeline.candidates.size()));
    }
    std::optional<int> candidate;
    if (span.candidate >= 0) candidate = static_cast<int>(span.candidate);
    timeline.steps.push_back(
        {*step, static_cast<int>(span.lane), candidate, span.begin_ns, span.end_ns});
  }
  return Status::Ok();
}

// Wall time of a stage in which no step but waiting is done.
int64_t IdleNs(const Timeline& timeline, const StageSpan& stage) {
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (const StepSpan& step : timeline.steps) {
    if (step.step != TuningStep::kWait && Overlap(stage, step.begin_ns, step.end_ns) > 0) {
      busy.emplace_back(step.begin_ns, step.end_ns);
    }
  }
  std::sort(busy.begin(), busy.end());
  int64_t idle_ns = 0;
  int64_t covered_until_ns = stage.begin_ns;
  for (const auto& [begin_ns, end_ns] : busy) {
    idle_ns += std::max<int64_t>(0, begin_ns - covered_until_ns);
    covered_until_ns = std::max(covered_until_ns, end_ns);
  }
  return idle_ns + std::max<int64_t>(0, stage.end_ns - covered_until_ns);
}

Json TraceEvent(std::string_view name, int thread, int64_t begin_ns, int64_t end_ns) {
  return {{"name", name},
          {"ph", "X"},
          {"pid", 1},
          {"tid", thread},
          {"ts", static_cast<double>(begin_ns) / kNsPerUs},
          {"dur", static_cast<double>(end_ns - begin_ns) / kNsPerUs}};
}

Json ThreadName(int thread, const std::string& name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 1},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

}  // namespace

std::string_view Name(TuningStage stage) { return kStageNames[static_cast<size_t>(stage)]; }

std::optional<TuningStage> ParseTuningStage(std::string_view name) {
  return Parse<TuningStage>(kStageNames, name);
}

std::string_view Name(TuningStep step) { return kStepNames[static_cast<size_t>(step)]; }

std::optional<TuningStep> ParseTuningStep(std::string_view name) {
  return Parse<TuningStep>(kStepNames, name);
}

std::string Text(const Timeline& timeline) {
  Json stages = Json::array();
  for (const StageSpan& span : timeline.stages) {
    stages.push_back(
        {Name(span.stage), span.begin_ns / kNsPerUs, (span.end_ns - span.begin_ns) / kNsPerUs});
  }
  Json steps = Json::array();
  for (const StepSpan& span : timeline.steps) {
    steps.push_back({Name(span.step), span.lane, span.candidate.value_or(-1),
                     span.begin_ns / kNsPerUs, (span.end_ns - span.begin_ns) / kNsPerUs});
  }
  return Json{{"began_unix_ns", timeline.began_unix_ns},
              {"candidates", timeline.candidates},
              {"stages", stages},
              {"steps", steps},
              {"left_out", timeline.left_out}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Timeline> ParseTimeline(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto is_of = [&](const char* key, auto has_type) {
    return json.contains(key) && has_type(json[key]);
  };
  const auto is_integer = [](const Json& value) { return value.is_number_integer(); };
  const auto is_array = [](const Json& value) { return value.is_array(); };
  const bool has_form = json.is_object() && is_of("began_unix_ns", is_integer) &&
                        is_of("candidates", is_array) && is_of("stages", is_array) &&
                        is_of("steps", is_array) && is_of("left_out", is_integer);
  if (!has_form) return InvalidArgument("this is not the timeline of a tuning");
  Timeline timeline;
  timeline.began_unix_ns = json["began_unix_ns"].get<int64_t>();
  timeline.left_out = json["left_out"].get<int64_t>();
  for (const Json& candidate : json["candidates"]) {
    if (!candidate.is_string()) {
      return InvalidArgument(fmt::format("{} is no candidate", candidate.dump()));
    }
    timeline.candidates.push_back(candidate.get<std::string>());
  }
  ATTUNE_RETURN_IF_ERROR(ReadStages(json["stages"], timeline));
  ATTUNE_RETURN_IF_ERROR(ReadSteps(json["steps"], timeline));
  return timeline;
}

std::vector<StageCost> CostsOf(const Timeline& timeline) {
  std::vector<StageCost> costs;
  for (const StageSpan& stage : timeline.stages) {
    if (stage.end_ns <= stage.begin_ns) continue;
    auto found = std::find_if(costs.begin(), costs.end(),
                              [&](const StageCost& cost) { return cost.stage == stage.stage; });
    if (found == costs.end()) {
      costs.push_back({stage.stage, 0, std::vector<int64_t>(kTuningSteps, 0), 0});
      found = std::prev(costs.end());
    }
    found->wall_ns += stage.end_ns - stage.begin_ns;
    found->idle_ns += IdleNs(timeline, stage);
    for (const StepSpan& step : timeline.steps) {
      found->step_ns[static_cast<size_t>(step.step)] += Overlap(stage, step.begin_ns, step.end_ns);
    }
  }
  return costs;
}

std::string ChromeTrace(const Timeline& timeline, std::string_view title) {
  constexpr int kStagesThread = 0;
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", title}}}});
  events.push_back(ThreadName(kStagesThread, "stages"));
  int lanes = 0;
  for (const StepSpan& span : timeline.steps) lanes = std::max(lanes, span.lane + 1);
  for (int lane = 0; lane < lanes; ++lane) {
    events.push_back(ThreadName(1 + lane, lane == 0 ? "tuner" : fmt::format("child {}", lane)));
  }
  for (const StageSpan& span : timeline.stages) {
    events.push_back(TraceEvent(Name(span.stage), kStagesThread, span.begin_ns, span.end_ns));
  }
  for (const StepSpan& span : timeline.steps) {
    Json event = TraceEvent(Name(span.step), 1 + span.lane, span.begin_ns, span.end_ns);
    if (span.candidate) {
      event["args"] = {{"candidate", timeline.candidates[static_cast<size_t>(*span.candidate)]}};
    }
    events.push_back(std::move(event));
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump(
      1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace attune
