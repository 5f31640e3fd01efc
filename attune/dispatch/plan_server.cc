#include "attune/dispatch/plan_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"

namespace attune {
namespace {

// Problems that wait for their turn in the background; what comes beyond is tuned when it misses
// again.
constexpr size_t kMaxQueued = 1024;

}  // namespace

struct PlanServer::Totals {
  std::atomic<uint64_t> misses{0};
  std::array<std::atomic<uint64_t>, kOriginCount> misses_by_origin{};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> stand_ins{0};
  std::atomic<uint64_t> skipped_records{0};
  std::atomic<uint64_t> tunings{0};
  std::atomic<uint64_t> tuning_failures{0};
  std::atomic<uint64_t> tunings_dropped{0};
  std::atomic<uint64_t> recorded{0};
  std::atomic<uint64_t> swaps{0};
  std::atomic<uint64_t> builds_in_caller{0};
  std::atomic<uint64_t> builds_in_background{0};
  std::atomic<int64_t> miss_ns{0};
  std::atomic<int64_t> tuning_ns{0};
};

PlanServer::PlanServer(DispatchParts parts, DispatchOptions dispatch, ServerOptions options,
                       ServerHooks hooks)
    : dispatcher_(std::move(parts), std::move(dispatch)),
      options_(options),
      hooks_(std::move(hooks)),
      totals_(std::make_unique<Totals>()),
      cache_(options.max_plans),
      tunings_(kMaxQueued),
      loads_(kMaxQueued) {}

PlanServer::~PlanServer() = default;

std::shared_ptr<PlanSlot> PlanServer::FindOrAddSlot(const PlanKey& key) {
  std::shared_ptr<PlanSlot> evicted;
  std::shared_ptr<PlanSlot> slot = cache_.FindOrAdd(key, &evicted);
  const Plan* plan = evicted == nullptr ? nullptr : evicted->current();
  if (plan != nullptr) {
    Tell(ServerEvent::kEvicted, plan->problem(), nullptr,
         fmt::format("There is room for {} plans.", options_.max_plans));
  }
  return slot;
}

Plan* PlanServer::FindOrMake(const PlanKey& key, const Problem& problem,
                             uint64_t workspace_limit_bytes) {
  const std::shared_ptr<PlanSlot> slot = FindOrAddSlot(key);
  if (slot->current() == nullptr) Make(slot, problem, workspace_limit_bytes);
  return slot->current();
}

std::shared_ptr<PlanSlot> PlanServer::Pin(const PlanKey& key, const Problem& problem,
                                          uint64_t workspace_limit_bytes) {
  std::shared_ptr<PlanSlot> slot = FindOrAddSlot(key);
  slot->Pin();
  if (slot->current() == nullptr) Make(slot, problem, workspace_limit_bytes);
  return slot;
}

void PlanServer::Make(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                      uint64_t workspace_limit_bytes) {
  const std::lock_guard<std::mutex> making(slot->making_mutex());
  if (slot->current() != nullptr) return;  // Another thread was quicker.
  const int64_t begin_ns = SteadyNowNs();
  const bool inline_tuning = options_.policy == MissPolicy::kInline && hooks_.tune != nullptr;
  if (inline_tuning) {
    const auto decision =
        dispatcher_.Decide(problem, *hooks_.choices(), workspace_limit_bytes, Breadth::kEnough);
    if (decision.ok() && !decision->is_tuned && Claim(problem)) TuneNow(problem);
  }
  const Haste haste = options_.deterministic ? Haste::kPatient : Haste::kAtOnce;
  auto serving = dispatcher_.Serve(problem, *hooks_.choices(), workspace_limit_bytes, haste);
  if (!serving.ok()) {
    totals_->failures.fetch_add(1, std::memory_order_relaxed);
    Tell(ServerEvent::kMiss, problem, nullptr, serving.error().message());
    slot->Publish(std::make_unique<Plan>(problem, workspace_limit_bytes, serving.error()));
  } else {
    slot->Publish(std::move(serving->plan));
    Note(*slot, problem, *serving);
    Later(slot, problem, workspace_limit_bytes, *serving);
  }
  totals_->misses.fetch_add(1, std::memory_order_relaxed);
  totals_->miss_ns.fetch_add(SteadyNowNs() - begin_ns, std::memory_order_relaxed);
}

void PlanServer::Note(const PlanSlot& slot, const Problem& problem, const Serving& serving) {
  const Option& option = slot.current()->option();
  totals_->misses_by_origin[static_cast<size_t>(option.origin)].fetch_add(
      1, std::memory_order_relaxed);
  totals_->skipped_records.fetch_add(serving.skipped.size(), std::memory_order_relaxed);
  if (serving.better.has_value()) totals_->stand_ins.fetch_add(1, std::memory_order_relaxed);
  if (serving.has_built) totals_->builds_in_caller.fetch_add(1, std::memory_order_relaxed);
  for (const std::string& reason : serving.skipped) {
    Tell(ServerEvent::kSkipped, problem, nullptr, reason);
  }
  Tell(ServerEvent::kMiss, problem, &option.candidate, option.because);
}

void PlanServer::Later(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                       uint64_t limit, const Serving& serving) {
  if (options_.deterministic) return;
  if (serving.better.has_value()) {
    loads_.Push([this, slot, problem, limit, option = *serving.better] {
      Swap(*slot, problem, option, limit);
    });
  }
  if (serving.is_tuned) return;
  if (options_.policy == MissPolicy::kDeferred && hooks_.tune != nullptr) TuneLater(problem);
  if (options_.policy == MissPolicy::kRecord && hooks_.record != nullptr) RecordLater(problem);
}

void PlanServer::Swap(PlanSlot& slot, const Problem& problem, const Option& option,
                      uint64_t limit) {
  bool has_built = false;
  auto plan = dispatcher_.Load(problem, option, limit, &has_built);
  if (has_built) totals_->builds_in_background.fetch_add(1, std::memory_order_relaxed);
  if (!plan.ok()) {
    Tell(ServerEvent::kSkipped, problem, &option.candidate, plan.error().message());
    totals_->skipped_records.fetch_add(1, std::memory_order_relaxed);
    // A record that fits no more is as good as none.
    if (options_.policy == MissPolicy::kDeferred && hooks_.tune != nullptr) TuneLater(problem);
    return;
  }
  if (!slot.Publish(std::move(*plan))) {
    cache_.Remove(slot);
    return;
  }
  totals_->swaps.fetch_add(1, std::memory_order_relaxed);
  Tell(ServerEvent::kSwap, problem, &option.candidate, option.because);
}

bool PlanServer::Claim(const Problem& problem) {
  const std::lock_guard<std::mutex> lock(claimed_mutex_);
  // Beyond any working set; a stream of new shapes must not grow it for ever.
  if (claimed_.size() > 16 * kMaxQueued) claimed_.clear();
  return claimed_.insert(KeyOf(problem)).second;
}

void PlanServer::Forget(const Problem& problem) {
  const std::lock_guard<std::mutex> lock(claimed_mutex_);
  claimed_.erase(KeyOf(problem));
}

bool PlanServer::TuneNow(const Problem& problem) {
  const int64_t begin_ns = SteadyNowNs();
  const Status tuned = hooks_.tune(problem);
  totals_->tuning_ns.fetch_add(SteadyNowNs() - begin_ns, std::memory_order_relaxed);
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
  if (!Claim(problem)) return;
  const bool queued = tunings_.Push([this, problem] {
    if (!TuneNow(problem)) return;
    for (const auto& slot : cache_.Slots()) {
      const Plan* plan = slot->current();
      if (plan != nullptr && plan->problem() == problem) RefreshSlot(*slot);
    }
  });
  if (queued) return;
  Forget(problem);
  totals_->tunings_dropped.fetch_add(1, std::memory_order_relaxed);
}

void PlanServer::RecordLater(const Problem& problem) {
  if (!Claim(problem)) return;
  const bool queued = tunings_.Push([this, problem] {
    const Status recorded = hooks_.record(problem);
    if (recorded.ok()) {
      totals_->recorded.fetch_add(1, std::memory_order_relaxed);
    } else {
      Tell(ServerEvent::kTuningFailed, problem, nullptr, recorded.message());
    }
  });
  if (!queued) Forget(problem);
}

void PlanServer::Refresh() {
  if (options_.deterministic) return;
  loads_.Push([this] {
    for (const auto& slot : cache_.Slots()) RefreshSlot(*slot);
  });
}

void PlanServer::RefreshSlot(PlanSlot& slot) {
  const Plan* plan = slot.current();
  if (plan == nullptr) return;
  const uint64_t limit = plan->workspace_limit_bytes();
  const auto decision =
      dispatcher_.Decide(plan->problem(), *hooks_.choices(), limit, Breadth::kEnough);
  if (!decision.ok()) return;
  const Option& preferred = decision->options.front();
  const bool same = plan->failure().ok() && plan->option().candidate == preferred.candidate &&
                    plan->option().origin == preferred.origin;
  if (!same) Swap(slot, plan->problem(), preferred, limit);
}

bool PlanServer::WaitIdle(std::chrono::nanoseconds timeout) {
  const int64_t deadline_ns = SteadyNowNs() + timeout.count();
  const auto left = [&] {
    return std::chrono::nanoseconds(std::max<int64_t>(deadline_ns - SteadyNowNs(), 0));
  };
  // A tuning ends in loads of its own thread, a load starts nothing.
  return tunings_.WaitIdle(left()) && loads_.WaitIdle(left());
}

std::optional<std::string> PlanServer::WouldStall(const PlanKey& key, const Problem& problem,
                                                  uint64_t workspace_limit_bytes) const {
  if (cache_.Contains(key)) return std::nullopt;
  const auto decision =
      dispatcher_.Decide(problem, *hooks_.choices(), workspace_limit_bytes, Breadth::kEnough);
  if (!decision.ok()) return std::nullopt;
  if (options_.policy == MissPolicy::kInline && hooks_.tune != nullptr && !decision->is_tuned) {
    return "It is not tuned, and the policy is to tune it in the calling thread.";
  }
  const auto is_ready = [&](const Option& option) { return dispatcher_.IsReady(problem, option); };
  const auto& options = decision->options;
  if (options_.deterministic && !is_ready(options.front())) {
    return fmt::format("{} has to be created, and a deterministic run time waits for it.",
                       Text(options.front().candidate));
  }
  if (std::none_of(options.begin(), options.end(), is_ready)) {
    return fmt::format("Nothing that serves it is ready; {} has to be created.",
                       Text(options.front().candidate));
  }
  return std::nullopt;
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
  counters.failures = value(totals_->failures);
  counters.stand_ins = value(totals_->stand_ins);
  counters.skipped_records = value(totals_->skipped_records);
  counters.tunings = value(totals_->tunings);
  counters.tuning_failures = value(totals_->tuning_failures);
  counters.tunings_dropped = value(totals_->tunings_dropped);
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
