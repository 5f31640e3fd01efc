#include "attune/base/guest_thread.h"

#include <cxxabi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <semaphore>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/cancellation_held.h"
#include "attune/base/process_room.h"
#include "attune/base/signals_blocked.h"
#include "attune/base/stack_room.h"
#include "attune/base/steady_time.h"

namespace attune {
namespace {

// Lifetime of a cached result.
constexpr int64_t kFindingNs = 1'000'000'000;

class ThreadAttributes {
 public:
  ThreadAttributes() { ::pthread_attr_init(&attributes_); }
  ~ThreadAttributes() { ::pthread_attr_destroy(&attributes_); }
  ThreadAttributes(const ThreadAttributes&) = delete;
  ThreadAttributes& operator=(const ThreadAttributes&) = delete;

  pthread_attr_t* get() { return &attributes_; }
  void SetStack(size_t bytes) { (void)::pthread_attr_setstacksize(&attributes_, bytes); }

 private:
  pthread_attr_t attributes_;
};

// A cached result for a number of threads. If writers race, either result is valid.
struct Finding {
  std::atomic<int> count{0};
  std::atomic<int64_t> until_ns{0};

  void Note(int found_for) {
    count.store(found_for, std::memory_order_relaxed);
    until_ns.store(SteadyNowNs() + kFindingNs, std::memory_order_relaxed);
  }
  bool Holds() const {
    const int64_t until = until_ns.load(std::memory_order_relaxed);
    return until != 0 && SteadyNowNs() < until;
  }
};
constinit Finding last_refusal;
constinit Finding last_success;

// True if starting `count` or fewer threads failed within kFindingNs.
bool WasRefusedLately(int count) {
  return last_refusal.Holds() && count >= last_refusal.count.load(std::memory_order_relaxed);
}

Status Refuse(int count, std::string_view why) {
  last_refusal.Note(count);
  return ResourceExhausted(fmt::format("cannot start {} threads: {}", count, why));
}

Status CheckRoom(int count) {
  // Even to look at the limits may be forbidden.
  if (HasNewCallFilter()) return Refuse(count, "the program filters its system calls (seccomp)");
  if (WasRefusedLately(count)) {
    return ResourceExhausted(
        fmt::format("cannot start {} threads: the limits of this process were reached less than a "
                    "second ago",
                    count));
  }
  const uint64_t room = ThreadRoom();
  if (!MayTakeThreads(static_cast<uint64_t>(count), room)) {
    return Refuse(count,
                  fmt::format("the limits of this process (pids cgroup, ulimit -u) leave {}, "
                              "and {} stay free for the program",
                              room, kThreadReserve));
  }
  if (AddressRoom() < kAddressReserveBytes) {
    return Refuse(count, "the address space of this process is limited (ulimit -v, -d or -l)");
  }
  return Status::Ok();
}

// Threads that exist at the same time until the destructor runs.
class TrialThreads {
 public:
  ~TrialThreads() {
    go_.release(static_cast<std::ptrdiff_t>(threads_.size()));
    for (const auto& thread : threads_) {
      ::pthread_join(thread->handle, nullptr);
      AwaitGone(thread->tid.load(std::memory_order_relaxed));
    }
  }

  // Starts one more thread. Returns 0 or an errno value.
  int Add(pthread_attr_t* attributes) {
    auto thread = std::make_unique<Thread>(go_);
    const int error = ::pthread_create(&thread->handle, attributes, &Run, thread.get());
    if (error == 0) threads_.push_back(std::move(thread));
    return error;
  }
  void Reserve(size_t count) { threads_.reserve(count); }

 private:
  struct Thread {
    explicit Thread(std::counting_semaphore<>& semaphore) : go(semaphore) {}
    std::counting_semaphore<>& go;
    pthread_t handle{};
    std::atomic<pid_t> tid{0};
  };

  static void* Run(void* argument) {
    auto* thread = static_cast<Thread*>(argument);
    thread->tid.store(::gettid(), std::memory_order_relaxed);
    thread->go.acquire();
    return nullptr;
  }

  // The system counts a joined thread until it is gone.
  static void AwaitGone(pid_t tid) {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && tid != 0; ++i) {
      if (::syscall(SYS_tgkill, ::getpid(), tid, 0) != 0) return;
      ::usleep(10);
    }
  }

  std::counting_semaphore<> go_{0};
  std::vector<std::unique_ptr<Thread>> threads_;
};

// Detects limits that the counts do not show: a seccomp filter, stacks too small for the
// thread-local data of the program, or a cgroup that is not mounted here.
Status TryThreads(int count) {
  const SignalsBlocked signals;
  TrialThreads threads;
  threads.Reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    // Libraries use default attributes.
    if (const int error = threads.Add(nullptr); error != 0) {
      return Refuse(count, fmt::format("the system refuses: {}", std::strerror(error)));
    }
  }
  return Status::Ok();
}

