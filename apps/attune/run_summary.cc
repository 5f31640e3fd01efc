#include "apps/attune/run_summary.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"
#include "apps/attune/outcome_counts.h"

namespace attune {
namespace {

using Kind = ProblemOutcome::Kind;

constexpr int64_t kWorthSayingNs = 1'000'000'000;

int64_t WaitedNs(const RunSummary& summary) {
  int64_t waited_ns = 0;
  for (const ProblemOutcome& outcome : summary.outcomes) waited_ns += outcome.report.waited_ns;
  return waited_ns;
}

Json OutcomeJson(const ProblemOutcome& outcome, const Peaks& peaks) {
  Json json = {{"problem", Text(outcome.problem)},
               {"outcome", Name(outcome.kind)},
               {"message", outcome.message}};
  if (outcome.kind != Kind::kTuned) return json;
  const TuneReport& report = outcome.report;
  json["set_id"] = report.set_id;
  json["choice"] = report.choice ? ToJson(*report.choice) : Json(nullptr);
  json["roofline_note"] =
      report.choice ? RooflineNote(outcome.problem, report.choice->roofline_fraction, peaks) : "";
  json["considered"] = report.considered;
  json["qualified"] = report.qualified;
  json["timed"] = report.timed;
  json["quarantined"] = report.quarantined;
  json["taken_over"] = report.taken_over;
  json["pruned"] = report.pruned;
  json["failures"] = Json::object();
  for (const auto& [kind, count] : report.failures) {
    json["failures"][std::string(Name(kind))] = count;
  }
  json["wall_ns"] = report.wall_ns;
  json["search_ns"] = report.search_ns;
  json["busy_ns"] = report.busy_ns;
  json["device_busy_ns"] = report.device_busy_ns;
  json["waited_ns"] = report.waited_ns;
  json["is_steady"] = report.is_steady;
  json["throttled"] = report.held_back_by;
  json["stop_reason"] = report.stop_reason;
  json["notes"] = report.notes;
  return json;
}

std::string CandidateLine(const RunSummary& summary) {
  int64_t considered = 0;
  int64_t quarantined = 0;
  int64_t taken_over = 0;
  int64_t pruned = 0;
  std::map<FailureKind, int64_t> failures;
  for (const ProblemOutcome& outcome : summary.outcomes) {
    considered += outcome.report.considered;
    quarantined += outcome.report.quarantined;
    taken_over += outcome.report.taken_over;
    pruned += outcome.report.pruned;
    for (const auto& [kind, count] : outcome.report.failures) failures[kind] += count;
  }
  if (considered == 0 && quarantined == 0) return "";
  std::string text = fmt::format("{} candidates tried", considered);
  if (taken_over > 0) text += fmt::format(" ({} of them before the run was cut off)", taken_over);
  for (const auto& [kind, count] : failures) text += fmt::format(", {} {}", count, Name(kind));
  if (quarantined > 0) {
    text += fmt::format(
        ", {} left out because they crashed or hung before "
        "(--retry-quarantined tries them again)",
        quarantined);
  }
  if (pruned > 0) text += fmt::format(", {} not run because a model knows better ones", pruned);
  return text + ".\n";
}

// Problems that were tuned before, in less time.
std::string AgainLine(const RunSummary& summary) {
  const auto again = std::count_if(
      summary.outcomes.begin(), summary.outcomes.end(), [](const ProblemOutcome& outcome) {
        return outcome.kind == Kind::kTuned && !outcome.message.empty();
      });
  if (again == 0) return "";
  return fmt::format("Measured again, because they had less time before: {}.\n", again);
}

// Counts problems that were measured again but keep their earlier, better evidence.
std::string KeptLine(const RunSummary& summary) {
  const auto kept = std::count_if(
      summary.outcomes.begin(), summary.outcomes.end(), [](const ProblemOutcome& outcome) {
        const TuneReport& report = outcome.report;
        return report.choice.has_value() && report.choice->set_id != report.set_id;
      });
  if (kept == 0) return "";
  return fmt::format(
      "{} of them keep what was measured before: the new evidence is worse. A longer --per-problem "
      "makes it better.\n",
      kept);
}

}  // namespace

Json SummaryJson(const RunSummary& summary, const Peaks& peaks) {
  const OutcomeCounts counts = CountOutcomes(summary);
  Json json;
  for (const Kind kind : OutcomeCounts::kKinds) json[std::string(Name(kind))] = counts.Of(kind);
  json["wall_ns"] = summary.wall_ns;
  json["busy_ns"] = summary.busy_ns;
  json["device_busy_ns"] = summary.device_busy_ns;
  json["waited_ns"] = WaitedNs(summary);
  json["useful_share"] = BusyShare(summary.busy_ns, summary.wall_ns);
  json["device_busy_share"] = BusyShare(summary.device_busy_ns, summary.wall_ns);
  json["problems"] = Json::array();
  for (const ProblemOutcome& outcome : summary.outcomes) {
    json["problems"].push_back(OutcomeJson(outcome, peaks));
  }
  return json;
}

void PrintTroubles(const RunSummary& summary, Output& err) {
  constexpr int kShown = 20;
  for (const Kind kind : {Kind::kFailed, Kind::kUnsupported, Kind::kNotReached}) {
    int shown = 0;
    for (const ProblemOutcome& outcome : summary.outcomes) {
      const bool is_silent = kind == Kind::kNotReached && outcome.message.empty();
      if (outcome.kind != kind || is_silent || ++shown > kShown) continue;
      err.Print(fmt::format("{}: {}: {}\n", Name(kind), Text(outcome.problem),
                            Printable(outcome.message)));
    }
    if (shown > kShown) err.Print(fmt::format("... and {} more.\n", shown - kShown));
  }
}

void PrintIfUnsteady(const RunSummary& summary, Output& err) {
  const auto count =
      std::count_if(summary.outcomes.begin(), summary.outcomes.end(),
                    [](const ProblemOutcome& outcome) { return !outcome.report.is_steady; });
  if (count == 0) return;
  err.Print(fmt::format(
      "attune tune: The machine seems busy: the default or the winner of {} of {} problems tuned "
      "has an interval wider than ±{:.0f} %. With --retune, on an idle machine or with a longer "
      "--per-problem, they are measured again.\n",
      count, CountOutcomes(summary).Of(Kind::kTuned), 100 * kMostSteadySpread));
}

std::string SummaryLines(const RunSummary& summary) {
  const OutcomeCounts counts = CountOutcomes(summary);
  std::string text = fmt::format("\n{} in {}", Text(counts), FormatWait(summary.wall_ns));
  if (counts.Of(Kind::kTuned) > 0) {
    text += fmt::format(
        ", {:.0f}% of it building, verifying or measuring candidates, {:.0f}% in launches of these",
        100 * BusyShare(summary.busy_ns, summary.wall_ns),
        100 * BusyShare(summary.device_busy_ns, summary.wall_ns));
  }
  if (const int64_t waited_ns = WaitedNs(summary); waited_ns >= kWorthSayingNs) {
    text += fmt::format(", {} of it waiting for others to measure", FormatWait(waited_ns));
  }
  return text + ".\n" + AgainLine(summary) + KeptLine(summary) + CandidateLine(summary);
}

bool GoesOn(const RunSummary& summary) {
  const auto is_open = [](const ProblemOutcome& outcome) {
    return outcome.kind == Kind::kNotReached && !outcome.exceeds_run;
  };
  const auto& outcomes = summary.outcomes;
  const bool is_blocked = std::any_of(outcomes.begin(), outcomes.end(),
                                      [](const auto& outcome) { return outcome.exceeds_run; });
  return std::any_of(outcomes.begin(), outcomes.end(), is_open) &&
         (!is_blocked || CountOutcomes(summary).Of(Kind::kTuned) > 0);
}

void PrintInVain(const RunSummary& summary, Output& err) {
  const OutcomeCounts counts = CountOutcomes(summary);
  if (!counts.IsInVain()) return;
  std::string text =
      fmt::format("attune tune: None of {} problems could be tuned: {} unsupported, {} failed",
                  counts.all(), counts.Of(Kind::kUnsupported), counts.Of(Kind::kFailed));
  if (const int64_t left = counts.Of(Kind::kNotReached)) {
    text += fmt::format(", {} not reached", left);
  }
  err.Print(text + ".\n");
}

}  // namespace attune
