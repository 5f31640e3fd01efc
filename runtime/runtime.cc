#include "runtime/runtime.h"
#include "attune/compile/default_kernel_cache.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/exit_gate.h"
#include "attune/base/fork_gate.h"
#include "attune/base/process_room.h"
#include "attune/base/process_variables.h"
#include "attune/base/steady_time.h"
#include "attune/compile/layered_kernel_cache.h"
#include "attune/compile/offline_launches.h"
#include "attune/dispatch/counters.h"
#include "attune/index/memory_choices.h"
#include "attune/index/model_origin.h"
#include "attune/trial/match_policy.h"
#include "backends/host/execution_environment.h"
#include "backends/host/thread_wait_policy.h"
#include "runtime/fork_watch.h"
#include "runtime/host_fallback.h"
#include "runtime/solution_names.h"
#include "runtime/tunable_identity.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// Maximum wait for the background before destruction waits without a limit.
constexpr std::chrono::seconds kDestroyPatience{5};

// Prints a line for the user.
void Tell(const RuntimeOptions& options, const std::string& line) {
  if (options.message != nullptr) {
    options.message(line);
  } else {
    WriteToHost(STDERR_FILENO, line + "\n");
  }
}

// As Tell(), once in this process tree.
void Complain(const RuntimeOptions& options, Complaint complaint, const std::string& sentence) {
  if (BeginComplaint(complaint)) Tell(options, "attune: " + sentence);
}

}  // namespace

RecorderOptions RecorderOptionsOf(const RuntimeOptions& options) {
  return {options.database, options.record_tag, options.record_run,
          [options](const std::string& sentence) {
            Complain(options, Complaint::kRecording, sentence);
          },
          [options](std::string& line) {
            if (!BeginComplaint(Complaint::kRecording)) return;
            if (options.message != nullptr) return options.message(line);
            WriteToHost(STDERR_FILENO, line.append(1, '\n'));
          }};
}

Runtime::Runtime(const RuntimeOptions& options) : options_(options), notes_(options.notes) {}

Result<std::unique_ptr<Runtime>> Runtime::Create(const RuntimeOptions& options) {
  if (ExitGate::IsClosed()) {
    return FailedPrecondition("cannot create a run time: the process is exiting");
  }
  WatchForks();
  // Without /proc the locations of plug-ins and the tuner, and the usable cores, are unknown.
  const Status located = FolderOfThisCode().status();
  if (located.code() == StatusCode::kUnavailable) return located;
  std::unique_ptr<Runtime> runtime(new Runtime(options));
  ATTUNE_RETURN_IF_ERROR(runtime->OpenPlace());
  ATTUNE_RETURN_IF_ERROR(runtime->MakeTunable());
  ATTUNE_RETURN_IF_ERROR(runtime->MakeServer());
  // Before: its static objects must go after the threads that use them. A thread that makes them
  // could be overtaken by an exit.
  if (!options.database.empty()) LoadSqlLibrary();
  runtime->stop_at_exit_.emplace(
      [made = runtime.get()](std::chrono::nanoseconds left) {
        const int64_t deadline_ns = SteadyNowNs() + left.count();
        (void)made->StopBackground(left);
        // For threads of the program that are inside of a library.
        const int64_t left_ns = std::max<int64_t>(deadline_ns - SteadyNowNs(), 0);
        (void)ForkGate::AwaitOthers(std::chrono::nanoseconds(left_ns));
      },
      [made = runtime.get()] { made->TellSummary(); });
  return runtime;
}

