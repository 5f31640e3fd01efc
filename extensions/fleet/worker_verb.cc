// attune worker: does the jobs of a fleet, for any session.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/compiler_log.h"
#include "apps/attune/device_crew.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/session/lease_owner.h"
#include "attune/base/unix_time.h"
#include "attune/base/user_at_host.h"
#include "extensions/fleet/fleet_queue.h"
#include "extensions/fleet/fleet_verbs.h"
#include "extensions/fleet/session_doer.h"
#include "extensions/fleet/worker_summary.h"
#include "extensions/fleet/workers/one_job.h"
#include "extensions/fleet/workers/worker.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// The database itself first repeats calls that fail in an outage, so half a minute without it costs
// no running measurement. It gets this small a part of a short patience.
constexpr int kPartsOfPatience = 4;
constexpr int kMostCompiles = 1024;
// The minimum default deadline of a job; it applies at the default time limit of a problem.
constexpr int64_t kUsualDeadlineNs = 600'000'000'000;
constexpr int64_t kTimesOfAProblem = 20;
constexpr const char* kSharedKernels = "shared";
constexpr const char* kOwnKernels = "own";
constexpr int64_t kMostJobNumber = std::numeric_limits<int64_t>::max();

struct WorkerOptions {
  std::string queue;
  DoerTerms doer;
  std::string name;
  std::string log;
  int64_t job_id = 0;
  bool is_in_process = false;
  std::string kernels;  // Empty: the setting of the database.
  bool until_done = false;
  int64_t idle_ns = 0;
  int64_t patience_ns = 600'000'000'000;
  int64_t deadline_ns = 0;  // Per job; 0: from the time limit of a problem.
  bool json = false;
};

// The log of a worker: a file that it appends to, or standard error.
class WorkerLog {
 public:
  static Result<std::unique_ptr<WorkerLog>> Open(const std::string& file, Output& err) {
    std::FILE* stream = nullptr;
    if (!file.empty() && (stream = std::fopen(file.c_str(), "ae")) == nullptr) {
      return Unavailable(fmt::format("Cannot write the log '{}' after --log.", file));
    }
    return std::unique_ptr<WorkerLog>(new WorkerLog(stream, err));
  }
  ~WorkerLog() {
    if (stream_ != nullptr) std::fclose(stream_);
  }
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  // Callable from any thread.
  void Say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    const std::string text = fmt::format("{} {}\n", FormatMoment(UnixNowNs()), Printable(line));
    if (stream_ != nullptr && Write(text)) return;
    err_.Print(text);
    err_.Flush();
  }

 private:
  WorkerLog(std::FILE* stream, Output& err) : stream_(stream), err_(err) {}

  // Writes to the file. Lines for which the disk is full go to standard error.
  bool Write(const std::string& text) {
    std::clearerr(stream_);
    return std::fwrite(text.data(), 1, text.size(), stream_) == text.size() &&
           std::fflush(stream_) == 0;
  }

  std::mutex mutex_;
  std::FILE* const stream_;  // Null for `err_`.
  Output& err_;
};

// Ends the process a moment after a second interruption if work continues: a measurement takes as
// long as its problem. First queues the current jobs again.
class EndAtOnce {
 public:
  // Borrows all.
  EndAtOnce(Worker& worker, const TwofoldInterruption& interruption, WorkerLog& log)
      : thread_([&](const std::stop_token& stop) {
          while (!interruption.requested_twice()) {
            if (stop.stop_requested()) return;
            std::this_thread::sleep_for(kLook);
          }
          for (auto waited = kLook; waited < kGrace; waited += kLook) {
            if (stop.stop_requested()) return;
            std::this_thread::sleep_for(kLook);
          }
          const Status given_back = worker.GiveBackNow();
          log.Say(given_back.ok() ? "Ended at once; what it did is queued again."
                                  : fmt::format("Ended at once; what it did stays leased until its "
                                                "lease is over, within a minute: {}",
                                                given_back.message()));
          ::_exit(kExitPartly);
        }) {}

 private:
  static constexpr std::chrono::milliseconds kLook{50};
  static constexpr std::chrono::milliseconds kGrace{1000};

  std::jthread thread_;
};