Status StackTooSmall(size_t bytes, const char* set_by) {
  return ResourceExhausted(fmt::format(
      "cannot start threads of a library: their stacks would have {} bytes ({}), less than {}",
      bytes, set_by, kCallStackBytes));
}

// Parses a size such as "512k"; the default unit is KiB. 0 if the variable is unset or invalid.
size_t StackBytesOf(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  char* end = nullptr;
  const size_t value = std::strtoull(text, &end, 10);
  while (*end == ' ') ++end;
  constexpr std::string_view kUnits = "bkmgt";
  const char unit = *end == '\0' ? 'k' : static_cast<char>(*end | 0x20);
  const size_t power = kUnits.find(unit);
  return power == std::string_view::npos ? 0 : value << (10 * power);
}

// Libraries use the default stack, which follows RLIMIT_STACK, or the size in OpenMP's variables.
Status CheckStacksOfLibraries() {
  for (const char* variable : {"OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE"}) {
    const size_t bytes = StackBytesOf(variable);
    if (bytes != 0 && bytes < kCallStackBytes) return StackTooSmall(bytes, variable);
  }
  ThreadAttributes attributes;
  size_t bytes = 0;
  const bool is_known = ::pthread_getattr_default_np(attributes.get()) == 0 &&
                        ::pthread_attr_getstacksize(attributes.get(), &bytes) == 0;
  return is_known && bytes < kCallStackBytes ? StackTooSmall(bytes, "ulimit -s") : Status::Ok();
}

// Shared by a new thread and the one that starts it, until `answered`.
struct ThreadStart {
  std::function<void()> body;
  bool is_prepared = false;
  std::binary_semaphore answered{0};
};

void* RunBody(void* argument) {
  auto* const start = static_cast<ThreadStart*>(argument);
  const std::function<void()> body = std::move(start->body);
  const bool is_prepared = PrepareForExceptions();
  start->is_prepared = is_prepared;
  start->answered.release();
  if (!is_prepared) return nullptr;
  try {
    body();
  } catch (...) {
    // Most likely out of memory. The program continues without the thread.
  }
  return nullptr;
}

}  // namespace

constinit thread_local int team_of_this_thread = 1;

bool PrepareForExceptions() {
  // glibc ends the process if it cannot allocate the memory for the next line.
  constexpr size_t kPlentyBytes = 16384;
  void* const probe = std::malloc(kPlentyBytes);
  if (probe == nullptr) return false;
  std::free(probe);
  // It is declared const, so that a call without a use would be left out.
  [[maybe_unused]] const void* volatile made = abi::__cxa_get_globals();
  return true;
}

bool CheckTeam(int threads) {
  if (!CheckThreads(threads - team_of_this_thread).ok()) return false;
  team_of_this_thread = threads;
  return true;
}

Status CheckThreads(int count) {
  if (count <= 0) return Status::Ok();
  const CancellationHeld cancellation;
  ATTUNE_RETURN_IF_ERROR(CheckStacksOfLibraries());
  ATTUNE_RETURN_IF_ERROR(CheckRoom(count));
  ATTUNE_RETURN_IF_ERROR(TryThreads(count));
  last_success.Note(count);
  return Status::Ok();
}

Status ExpectThreads(int count) {
  const bool was_possible =
      last_success.Holds() && count <= last_success.count.load(std::memory_order_relaxed);
  return was_possible ? Status::Ok() : CheckThreads(count);
}

bool GuestThread::MayGoOn() { return !HasNewCallFilter() && AddressRoom() >= kAddressReserveBytes; }

bool GuestThread::MayStart() { return !WasRefusedLately(1); }

bool GuestThread::Start(std::function<void()> body, size_t stack_bytes) try {
  const CancellationHeld cancellation;
  if (!MayStart() || !CheckRoom(1).ok()) return false;
  ThreadStart start{std::move(body)};
  ThreadAttributes attributes;
  attributes.SetStack(stack_bytes);
  const SignalsBlocked signals;
  int error = ::pthread_create(&thread_, attributes.get(), &RunBody, &start);
  // The thread-local data of the program may exceed `stack_bytes`.
  if (error == EINVAL) error = ::pthread_create(&thread_, nullptr, &RunBody, &start);
  if (error != 0) {
    (void)Refuse(1, std::strerror(error));
    return false;
  }
  // The caller waits, so it cannot lock the memory of the program before the thread is prepared.
  start.answered.acquire();
  is_joinable_ = true;
  if (start.is_prepared) return true;
  Join();
  (void)Refuse(1, "no memory is left");
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

void GuestThread::Join() {
  if (!is_joinable_) return;
  is_joinable_ = false;
  ::pthread_join(thread_, nullptr);
}

}  // namespace attune
