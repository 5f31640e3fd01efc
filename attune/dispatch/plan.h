// What serves one shape, and the place where it stands while better ones replace it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/caller_handles.h"
#include "attune/device/device.h"
#include "attune/dispatch/plan_key.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

// On which evidence a candidate serves, best first.
enum class Origin {
  kForced,      // ATTUNE_FORCE says so, or a person's line of a results file.
  kMeasured,    // A valid record of this target.
  kCompatible,  // A valid record of a compatible target.
  kNearest,     // The choice of the nearest tuned problem.
  kPredicted,   // A model's answer.
  kDefault,     // The first solver that applies.
};
inline constexpr int kOriginCount = 6;
std::string_view Name(Origin origin);  // "forced", "measured", ...

// What becomes of the launches of a call.
enum class Launches {
  kExecuted,
  kCaptured,  // They become part of a graph, so what cannot be captured is left out.
};

// One way to serve a problem.
struct Option {
  Candidate candidate;
  Origin origin = Origin::kDefault;
  std::string because;           // One sentence.
  double median_ns = 0;          // Measured, of this problem; 0: unknown.
  double expected_ns = 0;        // Measured, of a neighbour, or predicted; 0: unknown.
  int64_t workspace_bytes = -1;  // -1: known when it is loaded.
  int64_t load_ns = -1;          // What creating it took where it was measured; -1: unknown.
  // A line of a results file forces it: where it cannot serve, others do, as after a bad record.
  bool is_override = false;
  // Where it was measured, a launch of it could not become part of a graph.
  bool fails_capture = false;
  // Solver::KeepsSpecialValues for this problem.
  bool keeps_special_values = false;
  // Its code is loaded for another problem (CodeKeeper::HasLoaded).
  bool is_loaded = false;
  // SolverTraits::fails_at_exit, or that of the device.
  bool fails_at_exit = false;
  int threads = 1;  // Of the processor.

  // Nothing else may serve.
  bool fails_closed() const { return origin == Origin::kForced && !is_override; }

  double best_guess_ns() const { return median_ns > 0 ? median_ns : expected_ns; }
};

// A candidate made ready for one problem, or the reason why nothing can serve it. Immutable, and
// owned by shared pointers, because graphs that were recorded of it need it longer than its slot.
class Plan : public std::enable_shared_from_this<Plan> {
 public:
  Plan(Problem problem, uint64_t workspace_limit_bytes, Option option,
       std::unique_ptr<Executable> executable);
  Plan(Problem problem, uint64_t workspace_limit_bytes, Status failure);

  const Problem& problem() const { return problem_; }
  bool has_bias() const { return has_bias_; }  // True if bias is one of its operands.
  // The use of each operand, in the order of Operands(problem).
  std::span<const BufferUse> operand_uses() const { return operand_uses_; }
  // Every operand starts at a multiple of it.
  uint64_t alignment_bytes() const { return alignment_bytes_; }
  const Option& option() const { return option_; }  // REQUIRES: failure().ok().
  const Status& failure() const { return failure_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  int threads() const { return threads_; }
  uint64_t workspace_limit_bytes() const { return workspace_limit_bytes_; }
  // Whether a call on a queue has to know if that is captured: the graph needs this plan or its
  // workspace, or another plan.
  bool asks_queues(bool has_workspace) const {
    return is_needed_by_graphs_ || (workspace_bytes_ > 0 && !has_workspace);
  }

  // True if each call needs a pass of ExitGate.
  bool fails_at_exit() const { return option_.fails_at_exit; }

  // Thread-safe. Calls wait for each other only if the executable is one for a single thread.
  // REQUIRES: the caller has an open ExitGate::Pass if fails_at_exit().
  Status Run(const Arguments& arguments) {
    if (is_concurrent_) return executable_->Run(arguments);
    return RunAlone(arguments);
  }

 private:
  Status RunAlone(const Arguments& arguments);

  const Problem problem_;
  const uint64_t workspace_limit_bytes_;
  const Option option_;
  const Status failure_;
  const std::unique_ptr<Executable> executable_;  // Null if failure_ is one.
  const size_t workspace_bytes_ = 0;
  const std::vector<BufferUse> operand_uses_;
  const uint64_t alignment_bytes_ = 1;
  const int threads_ = 1;
  const bool has_bias_;
  const bool is_concurrent_ = false;
  const bool is_needed_by_graphs_ = true;  // Or cannot become part of one.
  std::mutex run_mutex_;                   // Held while executable_ runs, if it is not concurrent.
};

// Where the plan of a key stands. A reader takes the current plan without a lock; plans that were
// replaced live as long as the slot, because a reader may still be running one.
class alignas(64) PlanSlot {
 public:
  // As often may a plan be replaced; then the slot is retired and the next call makes a new one.
  static constexpr size_t kMaxVersions = 16;

  PlanSlot(const PlanKey& key, uint64_t hash) : hash_(hash), key_(key) {}

  const PlanKey& key() const { return key_; }
  uint64_t hash() const { return hash_; }

  // Null until the first Publish.
  Plan* current() const { return current_.load(std::memory_order_acquire); }
  // Makes `plan` the current one. False if the slot had its kMaxVersions; then nothing changes.
  bool Publish(std::shared_ptr<Plan> plan);

  // A retired slot is served no more; whoever still holds it may finish its calls.
  bool is_retired() const { return retired_.load(std::memory_order_acquire); }
  void Retire() { retired_.store(true, std::memory_order_release); }

  // Held while somebody looks for the first plan or for a better one. Only who has no plan at all
  // waits for it.
  std::mutex& making_mutex() { return making_mutex_; }

  // For eviction: whether it was used since the last question.
  void Touch() {
    if (!touched_.load(std::memory_order_relaxed)) touched_.store(true, std::memory_order_relaxed);
  }
  bool TakeTouched() {
    return touched_.load(std::memory_order_relaxed) &&
           touched_.exchange(false, std::memory_order_relaxed);
  }
  // A pinned slot is never evicted.
  void Pin() { pins_.fetch_add(1, std::memory_order_relaxed); }
  void Unpin() { pins_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_pinned() const { return pins_.load(std::memory_order_relaxed) > 0; }

 private:
  // What a hit reads stands together.
  std::atomic<Plan*> current_{nullptr};
  const uint64_t hash_;
  std::atomic<int> pins_{0};
  std::atomic<bool> retired_{false};
  std::atomic<bool> touched_{false};
  const PlanKey key_;
  std::mutex making_mutex_;
  std::mutex versions_mutex_;  // Guards versions_.
  std::vector<std::shared_ptr<Plan>> versions_;
};

}  // namespace attune
