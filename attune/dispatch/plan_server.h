// Serves plans by key: from its cache without a lock, on a miss by the dispatcher, and better ones
// as soon as the background has them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attune/base/program_threads.h"
#include "attune/base/status.h"
#include "attune/base/steady_time.h"
#include "attune/device/caller_handles.h"
#include "attune/device/recording_queues.h"
#include "attune/dispatch/counters.h"
#include "attune/dispatch/dispatcher.h"
#include "attune/dispatch/miss_decision.h"
#include "attune/dispatch/plan_cache.h"
#include "attune/dispatch/policy.h"
#include "attune/dispatch/queue_memory.h"
#include "attune/dispatch/tuning_claims.h"
#include "attune/dispatch/work_queue.h"
#include "attune/dispatch/workspace_reserve.h"
#include "attune/trial/choice_source.h"

namespace attune {

struct ServerOptions {
  MissPolicy policy = MissPolicy::kDeferred;
  size_t max_plans = 4096;
  // The choice for a key never changes: a miss waits for what is preferred, and nothing is swapped.
  bool deterministic = false;
  // Whether the next larger workspace is made ready in the background, at once.
  WorkspaceReserve::Spares spare_workspaces = WorkspaceReserve::Spares::kNone;
  // The background begins nothing before there was no miss for so long, because libraries that
  // compute on every core wait for the one that it takes; but it waits no longer than that.
  std::chrono::nanoseconds calm = std::chrono::milliseconds(50);
  std::chrono::nanoseconds longest_hold = std::chrono::seconds(5);
  // What calm, holds and the times of counters are read from: nanoseconds since a fixed moment.
  // Called from any thread.
  std::function<int64_t()> now_ns = SteadyNowNs;
  // The number of threads that the program allows now. Starts at DispatchOptions::max_threads.
  ThreadLimit thread_limit;
};

// What the server asks of whoever owns it. Each may be null but `choices`.
struct ServerHooks {
  // What is known now; called often, from any thread.
  std::function<std::shared_ptr<const ChoiceSource>()> choices;
  // Hears of a problem that a caller missed and that something serves or the caller is left to
  // compute, once for each miss, in the caller's thread; whether it should be tuned, if the policy
  // tunes. Null: unless it is tuned.
  std::function<bool(const Problem&, bool is_tuned)> missed;
  // Tunes a problem and returns when its records can be seen in `choices`. Called by one background
  // thread, or under kInline by the thread that missed.
  std::function<Status(const Problem&)> tune;
  // Records a problem for later tuning; true if it is new. The thread that missed calls it, so it
  // must be quick.
  std::function<Result<bool>(const Problem&)> record;
  // Hears that a plan was made, in the thread that made it.
  std::function<void()> made;
};

// Thread-safe.
class PlanServer {
 public:
  PlanServer(DispatchParts parts, DispatchOptions dispatch, ServerOptions options,
             ServerHooks hooks);
  // REQUIRES: no call is in progress and every pinned slot was given back.
  ~PlanServer();

  // The plan of `key` if it is at hand; else null. Valid until this thread's next call.
  Plan* Find(const PlanKey& key) {
    const PlanSlot* slot = cache_.Find(key);
    return slot == nullptr ? nullptr : slot->current();
  }
  // The same for the key that this thread found last; null if `parts` are of another one.
  Plan* FindAgain(const KeyParts& parts) {
    const PlanSlot* slot = cache_.FindAgain(parts);
    return slot == nullptr ? nullptr : slot->current();
  }

  // The plan of `key`, which stands for `problem` under the limit; made if it must be. Valid as
  // Find's. The status of the plan says if nothing can serve the problem. `queue` is that of the
  // call (null: the device's own): while it is captured nothing is tuned, neither now nor later,
  // and the next call outside of a capture misses again, unless the run time is deterministic.
  Plan* FindOrMake(const PlanKey& key, const Problem& problem, uint64_t workspace_limit_bytes,
                   void* queue = nullptr);
  // The plan for calls that are captured, where what serves others cannot be.
  Plan* FindOrMakeCaptured(const Problem& problem, uint64_t workspace_limit_bytes);

