#include "attune/tuner/session_timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

TuningStage StageOf(TuneProgress::Stage stage) {
  switch (stage) {
    case TuneProgress::Stage::kEnumerate:
      return TuningStage::kEnumerate;
    case TuneProgress::Stage::kWait:
      return TuningStage::kWait;
    case TuneProgress::Stage::kReference:
      return TuningStage::kReference;
    case TuneProgress::Stage::kQualify:
      return TuningStage::kSearch;
    case TuneProgress::Stage::kScreen:
      return TuningStage::kScreen;
    case TuneProgress::Stage::kFinal:
      return TuningStage::kFinal;
    case TuneProgress::Stage::kRecord:
      return TuningStage::kRecord;
  }
  return TuningStage::kEnumerate;
}

// `interval` without the times for which its process was stopped.
std::vector<BusyInterval> PartsOf(const BusyInterval& interval,
                                  const std::vector<BusyInterval>& idle) {
  std::vector<BusyInterval> parts;
  BusyInterval rest = interval;
  for (const BusyInterval& pause : idle) {
    const bool is_inside = pause.step == TuningStep::kWait && pause.process == interval.process &&
                           pause.begin_ns < rest.end_ns && pause.end_ns > rest.begin_ns;
    if (!is_inside) continue;
    if (pause.begin_ns > rest.begin_ns) {
      parts.push_back(rest);
      parts.back().end_ns = pause.begin_ns;
    }
    rest.begin_ns = std::min(pause.end_ns, rest.end_ns);
  }
  if (rest.end_ns > rest.begin_ns) parts.push_back(std::move(rest));
  return parts;
}

// Numbers for processes and candidates in the order of their first step.
class Numbering {
 public:
  StepSpan SpanOf(const BusyInterval& interval, int64_t begin_ns) {
    const int lane =
        lanes_.try_emplace(interval.process, static_cast<int>(lanes_.size())).first->second;
    std::optional<int> candidate;
    if (!interval.candidate.empty()) {
      const auto [found, is_new] =
          candidates_.try_emplace(interval.candidate, static_cast<int>(texts_.size()));
      if (is_new) texts_.push_back(interval.candidate);
      candidate = found->second;
    }
    // Clocks of two processes may differ by some microseconds.
    const int64_t from_ns = std::max<int64_t>(0, interval.begin_ns - begin_ns);
    return {interval.step, lane, candidate, from_ns, std::max(from_ns, interval.end_ns - begin_ns)};
  }
  std::vector<std::string> TakeTexts() { return std::move(texts_); }

 private:
  std::map<int, int> lanes_ = {{0, 0}};
  std::map<std::string, int> candidates_;
  std::vector<std::string> texts_;
};

// Neighbouring steps of the same kind become one, whatever their candidates, until few enough are
// left; the rest is left out.
void Shorten(Timeline& timeline) {
  if (timeline.steps.size() <= kMaxTimelineSteps) return;
  constexpr int64_t kGapNs = 1'000'000;
  std::map<int, size_t> last_of_lane;
  std::vector<StepSpan> merged;
  for (const StepSpan& step : timeline.steps) {
    const auto last = last_of_lane.find(step.lane);
    if (last != last_of_lane.end()) {
      StepSpan& before = merged[last->second];
      if (before.step == step.step && step.begin_ns - before.end_ns <= kGapNs) {
        before.end_ns = std::max(before.end_ns, step.end_ns);
        if (before.candidate != step.candidate) before.candidate.reset();
        continue;
      }
    }
    last_of_lane[step.lane] = merged.size();
    merged.push_back(step);
  }
  if (merged.size() > kMaxTimelineSteps) {
    timeline.left_out = static_cast<int64_t>(merged.size() - kMaxTimelineSteps);
    merged.resize(kMaxTimelineSteps);
  }
  timeline.steps = std::move(merged);
}

}  // namespace

void StageNotes::Enter(TuneProgress::Stage stage, int64_t now_ns) {
  const TuningStage entered = StageOf(stage);
  if (!notes_.empty() && notes_.back().stage == entered) return;
  notes_.push_back({entered, now_ns});
}

std::vector<StageSpan> StageNotes::Spans(int64_t begin_ns, int64_t now_ns) const {
  std::vector<StageSpan> spans;
  for (size_t i = 0; i < notes_.size(); ++i) {
    const int64_t end_ns = i + 1 < notes_.size() ? notes_[i + 1].begin_ns : now_ns;
    spans.push_back({notes_[i].stage, notes_[i].begin_ns - begin_ns, end_ns - begin_ns});
  }
  return spans;
}

Timeline MakeTimeline(std::vector<StageSpan> stages, const BusyTime& busy, int64_t begin_ns) {
  Timeline timeline;
  timeline.began_unix_ns = UnixNowNs() - (SteadyNowNs() - begin_ns);
  timeline.stages = std::move(stages);
  std::vector<BusyInterval> idle = busy.idle;
  const auto is_earlier = [](const BusyInterval& a, const BusyInterval& b) {
    return a.begin_ns < b.begin_ns;
  };
  std::sort(idle.begin(), idle.end(), is_earlier);
  std::vector<BusyInterval> all = idle;
  for (const BusyInterval& interval : busy.intervals) {
    const std::vector<BusyInterval> parts = PartsOf(interval, idle);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  std::stable_sort(all.begin(), all.end(), is_earlier);
  Numbering numbering;
  for (const BusyInterval& interval : all) {
    // An interval of a process that was started ahead, for another problem.
    if (interval.end_ns <= begin_ns) continue;
    timeline.steps.push_back(numbering.SpanOf(interval, begin_ns));
  }
  Shorten(timeline);
  timeline.candidates = numbering.TakeTexts();
  return timeline;
}

}  // namespace attune
