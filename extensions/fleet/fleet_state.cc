#include "extensions/fleet/fleet_state.h"

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "attune/base/unix_time.h"
#include "extensions/fleet/workers/channels.h"

namespace attune {
namespace {

constexpr int64_t kSilentNs = 60'000'000'000;

}  // namespace

std::string_view LifeOf(const WorkerState& worker, int64_t now_unix_ns) {
  if (worker.ended_unix_ns != 0) return "ended";
  return now_unix_ns - worker.beat_unix_ns > kSilentNs ? "silent" : "running";
}

Json ToJson(const WorkerState& worker, int64_t now_unix_ns) {
  return {{"name", worker.name},
          {"owner", worker.owner},
          {"target", worker.target},
          {"version", worker.attune_version},
          {"state", LifeOf(worker, now_unix_ns)},
          {"began_unix_ns", worker.began_unix_ns},
          {"beat_unix_ns", worker.beat_unix_ns},
          {"ended_unix_ns", worker.ended_unix_ns},
          {"doing", worker.doing},
          {"done", worker.done_count},
          {"failed", worker.failed_count}};
}

Table WorkerTable(const std::vector<WorkerState>& workers, int64_t now_unix_ns) {
  Table table({{"worker"},
               {"state"},
               {"since"},
               {"last seen"},
               {"done", Column::Align::kRight},
               {"failed", Column::Align::kRight},
               {"target", Column::Align::kLeft, Column::Fit::kCut},
               {"doing", Column::Align::kLeft, Column::Fit::kCut}});
  for (const WorkerState& worker : workers) {
    const std::string_view life = LifeOf(worker, now_unix_ns);
    table.AddRow(
        {Printable(worker.name), std::string(life), FormatMoment(worker.began_unix_ns),
         FormatMoment(worker.beat_unix_ns), fmt::format("{}", worker.done_count),
         fmt::format("{}", worker.failed_count), Printable(worker.target), Printable(worker.doing)},
        life == "silent" ? Colour::kYellow : Colour::kPlain);
  }
  return table;
}

std::map<std::string, int64_t> RunningByTarget(const std::vector<WorkerState>& workers,
                                               int64_t now_unix_ns) {
  std::map<std::string, int64_t> running;
  for (const WorkerState& worker : workers) {
    if (LifeOf(worker, now_unix_ns) == "running") ++running[worker.target];
  }
  return running;
}

std::string RunningText(const std::map<std::string, int64_t>& running) {
  int64_t all = 0;
  std::string lines;
  for (const auto& [target, count] : running) {
    all += count;
    lines += fmt::format("  {} on {}\n", count, Printable(target));
  }
  if (all == 0) return "";
  return fmt::format("{} {}: 'attune workers' lists them.\n{}", Counted(all, "worker"),
                     all == 1 ? "runs" : "run", lines);
}

Result<QueueTotals> QueueTotalsOf(JobQueue& queue, const Session& session,
                                  const std::vector<JobStep>& steps) {
  QueueTotals state;
  for (const JobStep& step : steps) {
    const Channel channel = ChannelOf(session.terms, step);
    ATTUNE_ASSIGN_OR_RETURN(const ChannelLoad load, queue.Pending(channel));
    state.load.waiting += load.waiting;
    state.load.taken += load.taken;
    ATTUNE_ASSIGN_OR_RETURN(const auto dead, queue.DeadLetters(channel));
    state.dead += std::ssize(dead);
  }
  return state;
}

}  // namespace attune