  // The plan for a call that cannot get the resources of its usual plan. It computes on one thread,
  // within the workspace limit, and prefers the forced solver if that can run. Null if the caller
  // computes instead, and on devices other than the host.
  Plan* FindOrMakeFrugal(const Problem& problem, uint64_t workspace_limit_bytes);

  // False if the program now allows fewer threads than the plan uses.
  bool Allows(const Plan& plan) const { return options_.thread_limit.Allows(plan.threads()); }

  // The same as a slot that is never evicted; to be given back with Unpin.
  std::shared_ptr<PlanSlot> Pin(const PlanKey& key, const Problem& problem,
                                uint64_t workspace_limit_bytes);
  static void Unpin(PlanSlot& slot) { slot.Unpin(); }

  // For calls that find ExitGate closed.
  static Status ProcessExits();

  // Memory of this thread, at least `size_bytes`, kept for its next call.
  Result<BufferView> Workspace(size_t size_bytes) { return cache_.Workspace(reserve_, size_bytes); }
  // For calls on queues of the caller.
  Result<QueueState> StateOf(void* queue) const {
    return dispatcher_.parts().device->StateOf(queue);
  }
  // StateOf(queue).recording, without asking for the id where the device can leave it out.
  Result<uint64_t> RecordingOf(void* queue) const {
    if (recording_queues_ != nullptr) return recording_queues_->RecordingOf(queue);
    ATTUNE_ASSIGN_OR_RETURN(const QueueState state, StateOf(queue));
    return state.recording;
  }
  QueueMemory& queue_memory() { return queue_memory_; }
  // Checks the buffers of calls; null where operands are addresses.
  const CallerHandles* caller_handles() const { return caller_handles_; }

