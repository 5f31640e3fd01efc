// attune status: the progress of a session.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/duration.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/session/stale_jobs.h"
#include "apps/attune/table.h"
#include "attune/base/unix_time.h"
#include "extensions/fleet/fleet_queue.h"
#include "extensions/fleet/fleet_state.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

// Jobs that ended within this time make the rate.
constexpr int64_t kRateWindowNs = 600'000'000'000;
constexpr auto kWatchInterval = std::chrono::seconds(1);

struct StatusOptions {
  std::string session;
  std::string queue;
  bool watch = false;
  bool json = false;
};

struct SessionState {
  JobCounts counts;
  int64_t stale = 0;
  int64_t sets = 0;
  std::string closed;  // "since 2026-11-23 18:04:05 (by me@here)"; empty while it is open.
  JobRate rate;        // Within kRateWindowNs.
  int64_t eta_ns = 0;  // 0: done, no active worker, or unknown.
  std::map<std::string, int64_t> running;  // Workers of any session by target.
  std::optional<QueueTotals> queue;        // Nothing without a server, or while it is away.
  std::string queue_trouble;               // Why it is unknown.

  int64_t workers() const {
    int64_t all = 0;
    for (const auto& [target, count] : running) all += count;
    return all;
  }
  int64_t open() const { return counts.Of(JobState::kQueued) + counts.Of(JobState::kLeased); }
  // No worker works in a closed session, even if jobs are queued there.
  bool is_over() const { return open() == 0 || !closed.empty(); }
};

// The server of a queue, if any, and a connection to it once it has answered.
struct WatchedQueue {
  std::string url;
  std::unique_ptr<JobQueue> connection;
};

Result<QueueTotals> TotalsOf(Application& application, const Session& session,
                             const JobCounts& counts, WatchedQueue& queue) {
  if (queue.connection == nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(queue.connection, OpenFleetQueue(queue.url, *application.fleet()));
  }
  std::vector<JobStep> steps;
  for (const auto& [step, by_state] : counts.steps) steps.push_back(step);
  return QueueTotalsOf(*queue.connection, session, steps);
}

Result<SessionState> StateOf(Application& application, WatchedQueue& queue) {
  SessionState state;
  // Reads it again, because a watched session changes.
  ATTUNE_ASSIGN_OR_RETURN(const Session session,
                          application.sessions()->Find(application.session()->name));
  state.sets = session.set_count;
  if (session.is_closed()) {
    state.closed = fmt::format("since {} (by {})", FormatMoment(session.closed_unix_ns),
                               Printable(session.closed_by));
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now, application.jobs()->NowUnixNs());
  ATTUNE_ASSIGN_OR_RETURN(state.counts, application.jobs()->Count(session.id, now - kRateWindowNs));
  ATTUNE_ASSIGN_OR_RETURN(const StaleJobs stale,
                          StaleJobs::Of(*application.sessions(), session.id));
  for (const auto& [entry_id, count] : state.counts.ended_by_entry) {
    if (stale.Contains(entry_id)) state.stale += count;
  }
  state.rate = RateOf(state.counts, now);
  if (state.rate.is_worked_on && state.rate.per_second > 0 && !state.is_over()) {
    state.eta_ns =
        static_cast<int64_t>(static_cast<double>(state.open()) / state.rate.per_second * 1e9);
  }
  if (application.fleet() != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(const auto workers, application.fleet()->Workers());
    state.running = RunningByTarget(workers, now);
  }
  if (!IsQueueServer(queue.url)) return state;
  const auto totals = TotalsOf(application, session, state.counts, queue);
  if (totals.ok()) {
    state.queue = *totals;
  } else if (totals.error().code() == StatusCode::kUnavailable) {
    // If the queue is away, the user needs the rest of the status all the more.
    state.queue_trouble = totals.error().message();
  } else {
    return totals.error();
  }
  return state;
}

Json StateJson(const std::string& name, const SessionState& state) {
  Json steps = Json::object();
  for (const auto& [step, by_state] : state.counts.steps) {
    for (int i = 0; i < kJobStates; ++i) {
      steps[Text(step)][std::string(Name(static_cast<JobState>(i)))] =
          by_state[static_cast<size_t>(i)];
    }
  }
  Json json = {{"session", name},
               {"closed", !state.closed.empty()},
               {"sets", state.sets},
               {"steps", std::move(steps)},
               {"failures", state.counts.failures},
               {"stale", state.stale},
               {"worked_on", state.rate.is_worked_on},
               {"jobs_per_second", state.rate.per_second},
               {"eta_ns", state.eta_ns},
               {"workers", state.workers()},
               {"devices", state.running}};
  if (state.queue.has_value()) {
    json["queue"] = {{"waiting", state.queue->load.waiting},
                     {"taken", state.queue->load.taken},
                     {"dead_letters", state.queue->dead}};
  }
  if (!state.queue_trouble.empty()) json["queue"] = {{"trouble", state.queue_trouble}};
  return json;
}

