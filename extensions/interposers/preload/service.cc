#include "extensions/interposers/preload/service.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "attune/base/process_room.h"
#include "attune/base/stack_room.h"
#include "extensions/interposers/preload/locked.h"
#include "extensions/interposers/preload/message.h"
#include "extensions/interposers/preload/switches.h"

namespace attune::interposer {
namespace {

constexpr size_t kMaxReason = 768;

// For the time in which this thread is in the run time.
class Computing {
 public:
  explicit Computing(bool& flag) : flag_(flag) { flag_ = true; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  ~Computing() { flag_ = false; }

 private:
  bool& flag_;
};

void TakeMessage(void*, const char* line) { SayLine(line); }

bool HasPolicy() {
  const char* policy = ::secure_getenv("ATTUNE_POLICY");
  return policy != nullptr && *policy != '\0';
}

}  // namespace

constinit Service the_service;
constinit thread_local bool Service::is_computing_ = false;

bool Service::Begin(Preparation prepare) {
  // A run time that is being created in this very thread calls from here, too.
  if (is_computing_) {
    tally_.Note(Outcome::kReentrant);
    return false;
  }
  switch (StartOnAmpleStack(prepare)) {
    case State::kServing:
      return true;
    case State::kOff:
      tally_.Note(Outcome::kOff);
      return false;
    case State::kForked:
      tally_.Note(Outcome::kForked);
      return false;
    case State::kLimited:
      tally_.Note(Outcome::kLimited);
      return false;
    case State::kClosed:
      SayLateCall();
      [[fallthrough]];
    case State::kUntouched:
    case State::kFailed:
      tally_.Note(Outcome::kFailed);
      return false;
  }
  return false;
}

Service::State Service::Start(Preparation prepare) {
  State state = state_.load(std::memory_order_acquire);
  if (state != State::kUntouched) return state;
  // Before the lock: a child must never find it locked by a thread that it does not have.
  if (!watches_forks_.exchange(true)) ::pthread_atfork(nullptr, nullptr, AfterForkInChild);
  const Locked lock(starting_);
  state = state_.load(std::memory_order_acquire);
  if (state != State::kUntouched) return state;
  is_starting_.store(true);
  if (IsSet(ATTUNE_INTERPOSER_VARIABLE "_STATS")) tally_.StartCounting();
  const Mode mode = ReadMode();
  is_recording_ = mode == Mode::kRecord;
  state = mode == Mode::kOff ? State::kOff : Open(prepare);
  state_.store(state, std::memory_order_release);
  is_starting_.store(false);
  return state;
}

// Leaves scarce resources to the program. Without address space its own BLAS can hang, and the
// kernel kills a process that exceeds the memory of its cgroup.
Service::State Service::Open(Preparation prepare) {
  if (const char* scarce = ScarceForLoading()) {
    char why[kMaxReason];
    std::snprintf(why, sizeof why, "too little is left of %s", scarce);
    SayLimit(why);
    if (is_recording_) Say("Nothing is recorded: %s.", why);
    return State::kLimited;
  }
  if (OpenLibrary() && prepare(*this)) return State::kServing;
  return limit_was_met_ ? State::kLimited : State::kFailed;
}

void Service::SayLateCall() {
  if (!is_recording_ || late_call_was_said_.exchange(true)) return;
  Say("Calls in exit handlers and destructors that run after attune has ended are not recorded. "
      "This message appears once.");
}

void Service::NoteShortStack() {
  tally_.Note(Outcome::kLimited);
  SayShortStack(is_recording_);
}

void Service::SayShortStack(bool is_recording) {
  SayLimit("too little is left of the stack of a thread");
  if (!is_recording || short_stack_was_said_.load(std::memory_order_relaxed)) return;
  if (short_stack_was_said_.exchange(true)) return;
  // Without /proc the stack is unknown, and nothing of attune works.
  if (::access("/proc/self/maps", R_OK) != 0) {
    return Say("Nothing is recorded: /proc is not mounted.");
  }
  Say("Problems of threads with less than %zu KiB of stack are not recorded. Increase the stack. "
      "This message appears once.",
      kCallStackBytes >> 10);
}

Service::State Service::StartOnAmpleStack(Preparation prepare) {
  State state = state_.load(std::memory_order_acquire);
  if (state != State::kUntouched) return state;
  // For good, because a filter stays. Says nothing, because writing may be forbidden.
  if (HasNewCallFilter() && state_.compare_exchange_strong(state, State::kLimited)) {
    if (IsSet(ATTUNE_INTERPOSER_VARIABLE "_STATS")) tally_.StartCounting();
    return State::kLimited;
  }
  if (HasAmpleStack()) return Start(prepare);
  // This only reads the switches. A later call with more stack starts the service.
  if (IsSet(ATTUNE_INTERPOSER_VARIABLE "_STATS")) tally_.StartCounting();
  const Mode mode = ReadMode();
  if (mode == Mode::kOff) return State::kOff;
  SayShortStack(mode == Mode::kRecord);
  return State::kLimited;
}

void Service::SayLimit(const char* why) {
  if (limit_was_said_.load(std::memory_order_relaxed) || limit_was_said_.exchange(true)) return;
  const char* forced = ForcedChoice();
  if (forced == nullptr) return;
  Say("ATTUNE_FORCE is '%s', but the program's own " ATTUNE_INTERPOSER_LIBRARY
      " computes under the limits of this process: %s. This message appears once.",
      forced, why);
}

bool Service::OpenLibrary() {
  const Computing computing(is_computing_);
  char reason[kMaxReason];
  const RuntimeLibrary::Outcome outcome = library_.Open(reason, sizeof reason);
  if (outcome == RuntimeLibrary::Outcome::kOpen) return true;
  if (is_recording_ && ForcedChoice() == nullptr) {
    Say("Nothing is recorded: %s", reason);
    return false;
  }
  // No part of attune works in a process without /proc, so this needs no message.
  const bool is_quiet = outcome == RuntimeLibrary::Outcome::kNoPath && ForcedChoice() == nullptr;
  if (!is_quiet) SayFailure(reason);
  return false;
}

attune_runtime* Service::Create(attune_options options) {
  const Computing computing(is_computing_);
  options.struct_size = sizeof options;
  options.message = TakeMessage;
  options.deterministic = IsSet("ATTUNE_DETERMINISTIC");
  options.yields = 1;
  if (HasPolicy()) {
    options.policy = ATTUNE_POLICY_DEFAULT;
  } else if (options.deterministic != 0) {
    // Tuning in the background would let the next process choose differently.
    options.policy = ATTUNE_NEVER;
  }
  if (is_recording_) {
    options.policy = ATTUNE_RECORD;
    options.record_tag = ::secure_getenv("ATTUNE_RECORD_TAG");
  }
  const int place = runtime_count_.fetch_add(1);
  if (place >= kMaxRuntimes) return nullptr;
  attune_runtime* runtime = nullptr;
  const attune_code code = library_.create(&options, &runtime);
  if (code == ATTUNE_RESOURCE_EXHAUSTED) {
    limit_was_met_ = true;
    SayLimit(library_.last_message());
    if (is_recording_) Say("Nothing is recorded: %s", library_.last_message());
    return nullptr;
  }
  if (code != ATTUNE_OK) {
    SayFailure(library_.last_message());
    return nullptr;
  }
  if (options.known_only != 0) serves_known_only_.store(true);
  runtimes_[place].store(runtime);
  // For each of them, because what is registered last runs first at exit.
  std::atexit(CloseAtExit);
  return runtime;
}

void Service::SayFailure(const char* message) {
  const char* forced = ForcedChoice();
  if (forced != nullptr) {
    Die("ATTUNE_FORCE is '%.200s', and that cannot be done: %s", forced, message);
  }
  Say("%s The program goes on with its own " ATTUNE_INTERPOSER_LIBRARY ".", message);
}

void Service::NoteRefusal(const char* function) {
  const char* message = library_.last_message();
  const char* forced = ForcedChoice();
  if (forced != nullptr) {
    Die("ATTUNE_FORCE is '%.200s', and a call of %s cannot be computed so: %s", forced, function,
        message);
  }
  tally_.Note(Outcome::kRefused);
  if (refusal_was_said_.exchange(true)) return;
  Say("A call of %s goes to the program's own " ATTUNE_INTERPOSER_LIBRARY
      ": %s Others may follow; this is said once.",
      function, message);
}

bool Service::Run(attune_runtime* runtime, const char* function, const Product& product) {
  if (!is_serving()) [[unlikely]] {
    const Computing computing(is_computing_);
    // The run time reports a failure to record, as it does for served calls.
    if (records_after_fork())
      (void)library_.record_gemm(runtime, &product.gemm, &product.arguments);
    return false;
  }
  attune_code code;
  {
    const Computing computing(is_computing_);
    code = library_.run_gemm(runtime, &product.gemm, &product.arguments);
  }
  if (code == ATTUNE_OK) {
    tally_.Note(Outcome::kServed);
    return true;
  }
  if (code == ATTUNE_RESOURCE_EXHAUSTED) {
    tally_.Note(Outcome::kLimited);
    SayLimit(library_.last_message());
  } else if (code == ATTUNE_NOT_FOUND && serves_known_only_.load(std::memory_order_relaxed)) {
    tally_.Note(Outcome::kUntuned);
  } else {
    NoteRefusal(function);
  }
  return false;
}

void Service::CloseAtExit() {
  State serving = State::kServing;
  (void)the_service.state_.compare_exchange_strong(serving, State::kClosed);
}

void Service::FlushRecords() {
  const State state = state_.load(std::memory_order_acquire);
  const bool has_library =
      state == State::kServing || state == State::kClosed || state == State::kForked;
  if (!has_library || !is_recording_ || library_.flush_records == nullptr) return;
  for (auto& kept : runtimes_) {
    if (attune_runtime* runtime = kept.load()) library_.flush_records(runtime);
  }
}

// The child has none of the threads of the run time, and OpenMP libraries do not survive a fork, so
// products go to the library that the program was made for. A child of a parent that never computed
// starts afresh.
void Service::AfterForkInChild() {
  Service& service = the_service;
  service.tally_.Clear();
  const bool was_untouched = service.state_.load() == State::kUntouched;
  const bool was_off = service.state_.load() == State::kOff;
  if (was_off || (was_untouched && !service.is_starting_.load())) {
    service.starting_ = PTHREAD_MUTEX_INITIALIZER;
    return;
  }
  service.state_.store(State::kForked);
}

}  // namespace attune::interposer