Status Runtime::OpenPlace() {
  const auto own_openmp = host::SetThreadWaitPolicyInProgram();
  backends_ = LazyBackends();
  if (IsForkedChild()) ATTUNE_RETURN_IF_ERROR(CheckForked());
  ATTUNE_ASSIGN_OR_RETURN(place_, FindPlace(backends_, options_.device));
  if (own_openmp.has_value()) NoteOwnOpenMp(*own_openmp);
  ATTUNE_ASSIGN_OR_RETURN(device_, place_.backend->Open(options_.device));
  OpenedKernelCache opened = OpenDefaultKernelCache();
  kernels_ = std::move(opened.cache);
  for (const Status& status : {opened.kept, opened.installed}) {
    if (!status.ok()) AddNote(status.message());
  }
  OpenPackages();
  kernels_ = std::make_unique<RecentKernelCache>(std::move(kernels_));
  return Status::Ok();
}

// Before a device is looked for: a driver that was used before the fork may hang when it is asked.
Status Runtime::CheckForked() {
  if (options_.device == "cpu") {
    AddNote(
        "This process was forked from one that has a run time: what computes with OpenMP is left "
        "to "
        "one thread, because the others stayed in that process.");
    return Status::Ok();
  }
  const std::string name = options_.device.substr(0, options_.device.find(':'));
  const bool works = std::none_of(backends_.begin(), backends_.end(), [&](const auto& backend) {
    return backend->name() == name && !backend->OpensAfterFork();
  });
  // Also if nobody has it, which is said with a list of those that there are.
  if (works) return Status::Ok();
  return FailedPrecondition(fmt::format(
      "This process was forked from one that has a run time, and the driver of '{}' does not work "
      "in such a process. Start it anew (posix_spawn, exec, 'spawn' of Python's multiprocessing), "
      "or "
      "fork before the first run time is created.",
      options_.device));
}

// The tuner cannot measure as such a program waits, because its own processes wait passively. If
// the difference made records worthless, nothing would ever count as tuned here; so how this
// process waits is unknown to the rules, and told to people.
void Runtime::NoteOwnOpenMp(std::string_view name) {
  const auto policy = place_.environment.find(host::kWaitPolicyField);
  if (policy == place_.environment.end()) return;  // Not a device of this process's threads.
  policy->second = "unknown";
  place_.environment["host.omp_loaded_before"] = name;
  AddNote(fmt::format(
      "{} was loaded before the run time, with OMP_WAIT_POLICY unset: its idle threads spin for a "
      "while and slow down other libraries that compute meanwhile. Records were measured with "
      "threads that wait passively; start the program with OMP_WAIT_POLICY=passive to have the "
      "same.",
      name));
}

// A package that cannot be used is left out with a note: what it would have brought is tuned and
// built as if there were none.
void Runtime::OpenPackages() {
  std::vector<std::unique_ptr<KernelCache>> layers;
  for (const PackageReference& reference : options_.packages) {
    auto package = OpenPackage(reference, [this](const Status& refused) {
      AddNote(fmt::format("A kernel of a package is not used: {}", refused.message()));
    });
    if (!package.ok()) {
      AddNote(fmt::format("Package {} is not used: {}", reference.folder.string(),
                          package.error().message()));
      Complain(options_, Complaint::kPackages,
               fmt::format("cannot use the package '{}', so nothing of it serves: {}\n"
                           "hint: correct the package or ATTUNE_PACKAGES",
                           reference.folder.string(), package.error().message()));
      continue;
    }
    packages_.push_back(std::move(package->index));
    if (!package->kernels_used.ok()) AddNote(package->kernels_used.message());
    if (package->kernels != nullptr) layers.push_back(std::move(package->kernels));
  }
  if (layers.empty()) return;
  kernels_ = std::make_unique<LayeredKernelCache>(std::move(kernels_), std::move(layers));
}

