#include "faces/blas/face.h"

#include <cstdlib>
#include <cstring>

#include "faces/blas/message.h"

namespace attune::blas {
namespace {

constexpr int64_t kRecordPatienceMs = 5000;
constexpr size_t kMaxReason = 768;

// A word that is neither is an error, as below.
bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0' || std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  Die("%s is '%s'. It may be '1' or '0'.", variable, value);
}

enum class Mode { kServe, kRecord, kOff };

// A word that is none of the three is an error: a typo must not change what runs.
Mode ReadMode() {
  const char* value = std::getenv("ATTUNE_BLAS");
  if (value == nullptr || *value == '\0' || std::strcmp(value, "serve") == 0) return Mode::kServe;
  if (std::strcmp(value, "record") == 0) return Mode::kRecord;
  if (std::strcmp(value, "off") == 0) return Mode::kOff;
  Die("ATTUNE_BLAS is '%s'. It may be 'serve', 'record' or 'off'.", value);
}

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

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

constinit Face the_face;

}  // namespace

constinit thread_local bool Face::is_computing_ = false;

Face& TheFace() { return the_face; }

bool Face::Begin(RealSymbol& symbol, const void* caller) {
  // The real function is looked for now, so that a program without any BLAS fails at once and not
  // at the first product that attune leaves to it. A run time that is being created in this very
  // thread calls from here, too.
  symbol.Get<void()>(caller);
  if (is_computing_) {
    tally_.Note(Outcome::kReentrant);
    return false;
  }
  switch (Start()) {
    case State::kServing:
      return true;
    case State::kOff:
      tally_.Note(Outcome::kOff);
      return false;
    case State::kForked:
      tally_.Note(Outcome::kForked);
      return false;
    case State::kUntouched:
    case State::kFailed:
    case State::kClosed:
      tally_.Note(Outcome::kFailed);
      return false;
  }
  return false;
}

Face::State Face::Start() {
  State state = state_.load(std::memory_order_acquire);
  if (state != State::kUntouched) return state;
  // Before the lock: a child must never find it locked by a thread that it does not have.
  if (!watches_forks_.exchange(true)) ::pthread_atfork(nullptr, nullptr, AfterForkInChild);
  const Locked lock(starting_);
  state = state_.load(std::memory_order_acquire);
  if (state != State::kUntouched) return state;
  is_starting_.store(true);
  if (IsSet("ATTUNE_BLAS_STATS")) tally_.StartCounting();
  const Mode mode = ReadMode();
  is_recording_ = mode == Mode::kRecord;
  state = State::kOff;
  if (mode != Mode::kOff) state = CreateRuntime() ? State::kServing : State::kFailed;
  state_.store(state, std::memory_order_release);
  is_starting_.store(false);
  return state;
}

bool Face::CreateRuntime() {
  const Computing computing(is_computing_);
  char reason[kMaxReason];
  if (!library_.Open(reason, sizeof reason)) {
    Fail(reason);
    return false;
  }
  attune_options options = {};
  options.struct_size = sizeof options;
  options.device = "cpu";
  options.deterministic = IsSet("ATTUNE_DETERMINISTIC");
  const char* policy = std::getenv("ATTUNE_POLICY");
  // Tuning in the background would let the next process choose differently.
  if (options.deterministic != 0 && (policy == nullptr || *policy == '\0')) {
    options.policy = ATTUNE_NEVER;
  }
  if (is_recording_) {
    options.policy = ATTUNE_RECORD;
    options.record_tag = std::getenv("ATTUNE_RECORD_TAG");
  }
  if (library_.create(&options, &runtime_) != ATTUNE_OK) {
    Fail(library_.last_message());
    return false;
  }
  if (!is_recording_) std::atexit(CloseAtExit);
  return true;
}

void Face::Fail(const char* message) {
  const char* forced = std::getenv("ATTUNE_FORCE");
  if (forced != nullptr && *forced != '\0') {
    Die("ATTUNE_FORCE is '%s', and that cannot be done: %s", forced, message);
  }
  Say("%s The program goes on with its own BLAS.", message);
}

void Face::NoteRefusal(const RealSymbol& symbol) {
  const char* message = library_.last_message();
  const char* forced = std::getenv("ATTUNE_FORCE");
  if (forced != nullptr && *forced != '\0') {
    Die("ATTUNE_FORCE is '%s', and a call of %s cannot be computed so: %s", forced, symbol.name(),
        message);
  }
  tally_.Note(Outcome::kRefused);
  if (refusal_was_said_.exchange(true)) return;
  Say("A call of %s goes to the program's own BLAS: %s Others may follow; this is said once.",
      symbol.name(), message);
}

bool Face::Serve(RealSymbol& symbol, Verdict verdict, const Product& product) {
  switch (verdict) {
    case Verdict::kServe:
      break;
    case Verdict::kEmpty:
      tally_.Note(Outcome::kEmpty);
      return false;
    case Verdict::kStrided:
      tally_.Note(Outcome::kStrided);
      return false;
    case Verdict::kInvalid:
      tally_.Note(Outcome::kInvalid);
      return false;
  }
  {
    const Computing computing(is_computing_);
    if (library_.run_gemm(runtime_, &product.gemm, &product.arguments) != ATTUNE_OK) {
      NoteRefusal(symbol);
      return false;
    }
  }
  if (is_recording_) CloseOnceRecorded();
  tally_.Note(Outcome::kServed);
  return true;
}

bool Face::AwaitRecords() {
  const Computing computing(is_computing_);
  return library_.wait_idle(runtime_, kRecordPatienceMs) == ATTUNE_OK;
}

// What is registered last runs first at exit. The database library makes objects when it is used
// first, and they must still be there when the last problems are written, so the first one is
// waited for before the end is registered.
void Face::CloseOnceRecorded() {
  if (has_recorded_.exchange(true)) return;
  // What cannot be written now is tried again, and told, at the end.
  (void)AwaitRecords();
  std::atexit(CloseAtExit);
}

void Face::CloseAtExit() {
  Face& face = TheFace();
  State serving = State::kServing;
  if (!face.state_.compare_exchange_strong(serving, State::kClosed)) return;
  if (!face.is_recording_ || face.AwaitRecords()) return;
  Say("Not every recorded problem reached the database: %s", face.library_.last_message());
}

// The child has none of the threads of the run time, and OpenMP libraries do not survive a fork, so
// products go to the BLAS that the program was made for. A child of a parent that never computed
// starts afresh.
void Face::AfterForkInChild() {
  Face& face = TheFace();
  face.tally_.Clear();
  const bool was_untouched = face.state_.load() == State::kUntouched;
  const bool was_off = face.state_.load() == State::kOff;
  if (was_off || (was_untouched && !face.is_starting_.load())) {
    face.starting_ = PTHREAD_MUTEX_INITIALIZER;
    return;
  }
  face.state_.store(State::kForked);
}

}  // namespace attune::blas