Status CheckOptions(const WorkerOptions& options) {
  if (options.doer.device.empty() && options.doer.compile == 0) {
    return InvalidArgument(
        "A worker measures on a device (--device cuda:0), compiles (--compile 4), or both: say "
        "which.");
  }
  if (options.is_in_process && options.job_id == 0) {
    return InvalidArgument("--in-process is for one job under a debugger: name it with --job.");
  }
  const int64_t per_problem_ns = options.doer.jobs.tune.per_problem_ns;
  if (options.deadline_ns > 0 && options.deadline_ns < per_problem_ns) {
    return InvalidArgument(fmt::format(
        "--job-deadline ({}) is shorter than the time that each problem has (--per-problem {}).",
        FormatWait(options.deadline_ns), FormatWait(per_problem_ns)));
  }
  const bool is_crew = MeansEveryDevice(options.doer.device);
  if (is_crew && (!options.name.empty() || options.job_id != 0)) {
    return InvalidArgument(
        "--name and --job are about one worker: name one device, not all of them.");
  }
  return Status::Ok();
}

int64_t DeadlineOfJobs(const WorkerOptions& options) {
  if (options.deadline_ns > 0) return options.deadline_ns;
  return std::max(kUsualDeadlineNs, kTimesOfAProblem * options.doer.jobs.tune.per_problem_ns);
}

// The state that this worker publishes to the fleet.
WorkerState StateOf(const WorkerOptions& options, const std::optional<Place>& device,
                    int64_t now_unix_ns) {
  WorkerState state;
  state.owner = LeaseOwner();
  state.name = options.name.empty() ? state.owner : options.name;
  if (device.has_value()) {
    state.target = fmt::format("{} {}", device->device_spec, Text(device->target));
  }
  if (options.doer.compile > 0) {
    state.target +=
        fmt::format("{}compile x{}", state.target.empty() ? "" : ", ", options.doer.compile);
  }
  state.attune_version = ProgramVersion();
  state.began_unix_ns = state.beat_unix_ns = now_unix_ns;
  return state;
}

Result<int> RunOneWorker(Application& application, WorkerOptions options) {
  ATTUNE_ASSIGN_OR_RETURN(auto opened, WorkerLog::Open(options.log, application.err()));
  // Shared with the database, which reports outages for as long as `application` has it open.
  const std::shared_ptr<WorkerLog> log = std::move(opened);
  const TwofoldInterruption interruption;
  options.doer.jobs.stop_requested = [&] { return interruption.requested_twice(); };
  options.doer.jobs.compile_threads = std::max(options.doer.compile, 1);
  options.doer.jobs.deadline_ns = DeadlineOfJobs(options);
  options.doer.limits.is_in_process = options.is_in_process;
  ATTUNE_ASSIGN_OR_RETURN(const auto compiler_log, CompilerLog::Open(options.log));
  options.doer.limits.log = options.doer.jobs.log = compiler_log.get();
  options.doer.say = [log](const std::string& line) { log->Say(line); };
  const std::chrono::milliseconds patience(options.patience_ns / 1'000'000);
  const auto outages = std::make_shared<OutageLog>(options.doer.say, patience);
  application.WaitForDatabase(std::min(SqlStoreOptions().reconnecting, patience / kPartsOfPatience),
                              outages);
  options.doer.owner = LeaseOwner();
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, application.DatabasePath());
  options.doer.shares_kernels =
      options.kernels.empty() ? IsOnServer(database) : options.kernels == kSharedKernels;
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  FleetStore& fleet = *application.fleet();
  ATTUNE_ASSIGN_OR_RETURN(const auto queue, OpenFleetQueue(options.queue, fleet, outages));
  ATTUNE_ASSIGN_OR_RETURN(const auto doer, SessionDoer::Create(application, options.doer));
  WorkerTerms terms;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, application.jobs()->NowUnixNs());
  terms.who = StateOf(options, doer->device(), now_unix_ns);
  terms.is_gone = IsGone;
  terms.stop_requested = [&] { return interruption.requested(); };
  terms.say = options.doer.say;
  terms.until_done = options.until_done;
  terms.idle = std::chrono::milliseconds(options.idle_ns / 1'000'000);
  terms.patience = patience;
  terms.outages = outages;
  const FleetParts parts{fleet, *application.jobs(), *queue, IsQueueServer(options.queue)};
  WorkerSummary summary;
  Status ended;
  if (options.job_id != 0) {
    ended = DoOneJob(parts, *doer, {options.job_id, terms.who.owner, terms.lease_ns}, summary);
  } else {
    log->Say(fmt::format("Worker '{}' begins: {}.", terms.who.name, terms.who.target));
    Worker worker(parts, *doer, terms);
    const EndAtOnce at_once(worker, interruption, *log);
    ended = worker.Run();
    summary = worker.summary();
  }
  const bool did_something = summary.done + summary.failed + summary.given_back > 0;
  if (options.json) {
    application.out().Print(Dump(ToJson(summary, ended)));
  } else if (ended.ok() || did_something) {
    application.out().Print(Text(summary));
  }
  application.out().Flush();
  ATTUNE_RETURN_IF_ERROR(ended);
  // Running jobs went back, either in order or because the process was ended (EndAtOnce).
  if (interruption.requested_twice() && summary.given_back > 0) return kExitPartly;
  return ExitStatusOf(summary, ended);
}