Status Runtime::MakeServer() {
  DispatchOptions dispatch;
  dispatch.scope = options_.scope;
  dispatch.known_only = options_.known_only;
  dispatch.yields = options_.yields;
  dispatch.max_threads = options_.max_threads;
  dispatch.ieee_special_values = options_.ieee_special_values;
  dispatch.after_fork = IsForkedChild();
  ATTUNE_ASSIGN_OR_RETURN(dispatch.forced,
                          ForcedChoices::Parse(options_.force, place_.backend->solvers()));
  OpenDatabase();
  imports_ = std::make_unique<ImportsView>(options_.database);
  DispatchParts parts;
  parts.solvers = &place_.backend->solvers();
  parts.device = device_.get();
  parts.target = place_.target;
  parts.environment = place_.environment;
  parts.kernels = kernels_.get();
  if (!options_.known_only) {
    predictor_ = std::make_unique<ModelPredictor>(
        ModelLocation{options_.database, options_.time_models},
        OriginOf(place_.target, place_.environment),
        std::make_shared<const OfflineLaunches>(*parts.solvers, place_.target, *kernels_));
    parts.predictor = predictor_.get();
  }
  const bool is_host = place_.target.backend == "host";
  if (!is_host && !options_.known_only) {
    ATTUNE_ASSIGN_OR_RETURN(const Backend* host, FindBackend(backends_, "cpu"));
    fallback_ = std::make_unique<HostFallback>(*host, *device_, options_.ieee_special_values);
    parts.fallback = fallback_.get();
  }
  ServerHooks hooks;
  hooks.choices = [this] { return Choices(); };
  const bool tunes = options_.server.policy == MissPolicy::kDeferred ||
                     options_.server.policy == MissPolicy::kInline;
  if (tunes && !options_.database.empty()) {
    hooks.tune = [this](const Problem& problem) { return Tune(problem); };
  }
  hooks.missed = [this](const Problem& problem, bool is_tuned) {
    return NoteMiss(problem, is_tuned);
  };
  hooks.record = [this](const Problem& problem) { return recorder_->Record(problem); };
  // It may have loaded a library, or used one for the first time.
  hooks.made = [] { StopAtExit::Renew(); };
  ServerOptions server = options_.server;
  // Memory of other devices is not made by touching it.
  if (is_host) server.spare_workspaces = WorkspaceReserve::Spares::kOne;
  server_ =
      std::make_unique<PlanServer>(std::move(parts), std::move(dispatch), server, std::move(hooks));
  const bool watches = !options_.database.empty() && !options_.server.deterministic;
  if (watches) StartWatching();
  return Status::Ok();
}

void Runtime::OpenDatabase() {
  const auto unusable = [this](const Status& why) { ComplainOfDatabase(why.message()); };
  const auto damaged = [this](const std::string& why) {
    Complain(options_, Complaint::kIndex,
             fmt::format("the index of the database '{}' is damaged: {}", options_.database, why));
  };
  records_ = std::make_unique<RecordsView>(
      RecordsLocation{options_.database, packages_, unusable, damaged}, SelectionAt(place_));
  const MissPolicy policy = options_.server.policy;
  if (policy != MissPolicy::kNever && !options_.unusable_database.empty()) {
    ComplainOfDatabase(options_.unusable_database);
  }
  if (policy != MissPolicy::kNever && !options_.database.empty()) {
    const Status possible = CheckMayBeDatabase(options_.database);
    if (!possible.ok()) ComplainOfDatabase(possible.message());
  }
  if (policy != MissPolicy::kRecord) return;
  recorder_ = std::make_unique<Recorder>(RecorderOptionsOf(options_));
}

void Runtime::StartWatching() {
  if (watcher_.Start([this] { Watch(); })) return;
  AddNote(
      "cannot start a thread that reads newer records: the limits of this process leave too few "
      "resources; the index keeps serving");
}

Runtime::~Runtime() {
  stop_at_exit_.reset();
  try {
    // Join() waits for threads that take longer.
    (void)StopBackground(kDestroyPatience);
    TellSummary();
  } catch (const std::exception&) {
    // Most likely out of memory for the remaining writes.
  }
  watcher_.Join();
  server_.reset();
}

void Runtime::TellSummary() {
  if (!options_.prints_summary || server_ == nullptr || has_told_summary_.exchange(true)) return;
  Tell(options_, Summary(server_->counters()));
}

