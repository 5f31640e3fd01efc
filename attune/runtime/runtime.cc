#include "attune/runtime/runtime.h"

#include <utility>

#include <fmt/format.h>

#include "backends/host/thread_wait_policy.h"

namespace attune {
namespace {

// Somewhere to keep kernels; a process that may not write keeps its own.
std::unique_ptr<KernelCache> OpenKernelCache() {
  const auto folder = DefaultKernelCacheFolder();
  if (folder.ok()) {
    auto cache = FolderKernelCache::Open(*folder);
    if (cache.ok()) return std::move(*cache);
  }
  return std::make_unique<MemoryKernelCache>();
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {}

Result<std::unique_ptr<Runtime>> Runtime::Create(const RuntimeOptions& options) {
  std::unique_ptr<Runtime> runtime(new Runtime(options));
  ATTUNE_RETURN_IF_ERROR(runtime->OpenPlace());
  ATTUNE_RETURN_IF_ERROR(runtime->MakeServer());
  return runtime;
}

Status Runtime::OpenPlace() {
  host::SetThreadWaitPolicy();
  backends_ = LazyBackends();
  ATTUNE_ASSIGN_OR_RETURN(place_, FindPlace(backends_, options_.device));
  ATTUNE_ASSIGN_OR_RETURN(device_, place_.backend->Open(options_.device));
  kernels_ = OpenKernelCache();
  return Status::Ok();
}

Status Runtime::MakeServer() {
  DispatchOptions dispatch;
  dispatch.scope = options_.scope;
  ATTUNE_ASSIGN_OR_RETURN(dispatch.forced,
                          ForcedChoices::Parse(options_.force, place_.backend->solvers()));
  records_ = std::make_unique<RecordsView>(RecordsLocation{options_.database, options_.packages},
                                           SelectionAt(place_));
  DispatchParts parts;
  parts.solvers = &place_.backend->solvers();
  parts.device = device_.get();
  parts.target = place_.target;
  parts.environment = place_.environment;
  parts.kernels = kernels_.get();
  ServerHooks hooks;
  hooks.choices = [this] { return records_->choices(); };
  const bool tunes = options_.server.policy == MissPolicy::kDeferred ||
                     options_.server.policy == MissPolicy::kInline;
  if (tunes && !options_.database.empty()) {
    hooks.tune = [this](const Problem& problem) { return Tune(problem); };
  }
  hooks.record = [this](const Problem& problem) {
    return records_->Note(options_.record_tag, problem);
  };
  server_ = std::make_unique<PlanServer>(std::move(parts), std::move(dispatch), options_.server,
                                         std::move(hooks));
  const bool watches = !options_.database.empty() && !options_.server.deterministic;
  if (watches) watcher_ = std::thread([this] { Watch(); });
  return Status::Ok();
}

Runtime::~Runtime() {
  {
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    is_closing_ = true;
  }
  watch_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  if (tuner_ != nullptr) tuner_->Stop();
  server_.reset();
}

Status Runtime::Tune(const Problem& problem) {
  TunerClient* tuner = nullptr;
  {
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    if (is_closing_) return Unavailable("The run time is being closed.");
    if (tuner_ == nullptr) {
      TunerClientOptions client;
      ATTUNE_ASSIGN_OR_RETURN(client.program, FindTunerProgram());
      client.database = options_.database;
      client.device = options_.device;
      client.scope = options_.scope;
      client.per_problem_ms = options_.per_problem_ms;
      client.budget_ms = options_.tuning_budget_ms;
      client.cpu_share = options_.tuning_cpu_share;
      tuner_ = std::make_unique<TunerClient>(std::move(client));
    }
    tuner = tuner_.get();
  }
  ATTUNE_RETURN_IF_ERROR(tuner->Tune(problem));
  return records_->Update().status();
}

void Runtime::Watch() {
  std::unique_lock<std::mutex> lock(watch_mutex_);
  while (!is_closing_) {
    lock.unlock();
    // What cannot be read now is tried again; what is known serves on.
    const Result<bool> changed = records_->Update();
    if (changed.ok() && *changed) server_->Refresh();
    lock.lock();
    has_looked_ = true;
    watch_changed_.notify_all();
    if (options_.refresh_interval.count() == 0) return;
    watch_changed_.wait_for(lock, options_.refresh_interval, [&] { return is_closing_; });
  }
}

bool Runtime::WaitIdle(std::chrono::nanoseconds timeout) {
  {
    std::unique_lock<std::mutex> lock(watch_mutex_);
    if (watcher_.joinable() &&
        !watch_changed_.wait_for(lock, timeout, [&] { return has_looked_ || is_closing_; })) {
      return false;
    }
  }
  return server_->WaitIdle(timeout);
}

}  // namespace attune
