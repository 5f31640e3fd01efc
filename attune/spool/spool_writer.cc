#include "attune/spool/spool_writer.h"

#include <unistd.h>

#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/fork_gate.h"
#include "attune/base/signals_blocked.h"

namespace attune {
namespace {

constexpr size_t kMaxKnownProblems = size_t{1} << 18;  // In a table of 8 MiB.
// So many are written by the caller, who is faster than the disk.
constexpr size_t kManyBytes = size_t{256} << 10;
constexpr std::chrono::milliseconds kRetryDelay{1000};
constexpr std::chrono::hours kVeryLong{24};

std::chrono::steady_clock::time_point After(std::chrono::milliseconds timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

}  // namespace

SpoolWriter::SpoolWriter(SpoolWriterOptions options)
    : options_(std::move(options)),
      process_(::getpid()),
      file_(options_.place, options_.header, options_.max_file_bytes),
      known_(kMaxKnownProblems) {}

SpoolWriter::~SpoolWriter() {
  (void)Close(kVeryLong);
  if (thread_.joinable()) thread_.join();
}

Result<bool> SpoolWriter::Append(const Problem& problem) {
  const std::string text = Text(problem);
  const Fingerprint key = FingerprintOf(text);
  bool is_closed = false;
  {
    const std::lock_guard lock(mutex_);
    if (!known_.Insert(key)) return false;
    if (waiting_.size() + in_flight_bytes_ >= options_.max_waiting_bytes) {
      if (lost_.count++ == 0) lost_.reason = failure_.message();
      return ResourceExhausted(
          fmt::format("{} is not recorded: {} bytes wait to be written, which is the limit. {}",
                      text, options_.max_waiting_bytes, failure_.message()));
    }
    const bool wakes = waiting_.empty();
    AppendProblemLine(text, waiting_);
    ++waiting_count_;
    if (!has_thread_ && !writes_at_once_) StartThread();
    const bool writes = writes_at_once_ || (failure_.ok() && waiting_.size() >= kManyBytes);
    if (wakes && !writes) changed_.notify_all();
    if (!writes) return true;
    is_closed = is_closing_;
  }
  const Status written = Flush(kVeryLong);
  if (!is_closed || written.ok()) return true;
  LoseWaiting();
  return written;
}

void SpoolWriter::StartThread() {
  const SignalsBlocked signals;
  try {
    thread_ = std::thread([this] { Work(); });
    has_thread_ = true;
  } catch (const std::system_error&) {
    writes_at_once_ = true;
  }
}

void SpoolWriter::Work() {
  std::unique_lock lock(mutex_);
  while (!is_closing_) {
    changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
    const auto delay = failure_.ok() ? options_.delay : kRetryDelay;
    if (changed_.wait_for(lock, delay, [this] { return is_closing_; })) break;
    lock.unlock();
    (void)FlushUntil(After(kVeryLong));
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
  const std::unique_lock write(write_mutex_, deadline);
  if (!write.owns_lock()) return false;
  const Status before = LastFailure();
  {
    // A child must not find the file open and locked.
    const ForkGate gate;
    WriteWaiting();
    WriteLosses();
  }
  TellWaiting(before);
  return true;
}

void SpoolWriter::WriteWaiting() {
  std::string lines;
  int64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    lines.swap(waiting_);
    count = std::exchange(waiting_count_, 0);
    in_flight_bytes_ = lines.size();
  }
  Status written = file_.Append(lines);
  const std::lock_guard lock(mutex_);
  in_flight_bytes_ = 0;
  if (!written.ok()) {
    lines.append(waiting_);  // In the order of recording.
    waiting_count_ += count;
    waiting_.swap(lines);
  } else if (waiting_.empty()) {
    lines.clear();
    waiting_.swap(lines);  // Its memory is of use again.
  }
  failure_ = std::move(written);
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

void SpoolWriter::LoseWaiting() {
  const std::lock_guard lock(mutex_);
  if (lost_.count == 0) lost_.reason = failure_.message();
  lost_.count += std::exchange(waiting_count_, 0);
  waiting_.clear();
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
  writes_at_once_ = true;
  changed_.notify_all();
  return !has_thread_ || changed_.wait_until(lock, deadline, [this] { return has_ended_; });
}

bool SpoolWriter::Close(std::chrono::milliseconds timeout) {
  const Deadline deadline = After(timeout);
  if (!EndThread(deadline) || !FlushUntil(deadline)) return false;
  if (waiting_count() > 0) {
    LoseWaiting();
    (void)FlushUntil(deadline);  // The file may have room for a line that says so.
  }
  TellLosses();
  return true;
}

void SpoolWriter::FlushAtOnce(std::chrono::milliseconds timeout) {
  if (process_ != ::getpid()) return;
  const Deadline deadline = After(timeout);
  const std::unique_lock write(write_mutex_, deadline);
  if (!write.owns_lock()) return;
  // This very thread may hold it.
  while (!mutex_.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) return;
    std::this_thread::yield();
  }
  mutex_.unlock();
  WriteWaiting();
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

int64_t SpoolWriter::waiting_count() const {
  const std::lock_guard lock(mutex_);
  return waiting_count_;
}

}  // namespace attune