void Runtime::ComplainOfDatabase(std::string_view why) const {
  const std::string name = options_.database.empty() ? "" : fmt::format(" '{}'", options_.database);
  Complain(options_, Complaint::kDatabase,
           fmt::format("cannot use the database{}, so nothing is tuned: {}\n"
                       "hint: name another one in ATTUNE_DB, or set it empty to have none",
                       name, why));
}

bool Runtime::StopBackground(std::chrono::nanoseconds timeout) {
  const int64_t deadline_ns = SteadyNowNs() + timeout.count();
  TunerClient* tuner = nullptr;
  {
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    is_closing_ = true;
    tuner = tuner_.get();
  }
  watch_changed_.notify_all();
  if (imports_ != nullptr) imports_->StopUpdates();
  if (records_ != nullptr) records_->StopUpdates();
  // First, for whoever waits for it; from here on nobody can make another one.
  constexpr int kTunersShare = 4;
  if (tuner != nullptr) {
    tuner->Stop(std::chrono::duration_cast<std::chrono::milliseconds>(timeout / kTunersShare));
  }
  const auto left = [&] {
    return std::chrono::nanoseconds(std::max<int64_t>(deadline_ns - SteadyNowNs(), 0));
  };
  WriteUntuned(std::chrono::duration_cast<std::chrono::milliseconds>(left()));
  if (recorder_ != nullptr) {
    (void)recorder_->Close(std::min<std::chrono::milliseconds>(
        std::chrono::duration_cast<std::chrono::milliseconds>(left()), kLongestRecording));
  }
  bool has_ended = server_ == nullptr || server_->StopBackground(left());
  std::unique_lock<std::mutex> lock(watch_mutex_);
  if (!watcher_.joinable()) return has_ended;
  if (!watch_changed_.wait_for(lock, left(), [&] { return has_watcher_ended_; })) return false;
  // It takes the mutex no more.
  watcher_.Join();
  return has_ended;
}

void Runtime::WriteUntuned(std::chrono::milliseconds lock_timeout) {
  if (tunable_ == nullptr) return;  // Nothing of this run time has served yet.
  if (HasNewCallFilter()) return;   // The program may have forbidden itself to open files.
  const Status written = tunable_->WriteUntuned(lock_timeout);
  if (!written.ok()) tunable_->Log(LogLevel::kWarning, written.message());
}

Status Runtime::MakeTunable() {
  TunableSwitches switches;
  if (options_.tunable.has_value()) {
    switches = *options_.tunable;
  } else {
    ATTUNE_ASSIGN_OR_RETURN(switches, TunableSwitches::FromEnvironment(VariablesOfProcess()));
  }
  TunableParts parts;
  parts.here = TunableIdentityAt(place_);
  parts.device_ordinal = OrdinalOf(options_.device);
  parts.cache_bytes = static_cast<int64_t>(place_.cache_bytes);
  parts.solutions = ResolverOf(place_.backend->solvers(), place_.target);
  parts.has_library = [solvers = &place_.backend->solvers()](std::string_view library) {
    return std::any_of(solvers->begin(), solvers->end(),
                       [&](const auto& solver) { return RunsLibrary(solver->id().name, library); });
  };
  parts.tune = [this](const Problem& problem) -> Result<TunedCandidate> {
    ATTUNE_RETURN_IF_ERROR(TuneElsewhere(problem));
    return TunedFor(problem);
  };
  parts.error_stream = options_.message;
  tunable_ = std::make_unique<TunableContext>(std::move(parts), std::move(switches));
  return Status::Ok();
}

std::shared_ptr<const ChoiceSource> Runtime::Choices() const {
  if (!tunable_->actions().serve) return records_->choices();
  return std::make_shared<const LayeredChoices>(
      std::vector<std::shared_ptr<const ChoiceSource>>{tunable_->choices(), records_->choices()});
}