// Empty without a fleet.
std::string FleetText(const SessionState& state) {
  std::string text = RunningText(state.running);
  if (!state.queue_trouble.empty()) {
    text += fmt::format("Of the queue nothing is known: {}\n", Printable(state.queue_trouble));
  }
  if (!state.queue.has_value()) return text;
  return text + fmt::format("On the queue: {} waiting, {} taken, {}.\n", state.queue->load.waiting,
                            state.queue->load.taken, Counted(state.queue->dead, "dead letter"));
}

// The rate and the remaining work; if no worker is active, also the command that does it.
std::string ProgressText(const std::string& name, const SessionState& state) {
  std::string text;
  if (state.rate.per_second > 0) {
    text = fmt::format("{:.2f} jobs/s{}, ", state.rate.per_second,
                       state.rate.is_worked_on ? "" : " while somebody worked");
  }
  if (state.open() == 0) return text.empty() ? "" : text + "nothing is left.\n";
  text += fmt::format("{} left", state.open());
  if (state.is_over()) return text + ".\n";
  if (!state.rate.is_worked_on) {
    return fmt::format("{}, and nobody works on {}: 'attune tune --session {}' does.\n", text,
                       state.open() == 1 ? "it" : "them", ShellWord(name));
  }
  return state.eta_ns > 0 ? fmt::format("{}, about {}.\n", text, FormatWait(state.eta_ns))
                          : text + ".\n";
}

std::string StateText(const std::string& name, const SessionState& state, const Output& out) {
  std::vector<Column> columns = {{"step"}};
  for (int i = 0; i < kJobStates; ++i) {
    columns.push_back({std::string(Name(static_cast<JobState>(i))), Column::Align::kRight});
  }
  Table table(std::move(columns));
  for (const auto& [step, by_state] : state.counts.steps) {
    std::vector<std::string> cells = {Text(step)};
    for (const int64_t count : by_state) cells.push_back(fmt::format("{}", count));
    table.AddRow(std::move(cells));
  }
  std::string text =
      fmt::format("Session '{}'{}, {}.\n", Printable(name), state.closed.empty() ? "" : ", closed",
                  Counted(state.sets, "measurement set"));
  if (table.empty()) return text + "It has no jobs; 'attune jobs load' queues some.\n";
  text += table.Render(out.screen(), out.width());
  for (const auto& [kind, count] : state.counts.failures) {
    text += fmt::format("{} failed: {}\n", count, Printable(kind));
  }
  if (state.stale > 0) {
    text += fmt::format(
        "{} stale, because solvers have changed; 'attune tune --session {} --stale' does {} "
        "again.\n",
        state.stale == 1 ? "1 job is" : fmt::format("{} jobs are", state.stale), ShellWord(name),
        state.stale == 1 ? "it" : "them");
  }
  text += ProgressText(name, state);
  text += FleetText(state);
  if (state.open() > 0 && state.is_over()) {
    text += fmt::format("The session is closed {}, so nobody does what is left.\n", state.closed);
  }
  return text;
}

// Exit status: 0 if nothing failed and nothing is left.
int ExitStatusOf(const SessionState& state) {
  return state.counts.Of(JobState::kFailed) == 0 && state.open() == 0 ? kExitDone : kExitPartly;
}

std::string JsonText(const Json& json, bool is_one_of_many) {
  return is_one_of_many ? DumpLine(json) : Dump(json);
}

Result<int> RunStatus(Application& application, const StatusOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  const std::string name = application.session()->name;
  WatchedQueue queue{options.queue, nullptr};
  Output& out = application.out();
  const OrderlyInterruption interruption;
  std::string shown;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const SessionState state, StateOf(application, queue));
    const std::string text = options.json ? JsonText(StateJson(name, state), options.watch)
                                          : StateText(name, state, out);
    // Redraws a terminal from the top and clears the rest; logs and programs get changes only.
    const bool redraws = out.screen().is_terminal && !options.json;
    if (options.watch && redraws) out.Print("\x1b[H\x1b[J");
    if (redraws || text != shown) out.Print(text);
    shown = text;
    out.Flush();
    if (!options.watch || state.is_over() || interruption.requested()) {
      return ExitStatusOf(state);
    }
    std::this_thread::sleep_for(kWatchInterval);
  }
}

}  // namespace

void AddStatusVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* verb = AddVerb(
      program, "status", "Say how far a session is: jobs by state, rate, time left, failures",
      "  attune status --session may\n"
      "  attune status --session may --watch\n\n"
      "With --watch, --json prints one document on a line of its own whenever something has "
      "changed.\nRate and time left are of the last ten minutes in which somebody worked; while "
      "nobody does, no\ntime is left that could be told.\n\n"
      "Exit status: 0 if nothing failed and nothing is left to do, 3 otherwise. --watch ends "
      "when\nnothing is left, and when the session is closed, whatever is left.");
  AddSessionOption(*verb, options->session, invocation, "The session")->required();
  AddQueueOption(*verb, options->queue);
  verb->add_flag("--watch", options->watch,
                 "Again each second, until nothing is left, the session is closed or Ctrl-C");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunStatus(application, *options);
    };
  });
}

}  // namespace attune
