// Records problems in memory; a background thread writes them to the spool of this process.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "attune/base/guest_thread.h"
#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/record/known_problems.h"
#include "attune/record/spool_file.h"

namespace attune {

// The fate of problems that are not in the file.
enum class SpoolTrouble {
  kWaiting,   // The write failed and will be retried; the count is 0.
  kLost,      // Lost, without a line in the file.
  kLostKept,  // Lost, and a line of the file reports it to the importer.
};

struct SpoolWriterOptions {
  SpoolPlace place;
  SpoolHeader header;  // Only the tag and the run.
  // Called when problems cannot be written or are lost, on any thread. The kWaiting call holds the
  // write lock, so the callback must not call Flush() or Close().
  std::function<void(SpoolTrouble, const SpoolLoss&)> told;
  // As `told`, for problems lost when the process ends without handlers or executes another
  // program. Must allocate no memory and take no lock, because it may interrupt malloc().
  std::function<void(int64_t count, std::string_view reason)> told_at_once;
  // Maximum time that a problem waits, so that one write covers several.
  std::chrono::milliseconds delay{100};
  size_t max_file_bytes = kMaxSpoolBytes;
  // Limit for lines that wait; problems beyond it are lost.
  size_t max_waiting_bytes = size_t{4} << 20;
};

// Thread-safe. A process after fork() must create its own writer.
//
// A problem reaches the file a tenth of a second after Append(), or when the process exits. A
// killed process loses the problems of that time. A crash of the machine also loses data that the
// system had not written to disk.
class SpoolWriter {
 public:
  explicit SpoolWriter(SpoolWriterOptions options);
  // Closes with practically no time limit.
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Returns true if the problem is new in this process. The caller writes only if there is no
  // thread, after Close(), or if 256 KiB wait. A failure gives the reason of the loss. If the
  // buffer was full, the problem counts as new the next time.
  Result<bool> Append(const Problem& problem);
  // Writes waiting problems. A failure gives the reason why some still wait or were lost.
  Status Flush(std::chrono::milliseconds timeout);
  // Writes waiting problems, reports losses and ends the thread. Append() then writes problems at
  // once. Returns true if all of it finished within `timeout`.
  bool Close(std::chrono::milliseconds timeout);
  // Writes waiting problems in a process that ends without handlers or executes another program,
  // perhaps inside any function. Waits for locks at most `timeout` and allocates no memory.
  // Problems that it cannot write are lost and reported. Does nothing in another process, such as
  // one made by vfork().
  void FlushAtOnce(std::chrono::milliseconds timeout);

  // The reason why problems wait or were lost; ok if all are in the file.
  Status failure() const;
  // The number of waiting problems.
  int64_t waiting_count() const;
  const SpoolPlace& place() const { return options_.place; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  // A mutex for std::unique_lock. A signal handler can ask for it while its own thread holds it or
  // is about to: that fails at the deadline. std::timed_mutex locks by a function of the C library
  // that ThreadSanitizer does not know, and is reported in programs that are built with that.
  class WriteTurn {
   public:
    bool try_lock_until(Deadline deadline) {
      while (is_taken_.exchange(true, std::memory_order_acquire)) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      return true;
    }
    void unlock() { is_taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> is_taken_{false};
  };

  void Work();
  void StartThread();
  Status Drop(const std::string& text, const Fingerprint& key);
  // Returns true once the thread has ended; false at the deadline.
  bool EndThread(Deadline deadline);
  bool FlushUntil(Deadline deadline);
  // Writes waiting problems. REQUIRES: write_turn_ is held.
  void WriteWaiting();
  // As WriteWaiting(), without heap memory. REQUIRES: mutex_ is held, too.
  SpoolRefusal WriteWaitingAtOnce();
  // REQUIRES for the next three: write_turn_ and mutex_ are held.
  bool TakeWaiting();
  void NoteWritten();
  int64_t LoseAtOnce();
  void TellAtOnce(int64_t count, const char* why);
  void WriteLosses();
  Status LastFailure() const;
  void TellWaiting(const Status& before);
  bool LoseWaiting(Deadline deadline);
  void TellLosses();

  const SpoolWriterOptions options_;
  const int process_;
  WriteTurn write_turn_;  // Held while the file is written; taken before mutex_.
  SpoolFile file_;        // Guarded by write_turn_, as are the next two.
  std::string writing_;   // Lines in a write, or after a failed one.
  int64_t writing_count_ = 0;
  mutable std::mutex mutex_;  // Guards the rest. Held briefly.
  std::condition_variable changed_;
  KnownProblems known_;
  KnownProblems dropped_;                   // Found no room; counted as lost once.
  std::string waiting_;                     // Lines after those of writing_.
  std::atomic<int64_t> waiting_count_ = 0;  // In both. Changed with mutex_ held.
  size_t writing_bytes_ = 0;                // Size of writing_.
  Status failure_;                          // Result of the last write.
  SpoolLoss lost_;                          // Total, with the first reason.
  int64_t kept_losses_ = 0;                 // Losses among them that are reported in the file.
  int64_t told_losses_ = 0;
  bool is_closing_ = false;
  bool has_thread_ = false;
  bool has_ended_ = false;  // The thread takes no mutex any more.
  std::atomic<bool> is_telling_at_once_ = false;
  std::string last_words_;  // For TellAtOnce(); reserved at the start.
  GuestThread thread_;
};

}  // namespace attune