Result<TunedCandidate> Runtime::TunedFor(const Problem& problem) const {
  ATTUNE_ASSIGN_OR_RETURN(const Decision decision,
                          server_->dispatcher().Decide(problem, *records_->choices(),
                                                       kNoWorkspaceLimit, Breadth::kEnough));
  if (!decision.is_tuned) {
    return Internal(
        fmt::format("The tuner found nothing that can be timed for {}.", Text(problem)));
  }
  const Option& best = decision.options.front();
  return TunedCandidate{best.candidate, best.median_ns};
}

void Runtime::NoteDynamic(const Problem& problem, const DynamicDims& dims) {
  if (dims.empty()) return;
  if (!tunable_->actions().serve) return;
  // A result that is there is kept as a wildcard at once.
  if (tunable_->KeepAsWildcard(problem, dims)) return;
  constexpr size_t kMostRemembered = 4096;
  const std::lock_guard<std::mutex> lock(dynamic_mutex_);
  if (dynamic_.size() >= kMostRemembered) dynamic_.clear();
  dynamic_[KeyOf(problem)] = dims;
}

void Runtime::NoteDynamicHit(const PlanKey& key, const Problem& problem, const DynamicDims& dims) {
  const auto mark = [&] {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    const uint64_t said = dims.mask * 2 + (dims.reach == Reach::kAnySize ? 0 : 1);
    return HashOf(key) ^ (kOdd * (1 + said + (tunable_->generation() << 8)));
  };
  const uint64_t now = mark();
  if (noted_hits_[now % noted_hits_.size()].load(std::memory_order_relaxed) == now) return;
  NoteDynamic(problem, dims);
  // A wildcard that was added is a new generation.
  const uint64_t noted = mark();
  noted_hits_[noted % noted_hits_.size()].store(noted, std::memory_order_relaxed);
}

DynamicDims Runtime::TakeDynamic(const Problem& problem) {
  const std::lock_guard<std::mutex> lock(dynamic_mutex_);
  const auto found = dynamic_.find(KeyOf(problem));
  if (found == dynamic_.end()) return {};
  const DynamicDims dims = found->second;
  dynamic_.erase(found);
  return dims;
}

// Whatever the policy: it says when problems are tuned, not what is a miss of TunableOp's kind.
bool Runtime::NoteMiss(const Problem& problem, bool is_tuned) {
  const TunableActions actions = tunable_->actions();
  if (!actions.serve || server_->dispatcher().Forces(problem)) return !is_tuned;
  // Once for each miss, whatever else looks at plans: here it is counted. What the database has
  // becomes a result as what has to be measured does: the tuner measures nothing twice.
  if (tunable_->Lookup(problem).has_value()) return false;
  // In the caller's thread, so that the line is there however the program ends.
  const Status recorded = tunable_->RecordMiss(problem);
  if (!recorded.ok()) tunable_->Log(LogLevel::kWarning, recorded.message());
  return actions.tune_on_miss;
}

// In the background, or under the policy to tune inline.
Status Runtime::Tune(const Problem& problem) {
  const TunableActions actions = tunable_->actions();
  if (!actions.serve) return TuneElsewhere(problem);
  return tunable_->TuneMiss(problem, TakeDynamic(problem)).status();
}

std::optional<Candidate> Runtime::ServedUntried(const Problem& problem) const {
  const auto decision =
      server_->dispatcher().Decide(problem, *Choices(), kNoWorkspaceLimit, Breadth::kEnough);
  if (!decision.ok() || decision->options.empty()) return std::nullopt;
  const Option& served = decision->options.front();
  const bool is_guess = served.origin == Origin::kNearest || served.origin == Origin::kPredicted;
  return is_guess ? std::optional(served.candidate) : std::nullopt;
}

