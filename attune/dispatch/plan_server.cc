#include "attune/dispatch/plan_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/exit_gate.h"
#include "attune/base/fork_gate.h"
#include "attune/dispatch/apart_plans.h"

namespace attune {
namespace {

// Problems that wait for their turn in the background; what comes beyond is tuned when it misses
// again.
constexpr size_t kMaxQueued = 1024;

std::chrono::nanoseconds TimeUntil(int64_t deadline_ns) {
  return std::chrono::nanoseconds(std::max<int64_t>(deadline_ns - SteadyNowNs(), 0));
}

MissOutcome OutcomeOf(const Result<Serving>& serving) {
  if (serving.ok()) {
    const Status& failure = serving->plan->failure();
    if (failure.ok()) return MissOutcome::kServed;
    return failure.code() == StatusCode::kNotFound ? MissOutcome::kLeft : MissOutcome::kUnbuilt;
  }
  const StatusCode code = serving.error().code();
  if (code == StatusCode::kNotFound) return MissOutcome::kUnknown;
  return code == StatusCode::kResourceExhausted ? MissOutcome::kNoResources
                                                : MissOutcome::kImpossible;
}

MissFacts FactsOf(const Result<Serving>& serving, Launches launches) {
  MissFacts facts;
  facts.outcome = OutcomeOf(serving);
  facts.launches = launches;
  if (!serving.ok()) return facts;
  facts.is_tuned = serving->is_tuned;
  facts.is_stand_in = serving->is_stand_in;
  facts.has_skipped_records = !serving->skipped.empty();
  if (facts.outcome == MissOutcome::kServed) facts.origin = serving->plan->option().origin;
  return facts;
}

MissRules RulesOf(const ServerOptions& options, const ServerHooks& hooks, bool yields) {
  return {options.policy, options.deterministic, hooks.tune != nullptr, hooks.record != nullptr,
          yields};
}

PlanKey KeyOfCaptured(const Problem& problem, uint64_t workspace_limit_bytes) {
  return KeyOfApart(problem, workspace_limit_bytes, Apart::kCaptured);
}

// Fallback dispatchers for a process whose limits exclude the usual candidates.
std::vector<std::unique_ptr<const Dispatcher>> SubstitutesOf(const DispatchParts& parts,
                                                             DispatchOptions options) {
  std::vector<std::unique_ptr<const Dispatcher>> substitutes;
  if (parts.target.backend != "host" || options.yields) return substitutes;
  options.max_threads = 1;
  options.scope = Scope::kAll;
  const bool has_forced = !options.forced.empty();
  if (has_forced) substitutes.push_back(std::make_unique<const Dispatcher>(parts, options));
  options.forced = {};
  substitutes.push_back(std::make_unique<const Dispatcher>(parts, std::move(options)));
  return substitutes;
}

Launches LaunchesOf(const PlanSlot& slot, const Plan& plan) {
  const bool is_captured =
      slot.key() == KeyOfCaptured(plan.problem(), plan.workspace_limit_bytes());
  return is_captured ? Launches::kCaptured : Launches::kExecuted;
}

}  // namespace

struct PlanServer::Totals {
  std::atomic<uint64_t> misses{0};
  std::array<std::atomic<uint64_t>, kOriginCount> misses_by_origin{};
  std::array<std::atomic<uint64_t>, kMissReasonCount> misses_by_reason{};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> stand_ins{0};
  std::atomic<uint64_t> skipped_records{0};
  std::atomic<uint64_t> tunings{0};
  std::atomic<uint64_t> tuning_failures{0};
  std::atomic<uint64_t> tunings_dropped{0};
  std::atomic<uint64_t> tunings_put_off{0};
  std::atomic<uint64_t> recorded{0};
  std::atomic<uint64_t> swaps{0};
  std::atomic<uint64_t> builds_in_caller{0};
  std::atomic<uint64_t> builds_in_background{0};
  std::atomic<int64_t> miss_ns{0};
  std::atomic<int64_t> tuning_ns{0};
};

PlanServer::PlanServer(DispatchParts parts, DispatchOptions dispatch, ServerOptions options,
                       ServerHooks hooks)
    : dispatcher_(parts, dispatch),
      substitutes_(SubstitutesOf(parts, dispatch)),
      options_(options),
      hooks_(std::move(hooks)),
      rules_(RulesOf(options_, hooks_, dispatcher_.yields())),
      totals_(std::make_unique<Totals>()),
      claims_(16 * kMaxQueued),
      cache_(options.max_plans),
      queue_memory_(*dispatcher_.parts().device),
      recording_queues_(dynamic_cast<RecordingQueues*>(dispatcher_.parts().device)),
      caller_handles_(dynamic_cast<const CallerHandles*>(dispatcher_.parts().device)),
      reserve_(*dispatcher_.parts().device, options.spare_workspaces),
      tunings_(
          kMaxQueued, [this](int64_t pushed_ns) { return HoldOf(pushed_ns); }, options_.now_ns),
      loads_(
          kMaxQueued, [this](int64_t pushed_ns) { return HoldOf(pushed_ns); }, options_.now_ns) {}

PlanServer::~PlanServer() = default;

Plan* PlanServer::FindOrMake(const PlanKey& key, const Problem& problem,
                             uint64_t workspace_limit_bytes, void* queue) {
  if (const Status why = WhyNotNow(); !why.ok()) {
    return FindOrMakeLimited(problem, workspace_limit_bytes, why);
  }
  const Launches launches = LaunchesOn(queue);
  // Under the key of the call, what the graph gets would keep later calls from being tuned.
  // The choice of a deterministic run time never changes, so there it is one for all calls.
  const bool is_apart =
      launches == Launches::kCaptured && !options_.deterministic && !HasCapturable(key);
  if (is_apart) return FindOrMakeCaptured(problem, workspace_limit_bytes);
  return FindOrMake(key, problem, workspace_limit_bytes, launches);
}

Plan* PlanServer::FindOrMakeCaptured(const Problem& problem, uint64_t workspace_limit_bytes) {
  return FindOrMake(KeyOfCaptured(problem, workspace_limit_bytes), problem, workspace_limit_bytes,
                    Launches::kCaptured);
}

Plan* PlanServer::FindOrMake(const PlanKey& key, const Problem& problem,
                             uint64_t workspace_limit_bytes, Launches launches) {
  PlanCache::Slots evicted;
  const std::shared_ptr<PlanSlot> slot = cache_.FindOrAdd(key, &evicted);
  TellEvicted(evicted);
  Make(slot, problem, workspace_limit_bytes, launches);
  return slot->current();
}

template <class Maker>
Plan* PlanServer::FindOrMakeApart(const PlanKey& key, const Maker& make) {
  PlanCache::Slots evicted;
  const std::shared_ptr<PlanSlot> slot = cache_.FindOrAdd(key, &evicted);
  TellEvicted(evicted);
  const std::lock_guard<std::mutex> making(slot->making_mutex());
  if (slot->current() == nullptr) slot->Publish(make());
  return slot->current();
}

Plan* PlanServer::FindOrMakeFrugal(const Problem& problem, uint64_t workspace_limit_bytes) {
  if (substitutes_.empty()) return nullptr;
  // An earlier frugal plan may call a library that the exit takes apart.
  const Apart apart = ExitGate::IsClosed() ? Apart::kAtExit : Apart::kFrugal;
  return FindOrMakeApart(KeyOfApart(problem, workspace_limit_bytes, apart), [&] {
    auto serving = ServeFrugally(problem, workspace_limit_bytes);
    return serving.ok() ? std::move(serving->plan)
                        : std::make_unique<Plan>(problem, workspace_limit_bytes, serving.error());
  });
}

Status PlanServer::ProcessExits() { return ResourceExhausted("The process is exiting."); }

Status PlanServer::WhyNotNow() const {
  // Only a caller with an implementation of its own can do without attune.
  if (dispatcher_.yields() && !GuestThread::MayGoOn()) {
    return ResourceExhausted(
        "The program has limited its address space (ulimit -v, -d or -l) or its system calls "
        "(seccomp), and a problem that is new needs both.");
  }
  const int allowed = options_.thread_limit.Now();
  if (allowed == 0 || allowed >= dispatcher_.max_threads()) return Status::Ok();
  return ResourceExhausted("The program allows fewer threads now than when attune started.");
}

Plan* PlanServer::FindOrMakeLimited(const Problem& problem, uint64_t workspace_limit_bytes,
                                    const Status& why) {
  if (Plan* frugal = FindOrMakeFrugal(problem, workspace_limit_bytes)) return frugal;
  return FindOrMakeApart(KeyOfApart(problem, workspace_limit_bytes, Apart::kLimited), [&] {
    totals_->misses.fetch_add(1, std::memory_order_relaxed);
    auto plan = std::make_unique<Plan>(problem, workspace_limit_bytes, why);
    if (GuestThread::MayGoOn()) {
      const MissDecision decision = DecideMiss(rules_, {.outcome = MissOutcome::kNoResources});
      Report(problem, *plan, nullptr, decision);
      Follow(nullptr, problem, decision);
    }
    return plan;
  });
}

Result<Serving> PlanServer::ServeFrugally(const Problem& problem,
                                          uint64_t workspace_limit_bytes) const {
  const ForkGate gate;
  Result<Serving> serving = Unsupported("");
  for (const auto& substitute : substitutes_) {
    serving = substitute->Serve(problem, *hooks_.choices(), workspace_limit_bytes, Haste::kAtOnce);
    const bool is_limited =
        !serving.ok() && serving.error().code() == StatusCode::kResourceExhausted;
    if (!is_limited) break;
  }
  return serving;
}

PlanServer::Looked PlanServer::Look(const Problem& problem, uint64_t workspace_limit_bytes,
                                    Launches launches) const {
  auto choices = hooks_.choices();
  Ranking ranking = dispatcher_.Look(problem, *choices, workspace_limit_bytes, launches);
  return {std::move(choices), std::move(ranking)};
}

Result<Serving> PlanServer::Serve(const Problem& problem, uint64_t workspace_limit_bytes,
                                  Launches launches, std::optional<Looked>& looked) {
  auto serving = [&]() -> Result<Serving> {
    const ForkGate gate;
    const bool is_refused = ExitGate::IsClosed() && dispatcher_.device_fails_at_exit();
    if (is_refused || IsLeftBehind()) return ProcessExits();
    if (!looked.has_value()) looked.emplace(Look(problem, workspace_limit_bytes, launches));
    return dispatcher_.Serve(looked->ranking, HasteOf(rules_));
  }();
  // A plan that exceeds the workspace of the caller is for the caller to change.
  const bool is_limited = !serving.ok() &&
                          serving.error().code() == StatusCode::kResourceExhausted &&
                          workspace_limit_bytes == kNoWorkspaceLimit && !substitutes_.empty();
  if (!is_limited) return serving;
  Tell(ServerEvent::kSkipped, problem, nullptr, serving.error().message());
  return ServeFrugally(problem, workspace_limit_bytes);
}

// Libraries destroy static objects at exit that they need to prepare a problem.
bool PlanServer::IsLeftBehind() const {
  return stop_ns_ != 0 && stopping_thread_.load() != std::this_thread::get_id();
}

// A call on a queue that does not tell fails, and is worth no tuning: a capture may be void.
Launches PlanServer::LaunchesOn(void* queue) const {
  if (queue == nullptr) return Launches::kExecuted;
  const auto recording = RecordingOf(queue);
  const bool is_executed = recording.ok() && *recording == 0;
  return is_executed ? Launches::kExecuted : Launches::kCaptured;
}

bool PlanServer::HasCapturable(const PlanKey& key) const {
  const std::shared_ptr<PlanSlot> slot = cache_.Peek(key);
  const Plan* plan = slot == nullptr ? nullptr : slot->current();
  return plan != nullptr && plan->failure().ok() && !plan->option().fails_capture;
}

std::shared_ptr<PlanSlot> PlanServer::Pin(const PlanKey& key, const Problem& problem,
                                          uint64_t workspace_limit_bytes) {
  PlanCache::Slots evicted;
  std::shared_ptr<PlanSlot> slot = cache_.FindOrAddPinned(key, &evicted);
  TellEvicted(evicted);
  Make(slot, problem, workspace_limit_bytes, Launches::kExecuted);
  return slot;
}

void PlanServer::TellEvicted(const PlanCache::Slots& evicted) const {
  for (const auto& slot : evicted) {
    const Plan* plan = slot->current();
    if (plan == nullptr) continue;
    Tell(ServerEvent::kEvicted, plan->problem(), nullptr,
         fmt::format("There is room for {} plans.", options_.max_plans));
  }
}

void PlanServer::Make(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                      uint64_t workspace_limit_bytes, Launches launches) {
  if (slot->current() == nullptr) {
    const std::lock_guard<std::mutex> making(slot->making_mutex());
    if (slot->current() == nullptr) {
      MakeFirst(slot, problem, workspace_limit_bytes, launches);
      return;
    }
  }
  // Another thread was quicker, or this one did not know the slot.
  cache_.CountHit();
}

void PlanServer::MakeFirst(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                           uint64_t workspace_limit_bytes, Launches launches) {
  const int64_t begin_ns = options_.now_ns();
  last_miss_ns_.store(begin_ns, std::memory_order_relaxed);
  std::optional<Looked> looked;
  const bool was_told =
      TunesFirst(rules_, launches) && TuneFirst(problem, workspace_limit_bytes, looked);
  auto serving = Serve(problem, workspace_limit_bytes, launches, looked);
  MissFacts facts = FactsOf(serving, launches);
  if (serving.ok()) {
    slot->Publish(std::move(serving->plan));
    if (hooks_.made != nullptr) hooks_.made();
  } else {
    slot->Publish(std::make_unique<Plan>(problem, workspace_limit_bytes, serving.error()));
  }
  facts.wants_tuning =
      !was_told && MayWantTuning(facts.outcome) && TellMissed(problem, facts.is_tuned);
  const MissDecision decision = DecideMiss(rules_, facts);
  Report(problem, *slot->current(), serving.ok() ? &*serving : nullptr, decision);
  Follow(slot, problem, decision);
  const int64_t end_ns = options_.now_ns();
  last_miss_ns_.store(end_ns, std::memory_order_relaxed);
  totals_->misses.fetch_add(1, std::memory_order_relaxed);
  totals_->miss_ns.fetch_add(end_ns - begin_ns, std::memory_order_relaxed);
}

std::chrono::nanoseconds PlanServer::HoldOf(int64_t pushed_ns) const {
  const int64_t now_ns = options_.now_ns();
  const std::chrono::nanoseconds waited(now_ns - pushed_ns);
  const std::chrono::nanoseconds since_miss(now_ns - last_miss_ns_.load(std::memory_order_relaxed));
  return std::min(options_.calm - since_miss, options_.longest_hold - waited);
}

// Under another key the same problem may be in the hands of another thread: then this one waits for
// it, too.
bool PlanServer::TuneFirst(const Problem& problem, uint64_t workspace_limit_bytes,
                           std::optional<Looked>& looked) {
  looked.emplace(Look(problem, workspace_limit_bytes, Launches::kExecuted));
  if (!dispatcher_.Rank(looked->ranking, Breadth::kFirst).ok()) return false;
  if (!TellMissed(problem, looked->ranking.decision.is_tuned)) return true;
  looked.reset();
  if (claims_.ClaimOrAwait(KeyOf(problem))) TuneNow(problem);
  return true;
}

bool PlanServer::TellMissed(const Problem& problem, bool is_tuned) const {
  return hooks_.missed == nullptr ? !is_tuned : hooks_.missed(problem, is_tuned);
}

void PlanServer::Report(const Problem& problem, const Plan& plan, const Serving* serving,
                        const MissDecision& decision) {
  if (serving != nullptr) {
    totals_->skipped_records.fetch_add(serving->skipped.size(), std::memory_order_relaxed);
    if (serving->has_built) totals_->builds_in_caller.fetch_add(1, std::memory_order_relaxed);
    for (const auto* reasons : {&serving->skipped, &serving->failures}) {
      for (const std::string& reason : *reasons) {
        Tell(ServerEvent::kSkipped, problem, nullptr, reason);
      }
    }
  }
  totals_->misses_by_reason[static_cast<size_t>(decision.reason)].fetch_add(
      1, std::memory_order_relaxed);
  if (decision.reason == MissReason::kFailed) {
    totals_->failures.fetch_add(1, std::memory_order_relaxed);
  }
  if (!plan.failure().ok()) {
    Tell(ServerEvent::kMiss, problem, nullptr, plan.failure().message());
    return;
  }
  const Option& option = plan.option();
  totals_->misses_by_origin[static_cast<size_t>(option.origin)].fetch_add(
      1, std::memory_order_relaxed);
  Tell(ServerEvent::kMiss, problem, &option.candidate, option.because);
}

void PlanServer::Follow(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                        const MissDecision& decision) {
  if (decision.tuning == MissDecision::Tuning::kPutOff) {
    totals_->tunings_put_off.fetch_add(1, std::memory_order_relaxed);
    Tell(ServerEvent::kSkipped, problem, nullptr,
         "It is not tuned while the queue of the call is captured; the next call outside of a "
         "capture is a miss again.");
  }
  if (decision.improves && slot != nullptr) ImproveLater(slot);
  if (decision.records) Record(problem);
  if (decision.tuning == MissDecision::Tuning::kInBackground) TuneLater(problem);
}

bool PlanServer::TuneNow(const Problem& problem) {
  const int64_t begin_ns = options_.now_ns();
  const Status tuned = hooks_.tune(problem);
  claims_.Finish(KeyOf(problem));
  totals_->tuning_ns.fetch_add(options_.now_ns() - begin_ns, std::memory_order_relaxed);
  if (tuned.ok()) {
    totals_->tunings.fetch_add(1, std::memory_order_relaxed);
    Tell(ServerEvent::kTuned, problem, nullptr, "Its records can be used now.");
  } else {
    totals_->tuning_failures.fetch_add(1, std::memory_order_relaxed);
    Tell(ServerEvent::kTuningFailed, problem, nullptr, tuned.message());
  }
  return tuned.ok();
}

void PlanServer::TuneLater(const Problem& problem) {
  const Fingerprint key = KeyOf(problem);
  if (!claims_.Claim(key)) return;
  const bool queued = tunings_.Push([this, problem] {
    if (!TuneNow(problem)) return;
    for (const auto& slot : cache_.AllSlots()) {
      const Plan* plan = slot->current();
      if (plan != nullptr && plan->problem() == problem) RefreshSlot(*slot);
    }
  });
  if (queued) return;
  claims_.GiveUp(key);
  totals_->tunings_dropped.fetch_add(1, std::memory_order_relaxed);
}

void PlanServer::Record(const Problem& problem) {
  const Result<bool> is_new = hooks_.record(problem);
  if (!is_new.ok()) {
    Tell(ServerEvent::kTuningFailed, problem, nullptr, is_new.error().message());
  } else if (*is_new) {
    totals_->recorded.fetch_add(1, std::memory_order_relaxed);
  }
}

void PlanServer::ImproveLater(const std::shared_ptr<PlanSlot>& slot) {
  const bool queued = loads_.Push([this, slot] {
    if (RefreshSlot(*slot)) totals_->stand_ins.fetch_add(1, std::memory_order_relaxed);
    RefreshPending();
  });
  // Every task that is queued now ends in a look at whether one of these is wanted.
  if (!queued) is_refresh_pending_.store(true, std::memory_order_release);
}

void PlanServer::Refresh() {
  if (options_.deterministic) return;
  // One that has not begun sees everything that has changed up to now.
  if (is_refresh_pending_.exchange(true, std::memory_order_acq_rel)) return;
  (void)loads_.Push([this] { RefreshPending(); });
}

void PlanServer::RefreshPending() {
  if (!is_refresh_pending_.exchange(false, std::memory_order_acq_rel)) return;
  for (const auto& slot : cache_.AllSlots()) {
    if (stop_ns_ != 0) return;
    RefreshSlot(*slot);
  }
}

bool PlanServer::RefreshSlot(PlanSlot& slot) {
  const std::lock_guard<std::mutex> making(slot.making_mutex());
  const ForkGate gate;
  const Plan* plan = slot.current();
  if (plan == nullptr || slot.is_retired() || IsForLimits(slot, *plan)) return false;
  // Where the preferred ones cannot be made ready, any other is better than a plan that is of none
  // of them: a fallback, or a failure.
  const Launches launches = LaunchesOf(slot, *plan);
  std::vector<Candidate> failed;
  Status failure;
  Looked looked = Look(plan->problem(), plan->workspace_limit_bytes(), launches);
  for (const Breadth breadth : {Breadth::kEnough, Breadth::kEverything}) {
    if (!dispatcher_.Rank(looked.ranking, breadth).ok()) return false;
    for (const Option& option : looked.ranking.decision.options) {
      const bool serves = plan->failure().ok() && plan->option().candidate == option.candidate &&
                          plan->option().origin == option.origin;
      if (serves) return false;
      if (std::find(failed.begin(), failed.end(), option.candidate) != failed.end()) continue;
      failure = Swap(slot, *plan, option);
      if (failure.ok()) return true;
      if (dispatcher_.yields() && failure.code() == StatusCode::kResourceExhausted) return false;
      failed.push_back(option.candidate);
    }
  }
  const bool is_news = !plan->failure().ok() && !failure.ok() && plan->failure() != failure;
  if (is_news && !slot.Publish(std::make_unique<Plan>(plan->problem(),
                                                      plan->workspace_limit_bytes(), failure))) {
    cache_.Remove(slot);
  }
  return false;
}

Status PlanServer::Swap(PlanSlot& slot, const Plan& plan, const Option& option) {
  LoadOutcome outcome;
  const int compilers = dispatcher_.Compiles(option.candidate) ? 1 : 0;
  compilers_at_work_.fetch_add(compilers);
  auto better = dispatcher_.Load(plan.problem(), option, plan.workspace_limit_bytes(), &outcome);
  compilers_at_work_.fetch_sub(compilers);
  if (outcome.has_built) totals_->builds_in_background.fetch_add(1, std::memory_order_relaxed);
  if (!better.ok()) {
    Tell(ServerEvent::kSkipped, plan.problem(), &option.candidate, better.error().message());
    if (Refutes(better.error(), option)) {
      totals_->skipped_records.fetch_add(1, std::memory_order_relaxed);
      const MissDecision decision =
          DecideMiss(rules_, {.launches = LaunchesOf(slot, plan), .wants_tuning = true});
      if (decision.tuning == MissDecision::Tuning::kInBackground) TuneLater(plan.problem());
    }
    return better.error();
  }
  if (hooks_.made != nullptr) hooks_.made();
  if (!slot.Publish(std::move(*better))) {
    cache_.Remove(slot);
    return Status::Ok();
  }
  totals_->swaps.fetch_add(1, std::memory_order_relaxed);
  Tell(ServerEvent::kSwap, plan.problem(), &option.candidate, option.because);
  return Status::Ok();
}

bool PlanServer::WaitIdle(std::chrono::nanoseconds timeout) {
  const int64_t deadline_ns = SteadyNowNs() + timeout.count();
  // In this order: a load may ask for a tuning, and a tuning loads in its own thread.
  return loads_.WaitIdle(TimeUntil(deadline_ns)) && tunings_.WaitIdle(TimeUntil(deadline_ns)) &&
         reserve_.WaitIdle(TimeUntil(deadline_ns));
}

bool PlanServer::StopBackground(std::chrono::nanoseconds timeout) {
  const int64_t now_ns = SteadyNowNs();
  const int64_t deadline_ns = now_ns + timeout.count();
  int64_t not_stopped = 0;
  stopping_thread_.store(std::this_thread::get_id());
  stop_ns_.compare_exchange_strong(not_stopped, now_ns);
  // An exit destroys the static objects of a running compiler, which would crash the program.
  const int64_t compiler_ns = compilers_at_work_ > 0 ? stop_ns_ + kCompilerPatience.count() : 0;
  // It needs no time of its own: it ends while the others are waited for.
  (void)reserve_.Stop(std::chrono::nanoseconds(0));
  const bool loads_ended = loads_.Stop(TimeUntil(std::max(deadline_ns, compiler_ns)));
  const bool tunings_ended = tunings_.Stop(TimeUntil(deadline_ns));
  return reserve_.Stop(TimeUntil(deadline_ns)) && tunings_ended && loads_ended;
}

ServerCounters PlanServer::counters() const {
  const auto value = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  ServerCounters counters;
  counters.hits = cache_.hits();
  counters.evictions = cache_.evictions();
  counters.misses = value(totals_->misses);
  for (size_t i = 0; i < kOriginCount; ++i) {
    counters.misses_by_origin[i] = value(totals_->misses_by_origin[i]);
  }
  for (size_t i = 0; i < kMissReasonCount; ++i) {
    counters.misses_by_reason[i] = value(totals_->misses_by_reason[i]);
  }
  counters.failures = value(totals_->failures);
  counters.stand_ins = value(totals_->stand_ins);
  counters.skipped_records = value(totals_->skipped_records);
  counters.tunings = value(totals_->tunings);
  counters.tuning_failures = value(totals_->tuning_failures);
  counters.tunings_dropped = value(totals_->tunings_dropped);
  counters.tunings_put_off = value(totals_->tunings_put_off);
  counters.recorded = value(totals_->recorded);
  counters.swaps = value(totals_->swaps);
  counters.builds_in_caller = value(totals_->builds_in_caller);
  counters.builds_in_background = value(totals_->builds_in_background);
  counters.miss_ns = value(totals_->miss_ns);
  counters.tuning_ns = value(totals_->tuning_ns);
  return counters;
}

void PlanServer::SetListener(ServerListener listener) {
  auto shared =
      listener == nullptr ? nullptr : std::make_shared<const ServerListener>(std::move(listener));
  const std::lock_guard<std::mutex> lock(listener_mutex_);
  listener_ = std::move(shared);
}

void PlanServer::Tell(ServerEvent event, const Problem& problem, const Candidate* candidate,
                      const std::string& message) const {
  std::shared_ptr<const ServerListener> listener;
  {
    const std::lock_guard<std::mutex> lock(listener_mutex_);
    listener = listener_;
  }
  if (listener != nullptr) (*listener)(event, problem, candidate, message);
}

}  // namespace attune
