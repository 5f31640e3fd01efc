// The timeline of a tuning: its stages, and the steps of its candidates in each process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

enum class TuningStage { kEnumerate, kWait, kReference, kSearch, kScreen, kFinal, kRecord };
// "enumerate" and so on: the text in stores and JSON.
std::string_view Name(TuningStage stage);
std::optional<TuningStage> ParseTuningStage(std::string_view name);

// A step of one process.
enum class TuningStep {
  kStart,      // From its start, or its last problem, until it takes candidates.
  kReference,  // Computes the right results.
  kCompile,
  kLoad,
  kVerify,  // The first launches and the comparison with the right results.
  kTime,
  kWait,  // For its turn, or stopped while another process times.
};
std::string_view Name(TuningStep step);
std::optional<TuningStep> ParseTuningStep(std::string_view name);

// Nanoseconds since the tuning began.
struct StageSpan {
  TuningStage stage = TuningStage::kEnumerate;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const StageSpan&, const StageSpan&) = default;
};

struct StepSpan {
  TuningStep step = TuningStep::kStart;
  int lane = 0;                  // The process: 0 is the tuner, 1 the first worker process.
  std::optional<int> candidate;  // Index of Timeline::candidates.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const StepSpan&, const StepSpan&) = default;
};

struct Timeline {
  int64_t began_unix_ns = 0;
  std::vector<std::string> candidates;  // Texts.
  std::vector<StageSpan> stages;        // In order, without overlaps.
  std::vector<StepSpan> steps;          // By begin.
  int64_t left_out = 0;                 // Further steps, which were dropped.

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// Maximum number of steps kept for one tuning.
inline constexpr size_t kMaxTimelineSteps = 4096;

// One line of JSON, in microseconds: docs/formats/timeline.md.
std::string Text(const Timeline& timeline);
// kInvalidArgument names the missing, unknown or impossible part.
Result<Timeline> ParseTimeline(std::string_view text);

// Sums over the steps of a stage.
struct StageCost {
  TuningStage stage = TuningStage::kEnumerate;
  int64_t wall_ns = 0;
  std::vector<int64_t> step_ns;  // By TuningStep: the sum over all processes.
  int64_t idle_ns = 0;           // Part of the wall time: no process does any step but waiting.
};
inline constexpr size_t kTuningSteps = 7;

// One for each stage that took time, in their order; a step that spans two stages counts in both,
// with its parts. A stage that comes twice is added up.
std::vector<StageCost> CostsOf(const Timeline& timeline);

// The timeline for about:tracing and Perfetto: JSON in the Trace Event Format
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). A thread for each
// process, and one for the stages.
std::string ChromeTrace(const Timeline& timeline, std::string_view title);

}  // namespace attune