Result<TunerClient*> Runtime::Tuner() {
  TunerClientOptions client;
  {
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    if (tuner_ != nullptr) return tuner_.get();
  }
  // Does not hold the lock, which an exit takes, because the disk may hang.
  ATTUNE_ASSIGN_OR_RETURN(client.program, FindTunerProgram());
  client.database = options_.database;
  client.device = options_.device;
  client.scope = options_.scope;
  client.per_problem_ms = options_.per_problem_ms;
  client.budget_ms = options_.tuning_budget_ms;
  client.cpu_share = options_.tuning_cpu_share;
  const std::lock_guard<std::mutex> lock(watch_mutex_);
  if (is_closing_) return Unavailable("The run time is being closed.");
  if (tuner_ == nullptr) tuner_ = std::make_unique<TunerClient>(std::move(client));
  return tuner_.get();
}

Status Runtime::TuneElsewhere(const Problem& problem) {
  if (options_.database.empty()) {
    return FailedPrecondition("This run time has no database, so it cannot tune.");
  }
  ATTUNE_ASSIGN_OR_RETURN(TunerClient * tuner, Tuner());
  ATTUNE_RETURN_IF_ERROR(tuner->Tune({problem, TermsOf(*tunable_), ServedUntried(problem)}));
  return records_->Update().status();
}

void Runtime::FollowTunable() {
  const uint64_t generation = tunable_->generation();
  if (seen_generation_.exchange(generation) != generation) server_->Refresh();
}

void Runtime::Watch() {
  std::unique_lock<std::mutex> lock(watch_mutex_);
  WatchUntilClosed(lock);
  has_watcher_ended_ = true;
  watch_changed_.notify_all();
}

void Runtime::LookForNews() {
  // The next look retries after a failure; known records keep serving.
  const Result<bool> changed = records_->Update();
  const bool predicts_anew = predictor_ != nullptr && predictor_->Update();
  if (predicts_anew || (changed.ok() && *changed)) server_->Refresh();
  imports_->Update();
  FollowTunable();
}

void Runtime::WatchUntilClosed(std::unique_lock<std::mutex>& lock) {
  while (!is_closing_) {
    lock.unlock();
    try {
      if (GuestThread::MayGoOn()) LookForNews();
    } catch (const std::exception&) {
      // Most likely out of memory; the next look follows soon.
    }
    // The library of the database makes static objects when it is used first.
    if (!has_looked_) StopAtExit::Renew();
    lock.lock();
    has_looked_ = true;
    watch_changed_.notify_all();
    if (options_.refresh_interval.count() == 0) return;
    watch_changed_.wait_for(lock, options_.refresh_interval, [&] { return is_closing_; });
  }
}

Status Runtime::recorded() const {
  ATTUNE_RETURN_IF_ERROR(tunable_->WriteUntuned(std::chrono::milliseconds(0)));
  return recorder_ == nullptr ? Status::Ok() : recorder_->Flush();
}

std::vector<std::string> Runtime::notes() const {
  std::vector<std::string> notes = records_->notes();
  const auto add = [&](const std::vector<std::string>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  add(imports_->notes());
  add(tunable_->notes());
  if (recorder_ != nullptr) add(recorder_->notes());
  if (predictor_ != nullptr) {
    for (std::string& note : predictor_->notes()) notes.push_back(std::move(note));
  }
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  notes.insert(notes.begin(), notes_.begin(), notes_.end());
  return notes;
}

// What happens again and again is said once.
void Runtime::AddNote(std::string note) {
  constexpr size_t kMaxNotes = 64;
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  const bool is_known = std::find(notes_.begin(), notes_.end(), note) != notes_.end();
  if (!is_known && notes_.size() < kMaxNotes) notes_.push_back(std::move(note));
}

bool Runtime::WaitIdle(std::chrono::nanoseconds timeout) {
  FollowTunable();
  const int64_t deadline_ns = SteadyNowNs() + timeout.count();
  {
    std::unique_lock<std::mutex> lock(watch_mutex_);
    if (watcher_.joinable() &&
        !watch_changed_.wait_for(lock, timeout, [&] { return has_looked_ || is_closing_; })) {
      return false;
    }
  }
  return server_->WaitIdle(
      std::chrono::nanoseconds(std::max<int64_t>(deadline_ns - SteadyNowNs(), 0)));
}

}  // namespace attune
