#include "attune/record/spool_writer.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/fork_gate.h"

namespace attune {
namespace {

constexpr size_t kMaxKnownProblems = size_t{1} << 18;  // The table takes 8 MiB.
// From this size on the caller writes, because it outruns the disk.
constexpr size_t kManyBytes = size_t{256} << 10;
constexpr std::chrono::milliseconds kRetryDelay{1000};
constexpr std::chrono::hours kVeryLong{24};
constexpr size_t kLastWordsBytes = 128;  // In addition to the path.

std::chrono::steady_clock::time_point After(std::chrono::milliseconds timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

}  // namespace

SpoolWriter::SpoolWriter(SpoolWriterOptions options)
    : options_(std::move(options)),
      process_(::getpid()),
      file_(options_.place, options_.header, options_.max_file_bytes),
      known_(kMaxKnownProblems),
      dropped_(kMaxKnownProblems) {
  last_words_.reserve(file_.folder().native().size() + kLastWordsBytes);
  lost_.reason.reserve(last_words_.capacity());
}

SpoolWriter::~SpoolWriter() {
  (void)Close(kVeryLong);
  thread_.Join();
}

Result<bool> SpoolWriter::Append(const Problem& problem) {
  const std::string text = Text(problem);
  const Fingerprint key = FingerprintOf(text);
  bool is_closed = false;
  {
    const std::lock_guard lock(mutex_);
    if (known_.Contains(key)) return false;
    if (waiting_.size() + writing_bytes_ >= options_.max_waiting_bytes) return Drop(text, key);
    AppendProblemLine(text, waiting_);
    const bool wakes = waiting_count_.fetch_add(1) == 0;
    known_.Insert(key);
    // Recorded after all: it was dropped, but its loss is not reported yet.
    const bool was_dropped = lost_.count > std::max(kept_losses_, told_losses_);
    if (was_dropped && dropped_.Contains(key)) --lost_.count;
    is_closed = is_closing_;
    if (!has_thread_ && !is_closed) StartThread();
    const bool writes =
        !has_thread_ || is_closed || (failure_.ok() && waiting_.size() >= kManyBytes);
    if (wakes && !writes) changed_.notify_all();
    if (!writes) return true;
  }
  const Status written = Flush(kVeryLong);
  if (!is_closed || written.ok()) return true;
  (void)LoseWaiting(After(kVeryLong));
  return written;
}

Status SpoolWriter::Drop(const std::string& text, const Fingerprint& key) {
  if (dropped_.Insert(key) && lost_.count++ == 0) lost_.reason = failure_.message();
  return ResourceExhausted(
      fmt::format("{} is not recorded: {} bytes wait to be written, which is the limit. {}", text,
                  options_.max_waiting_bytes, failure_.message()));
}

// Callers write until a thread can start.
void SpoolWriter::StartThread() {
  constexpr size_t kStackBytes = size_t{1} << 20;
  has_thread_ = thread_.Start([this] { Work(); }, kStackBytes);
}

void SpoolWriter::Work() {
  std::unique_lock lock(mutex_);
  while (!is_closing_) {
    changed_.wait(lock, [this] { return is_closing_ || waiting_count_ > 0; });
    const auto delay = failure_.ok() ? options_.delay : kRetryDelay;
    if (changed_.wait_for(lock, delay, [this] { return is_closing_; })) break;
    lock.unlock();
    try {
      (void)FlushUntil(After(kVeryLong));
    } catch (...) {
      // Most likely out of memory. Unwritten problems keep waiting.
    }
    lock.lock();
  }
  has_ended_ = true;
  changed_.notify_all();
}

Status SpoolWriter::Flush(std::chrono::milliseconds timeout) {
  if (FlushUntil(After(timeout))) return failure();
  return DeadlineExceeded("Recorded problems are still being written to the disk.");
}

bool SpoolWriter::FlushUntil(Deadline deadline) {
  const std::unique_lock write(write_turn_, deadline);
  if (!write.owns_lock()) return false;
  const Status before = LastFailure();
  {
    // A forked child must not inherit the open and locked file.
    const ForkGate gate;
    WriteWaiting();
    WriteLosses();
  }
  TellWaiting(before);
  return true;
}

void SpoolWriter::WriteWaiting() {
  // First the lines of a failed write, then newer ones.
  for (int part = 0; part < 2; ++part) {
    {
      const std::lock_guard lock(mutex_);
      if (!TakeWaiting()) return;
    }
    Status written = file_.Append(writing_);
    const std::lock_guard lock(mutex_);
    failure_ = std::move(written);
    if (!failure_.ok()) return;
    NoteWritten();
  }
}

SpoolRefusal SpoolWriter::WriteWaitingAtOnce() {
  while (TakeWaiting()) {
    const SpoolRefusal refusal = file_.AppendAtOnce(writing_);
    if (refusal.any()) return refusal;
    NoteWritten();
  }
  return {};
}

bool SpoolWriter::TakeWaiting() {
  if (writing_.empty()) {
    writing_.swap(waiting_);
    writing_bytes_ = writing_.size();
    writing_count_ = waiting_count_;
  }
  return !writing_.empty();
}

void SpoolWriter::NoteWritten() {
  writing_.clear();  // Keeps its capacity.
  writing_bytes_ = 0;
  waiting_count_ -= std::exchange(writing_count_, 0);
}

void SpoolWriter::WriteLosses() {
  SpoolLoss loss;
  {
    const std::lock_guard lock(mutex_);
    if (lost_.count == kept_losses_) return;
    loss = {lost_.count - kept_losses_, lost_.reason};
  }
  if (!file_.AppendLoss(LossLine(loss)).ok()) return;
  const std::lock_guard lock(mutex_);
  kept_losses_ += loss.count;
}

void SpoolWriter::TellWaiting(const Status& before) {
  const Status now = LastFailure();
  if (now.ok() || now == before || options_.told == nullptr) return;
  options_.told(SpoolTrouble::kWaiting, {0, now.message()});
}

bool SpoolWriter::LoseWaiting(Deadline deadline) {
  const std::unique_lock write(write_turn_, deadline);
  if (!write.owns_lock()) return false;
  const std::lock_guard lock(mutex_);
  if (lost_.count == 0) lost_.reason = failure_.message();
  lost_.count += waiting_count_;
  writing_count_ = waiting_count_;
  waiting_.clear();
  NoteWritten();
  return true;
}

void SpoolWriter::TellLosses() {
  SpoolLoss loss;
  bool is_kept = false;
  {
    const std::lock_guard lock(mutex_);
    loss = {lost_.count - told_losses_, lost_.reason};
    is_kept = kept_losses_ == lost_.count;
    told_losses_ = lost_.count;
  }
  if (loss.count == 0 || options_.told == nullptr) return;
  options_.told(is_kept ? SpoolTrouble::kLostKept : SpoolTrouble::kLost, loss);
}

bool SpoolWriter::EndThread(Deadline deadline) {
  std::unique_lock lock(mutex_);
  is_closing_ = true;
  changed_.notify_all();
  if (!has_thread_) return true;
  if (!changed_.wait_until(lock, deadline, [this] { return has_ended_; })) return false;
  // It takes the mutex no more.
  thread_.Join();
  return true;
}

bool SpoolWriter::Close(std::chrono::milliseconds timeout) try {
  const Deadline deadline = After(timeout);
  if (!EndThread(deadline) || !FlushUntil(deadline)) return false;
  if (waiting_count() > 0) {
    if (!LoseWaiting(deadline)) return false;
    (void)FlushUntil(deadline);  // The file may have room for a loss line.
  }
  TellLosses();
  return true;
} catch (const std::exception&) {
  return false;  // Out of memory.
}

void SpoolWriter::FlushAtOnce(std::chrono::milliseconds timeout) {
  if (process_ != ::getpid()) return;
  const Deadline deadline = After(timeout);
  const std::unique_lock write(write_turn_, deadline);
  // This thread may hold mutex_ already, or may block its holder.
  std::unique_lock lock(mutex_, std::defer_lock);
  while (write.owns_lock() && !lock.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::yield();
  }
  if (!lock.owns_lock())
    return TellAtOnce(waiting_count_, "the writer was busy when the process ended");
  const SpoolRefusal refusal = WriteWaitingAtOnce();
  TellAtOnce(LoseAtOnce(),
             refusal.any() ? SpoolFile::Describe(refusal) : "too many problems waited");
}

// Loses waiting problems. Returns the number of unreported losses and marks them as reported.
int64_t SpoolWriter::LoseAtOnce() {
  lost_.count += waiting_count_;
  writing_count_ = waiting_count_;
  waiting_.clear();
  NoteWritten();
  const int64_t untold = lost_.count - std::max(kept_losses_, told_losses_);
  kept_losses_ = told_losses_ = lost_.count;
  return untold;
}

void SpoolWriter::TellAtOnce(int64_t count, const char* why) {
  if (count == 0 || options_.told_at_once == nullptr || is_telling_at_once_.exchange(true)) return;
  last_words_.assign("Cannot write recorded problems to '").append(file_.folder().native());
  last_words_.append("': ").append(why).append(".");
  options_.told_at_once(count, last_words_);
  is_telling_at_once_ = false;
}

Status SpoolWriter::failure() const {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok() || lost_.count == 0) return failure_;
  return ResourceExhausted(
      fmt::format("{} recorded problems are lost: {}", lost_.count, lost_.reason));
}

Status SpoolWriter::LastFailure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

int64_t SpoolWriter::waiting_count() const { return waiting_count_; }

}  // namespace attune
