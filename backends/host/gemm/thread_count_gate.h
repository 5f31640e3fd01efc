// Lets calls into a library overlap. Its number of threads is one setting for the whole process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "attune/base/fork_gate.h"
#include "attune/base/program_threads.h"

namespace attune::host {

// Calls that want the same number run at the same time; one that wants another waits until they are
// done. A fork() waits until all calls are done and keeps new ones out until it is over: the child
// could not use a library that was in the middle of a call, and OpenBLAS ends its threads before a
// fork(). Thread-safe; a call that wants the present setting takes no lock.
class ThreadCountGate {
 public:
  // `set` changes the library's setting and `get` reads it; both are called with the gate closed to
  // everyone else. Without `get` the setting of the last call stays. With `get`, the library has
  // other users in this process: when the last call leaves, the gate restores their setting, unless
  // they have changed it meanwhile. Until then `replaced_thread_setting` holds it.
  using SetFunction = std::function<void(int threads)>;
  using GetFunction = std::function<int()>;
  explicit ThreadCountGate(SetFunction set, GetFunction get = nullptr)
      : set_(std::move(set)), get_(std::move(get)) {}

  // While it lives, the library has the setting that it was made with.
  class Pass {
   public:
    Pass(ThreadCountGate& gate, int threads) : gate_(gate) {
      gate_.Enter(threads);
      ++passes_of_this_thread;
    }
    ~Pass() {
      --passes_of_this_thread;
      gate_.Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ThreadCountGate& gate_;
  };

 private:
  // Passes that live, of all gates. In the static TLS block, so that access costs no call.
  [[gnu::tls_model(
      "initial-exec")]] static inline constinit thread_local int passes_of_this_thread = 0;

  // The setting in the upper half, how many are inside in the lower one.
  using State = uint64_t;
  static constexpr uint32_t kUnset = 0;
  // Matches no wish: a call is changing the setting.
  static constexpr uint32_t kClosed = UINT32_MAX;

  static constexpr State StateOf(uint32_t setting, uint32_t inside) {
    return (State{setting} << 32) | inside;
  }
  static constexpr uint32_t SettingOf(State state) { return static_cast<uint32_t>(state >> 32); }
  static constexpr uint32_t InsideOf(State state) { return static_cast<uint32_t>(state); }

  void Enter(int threads) {
    const auto wanted = static_cast<uint32_t>(threads);
    if (TryJoin(wanted)) {
      // Either this sees that a fork() has begun, or the fork() sees this call inside.
      if (!is_forking_.load()) return;
      Leave();
    }
    EnterSlowly(wanted);
  }

  void Leave() {
    State state = state_.load();
    while (get_ != nullptr && InsideOf(state) == 1 && SettingOf(state) != outside_) {
      // The last call out restores the setting of the other users.
      if (!state_.compare_exchange_weak(state, StateOf(kClosed, 1))) continue;
      const auto now = static_cast<uint32_t>(get_());
      // A setting that the program has made meanwhile stays.
      const uint32_t left = now == ours_ ? outside_.load() : now;
      if (left != now) set_(static_cast<int>(left));
      replaced_thread_setting.store(0);
      state_.store(StateOf(left, 0));
      return WakeWaiting();
    }
    if (InsideOf(state_.fetch_sub(1)) == 1) WakeWaiting();
  }

  // Leaves the mutex locked, so that the child finds it as it is.
  void BeforeFork() {
    std::unique_lock<std::mutex> lock(mutex_);
    is_forking_.store(true);
    // A signal handler may fork in the middle of a call.
    if (passes_of_this_thread == 0) {
      waiting_.fetch_add(1);
      changed_.wait(lock, [&] { return InsideOf(state_.load()) == 0; });
      waiting_.fetch_sub(1);
    }
    (void)lock.release();
  }

  void AfterFork(bool is_child) {
    is_forking_.store(false);
    if (is_child) {
      // The threads that waited are the parent's.
      waiting_.store(0);
      std::construct_at(&changed_);
    } else {
      changed_.notify_all();
    }
    mutex_.unlock();
  }

  bool TryJoin(uint32_t wanted) {
    State state = state_.load();
    while (SettingOf(state) == wanted) {
      if (state_.compare_exchange_weak(state, state + 1)) return true;
    }
    return false;
  }

  bool TryChange(uint32_t wanted) {
    State state = state_.load();
    if (InsideOf(state) != 0 || !state_.compare_exchange_strong(state, StateOf(kClosed, 1))) {
      return false;
    }
    if (get_ != nullptr) {
      outside_ = static_cast<uint32_t>(get_());
      if (outside_ != wanted) replaced_thread_setting.store(static_cast<int>(outside_));
    }
    // Setting the same number again can restart threads that the library lost to a fork().
    if (get_ == nullptr || outside_ != wanted) set_(static_cast<int>(wanted));
    // A library may set less than it was asked for.
    if (get_ != nullptr) ours_ = static_cast<uint32_t>(get_());
    state_.store(StateOf(wanted, 1));
    return true;
  }

  void EnterSlowly(uint32_t wanted) {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.fetch_add(1);
    changed_.wait(lock,
                  [&] { return !is_forking_.load() && (TryJoin(wanted) || TryChange(wanted)); });
    waiting_.fetch_sub(1);
    // Others may want the same.
    changed_.notify_all();
  }

  void WakeWaiting() {
    if (waiting_.load() == 0) return;
    // A call that has announced itself but does not wait yet holds the mutex.
    const std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  }

  const SetFunction set_;
  const GetFunction get_;
  std::atomic<State> state_{StateOf(kUnset, 0)};
  // Written with the gate closed: the setting of others, and the one that set_() has caused.
  std::atomic<uint32_t> outside_{kUnset};
  std::atomic<uint32_t> ours_{kUnset};
  std::atomic<int> waiting_{0};
  std::atomic<bool> is_forking_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  const ForkWatcher fork_watcher_{[this] { BeforeFork(); },
                                  [this](bool is_child) { AfterFork(is_child); }};
};

}  // namespace attune::host