  // Looks at every plan again, in the background, because `choices` has changed.
  void Refresh();
  // Whether nothing is left to be done in the background within `timeout`.
  bool WaitIdle(std::chrono::nanoseconds timeout);
  // Stops background work; later calls use only what is ready. Later calls of other threads that
  // need a new plan are refused or served frugally. Drops work that has not begun. Returns true if
  // all of it ended within `timeout`; the rest continues. Waits for a compiler that runs in this
  // process until kCompilerPatience after the first call.
  bool StopBackground(std::chrono::nanoseconds timeout);
  static constexpr std::chrono::nanoseconds kCompilerPatience{5'000'000'000};

  // Whether a call for `problem` would wait for a build, a tuning or a slow creation, and why.
  // kResourceExhausted names the least that is needed if nothing fits the limit.
  Result<std::optional<std::string>> WouldStall(const Problem& problem,
                                                uint64_t workspace_limit_bytes) const;

  ServerCounters counters() const;
  void SetListener(ServerListener listener);
  const Dispatcher& dispatcher() const { return dispatcher_; }
  const ServerOptions& options() const { return options_; }
  std::shared_ptr<const ChoiceSource> choices() const { return hooks_.choices(); }
  // What a call that misses would get now, of a decision by Breadth::kEverything.
  Expectation Expect(const Problem& problem, const Decision& decision) const {
    return dispatcher_.Expect(problem, decision, HasteOf(rules_));
  }

 private:
  struct Totals;
  // A look-up of a problem, with the choices that it borrows.
  struct Looked {
    std::shared_ptr<const ChoiceSource> choices;
    Ranking ranking;
  };

  // For how long the background should leave the cores to the callers.
  std::chrono::nanoseconds HoldOf(int64_t pushed_ns) const;
  bool HasPlanFor(const Problem& problem, uint64_t workspace_limit_bytes) const;
  void TellEvicted(const PlanCache::Slots& evicted) const;
  void Make(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
            uint64_t workspace_limit_bytes, Launches launches);
  void MakeFirst(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
                 uint64_t workspace_limit_bytes, Launches launches);
  Plan* FindOrMake(const PlanKey& key, const Problem& problem, uint64_t workspace_limit_bytes,
                   Launches launches);
  // The plan of a key from KeyOfApart(), made by `make` if it is not there.
  template <class Maker>
  Plan* FindOrMakeApart(const PlanKey& key, const Maker& make);
  // Ok if a call may get a new plan. kResourceExhausted if the program has limited itself since the
  // run time was created.
  Status WhyNotNow() const;
  // True if another thread has stopped the background.
  bool IsLeftBehind() const;
  // The plan for a call that WhyNotNow() refuses: a frugal one, or one that fails with `why` if the
  // caller computes instead.
  Plan* FindOrMakeLimited(const Problem& problem, uint64_t workspace_limit_bytes,
                          const Status& why);
  Launches LaunchesOn(void* queue) const;
  Looked Look(const Problem& problem, uint64_t workspace_limit_bytes, Launches launches) const;
  // The serving of dispatcher_, or of a substitute if process limits leave nothing else. Looks the
  // problem up unless TuneFirst() has.
  Result<Serving> Serve(const Problem& problem, uint64_t workspace_limit_bytes, Launches launches,
                        std::optional<Looked>& looked);
  Result<Serving> ServeFrugally(const Problem& problem, uint64_t workspace_limit_bytes) const;
  // Whether some thread has made a plan that may become part of a graph.
  bool HasCapturable(const PlanKey& key) const;
  // Tells of the miss; whether the problem should be tuned.
  bool TellMissed(const Problem& problem, bool is_tuned) const;
  // False if it was told of no miss, because nothing can serve the problem. `looked` is empty
  // afterwards if the records of the problem may have changed.
  bool TuneFirst(const Problem& problem, uint64_t workspace_limit_bytes,
                 std::optional<Looked>& looked);
  // Counts a miss and tells the listener. `serving` is null if there was no attempt to serve.
  void Report(const Problem& problem, const Plan& plan, const Serving* serving,
              const MissDecision& decision);
  // Carries out what follows a miss. `slot` is null if nothing improves its plan.
  void Follow(const std::shared_ptr<PlanSlot>& slot, const Problem& problem,
              const MissDecision& decision);
  bool TuneNow(const Problem& problem);
  void TuneLater(const Problem& problem);
  void Record(const Problem& problem);
  void ImproveLater(const std::shared_ptr<PlanSlot>& slot);
  void RefreshPending();
  // Makes the preferred option of a plan current; false if it is already.
  bool RefreshSlot(PlanSlot& slot);
  // Ok if the option serves from now on.
  Status Swap(PlanSlot& slot, const Plan& plan, const Option& option);
  void Tell(ServerEvent event, const Problem& problem, const Candidate* candidate,
            const std::string& message) const;

  const Dispatcher dispatcher_;
  // Single-threaded dispatchers, the one without a forced choice last. Empty if the caller computes
  // instead.
  const std::vector<std::unique_ptr<const Dispatcher>> substitutes_;
  const ServerOptions options_;
  const ServerHooks hooks_;
  const MissRules rules_;
  const std::unique_ptr<Totals> totals_;
  mutable std::mutex listener_mutex_;  // Guards listener_.
  std::shared_ptr<const ServerListener> listener_;
  TuningClaims claims_;
  std::atomic<bool> is_refresh_pending_{false};
  std::atomic<int64_t> last_miss_ns_{0};
  std::atomic<int> compilers_at_work_{0};           // In the background.
  std::atomic<int64_t> stop_ns_{0};                 // First StopBackground(); 0: not yet.
  std::atomic<std::thread::id> stopping_thread_{};  // The last to call StopBackground().
  PlanCache cache_;
  QueueMemory queue_memory_;
  RecordingQueues* const recording_queues_;  // The device's; null if it has none.
  const CallerHandles* const caller_handles_;
  WorkspaceReserve reserve_;
  // Last, so that their threads end before what they use goes.
  WorkQueue tunings_;
  WorkQueue loads_;
};

}  // namespace attune