// A process for each device.
Result<int> RunWorkers(Application& application, const WorkerOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto devices,
                          UsableDevices(application.backends().list, options.doer.device));
  ATTUNE_ASSIGN_OR_RETURN(const auto arguments, ArgumentsForEachDevice());
  const TwofoldInterruption interruption;
  ATTUNE_ASSIGN_OR_RETURN(const auto members, RunCrew(
                                                  devices, arguments, application.err(),
                                                  [&] { return interruption.requested(); },
                                                  [&] { return interruption.requested_twice(); }));
  const WorkerSummary summary = SummarizeWorkers(members);
  application.out().Print(options.json ? Dump(ToJson(summary, Status::Ok())) : Text(summary));
  return ExitStatusOf(summary, Status::Ok());
}

Result<int> RunWorker(Application& application, const WorkerOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckOptions(options));
  return MeansEveryDevice(options.doer.device) ? RunWorkers(application, options)
                                               : RunOneWorker(application, options);
}

void AddWorkerOptions(CLI::App& verb, WorkerOptions& options) {
  AddQueueOption(verb, options.queue);
  verb.add_option(
      "--device", options.doer.device,
      "Device to measure on, as 'attune devices' lists it; BACKEND:all, as cuda:all, is a "
      "process for each device of that backend");
  verb.add_option("--compile", options.doer.compile,
                  "Compile, so many candidates at once; needs no device")
      ->check(CLI::Range(1, kMostCompiles))
      ->type_name("N");
  verb.add_option("--kernels", options.kernels,
                  "shared: what is compiled goes into the database, and what others compiled comes "
                  "from there; own: each machine compiles for itself (default: shared where the "
                  "database is on a server)")
      ->check(CLI::IsMember({kSharedKernels, kOwnKernels}))
      ->type_name("TEXT");
  verb.add_option("--name", options.name,
                  "What 'attune workers' calls it (default: user@host:namespace.boot:process)")
      ->check(NameWithin(kMostWorkerNameBytes))
      ->check(SeenText());
  verb.add_option("--log", options.log,
                  "Append messages and the output of compilers and candidates to FILE")
      ->type_name("FILE");
  verb.add_option("--job", options.job_id, "Do the job of this number alone, and end")
      ->check(CLI::Range(int64_t{1}, kMostJobNumber))
      ->type_name("N");
  verb.add_flag("--in-process", options.is_in_process,
                "Candidates of --job run in this process, for a debugger: one that crashes takes "
                "it along");
  verb.add_flag("--until-done", options.until_done,
                "End when no open session has a job left that is for this worker");
  AddDurationOption(verb, "--idle", options.idle_ns,
                    "End after there was nothing to do for so long (default: 0, never)");
  AddDurationOption(verb, "--patience", options.patience_ns,
                    "How long a database or a queue may be away before it gives up (default: 10m)");
  AddDurationOption(verb, "--per-problem", options.doer.jobs.tune.per_problem_ns,
                    "Time for each problem (default: 2s)");
  AddDurationOption(
      verb, "--job-deadline", options.deadline_ns,
      "A job that takes longer fails as timed_out; waits for the machine do not count "
      "(default: 10m, or 20 times --per-problem where that is longer)");
  AddLimitOptions(verb, options.doer.limits);
  AddJsonFlag(verb, options.json);
}

}  // namespace

void AddWorkerVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* verb = AddVerb(
      program, "worker",
      "Do the jobs of every open session that is for this machine, until it is asked to end",
      "  attune worker --db postgresql://attune@db/attune --queue nats://queue --device cpu\n"
      "  attune worker --compile 8 --until-done\n"
      "  attune worker --job 4711 --in-process --device cpu\n\n"
      "Ctrl-C or SIGTERM lets it finish what it does; a second one gives that back at once (status "
      "3).\n"
      "Exit status: 0 if all that it did is done, 3 if something failed or could not be done here, "
      "1 if it had to stop.");
  AddWorkerOptions(*verb, *options);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunWorker(application, *options);
    };
  });
}

}  // namespace attune
