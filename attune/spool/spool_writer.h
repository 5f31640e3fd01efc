// Records problems at the speed of memory: they are written to the spool of this process in the
// background.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "attune/base/guest_thread.h"
#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/spool/known_problems.h"
#include "attune/spool/spool_file.h"

namespace attune {

// What became of problems that are not in the file.
enum class SpoolTrouble {
  kWaiting,   // They cannot be written now, and are tried again; the count is 0.
  kLost,      // They never will be, and the file does not say so.
  kLostKept,  // The same, and a line of the file tells whoever imports it.
};

struct SpoolWriterOptions {
  SpoolPlace place;
  SpoolHeader header;  // Its tag and run.
  // Told when problems cannot be written, and when some are lost: by any thread, without a lock.
  std::function<void(SpoolTrouble, const SpoolLoss&)> told;
  // The same for problems that are lost when the process ends without handlers or becomes another
  // program. It must allocate no memory and take no lock: malloc() may be what was interrupted.
  std::function<void(int64_t count, std::string_view reason)> told_at_once;
  // How long a problem may wait for others that are written with it.
  std::chrono::milliseconds delay{100};
  size_t max_file_bytes = kMaxSpoolBytes;
  // Of lines that cannot be written now; more of them are lost.
  size_t max_waiting_bytes = size_t{4} << 20;
};

// Thread-safe. A child after fork() must make one of its own.
//
// A problem is in the file a tenth of a second after Append(), or when the process exits. So a
// process that is killed loses what it recorded in that time; a crash of the machine, what the
// system had not written to the disk yet.
class SpoolWriter {
 public:
  explicit SpoolWriter(SpoolWriterOptions options);
  // As Close(), however long a disk takes.
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Whether the problem is new in this process. The caller writes nothing, unless there can be no
  // thread or a quarter of a megabyte waits. A failure says why the problem is lost; it counts as
  // new when it comes again.
  Result<bool> Append(const Problem& problem);
  // Writes what waits. A failure says why some still does, or was lost before.
  Status Flush(std::chrono::milliseconds timeout);
  // Writes what waits, tells what is lost by then, and ends the thread; later problems are written
  // at once. Whether that was done within `timeout`.
  bool Close(std::chrono::milliseconds timeout);
  // Writes what waits in a process that ends without handlers or becomes another program, perhaps
  // inside of any function: no lock is waited for longer than `timeout`, and no memory is
  // allocated. What cannot be written is lost and told. Nothing in another process, as a child of
  // vfork() is.
  void FlushAtOnce(std::chrono::milliseconds timeout);

  // Why problems wait or were lost; ok: all are in the file.
  Status failure() const;
  // How many wait.
  int64_t waiting_count() const;
  const SpoolPlace& place() const { return options_.place; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  void Work();
  void StartThread();
  Status Drop(const std::string& text, const Fingerprint& key);
  // Returns when there is no thread any more, or false.
  bool EndThread(Deadline deadline);
  bool FlushUntil(Deadline deadline);
  // Writes what waits, and lines for what was lost. REQUIRES: write_mutex_ is held.
  void WriteWaiting();
  // The same without memory of the heap. REQUIRES: mutex_ is held, too.
  SpoolRefusal WriteWaitingAtOnce();
  // REQUIRES, for all three: both are held.
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
  std::timed_mutex write_mutex_;  // Held while the file is written; taken before mutex_.
  SpoolFile file_;                // Guarded by write_mutex_, as are the next two.
  std::string writing_;           // Lines that are being written, or could not be.
  int64_t writing_count_ = 0;
  mutable std::mutex mutex_;  // Guards the rest, for moments alone.
  std::condition_variable changed_;
  KnownProblems known_;
  KnownProblems dropped_;                   // Those for which there was no room: each is lost once.
  std::string waiting_;                     // Lines behind those of writing_.
  std::atomic<int64_t> waiting_count_ = 0;  // Of both. Changed with mutex_ held.
  size_t writing_bytes_ = 0;                // Of writing_.
  Status failure_;                          // Of the last write.
  SpoolLoss lost_;                          // All in all, with the reason of the first.
  int64_t kept_losses_ = 0;                 // Of them, those that a line of the file tells.
  int64_t told_losses_ = 0;
  bool is_closing_ = false;
  bool has_thread_ = false;
  bool has_ended_ = false;  // The thread takes no mutex any more.
  std::atomic<bool> is_telling_at_once_ = false;
  std::string last_words_;  // The reason that is told at once; its room is made at the start.
  GuestThread thread_;
};

}  // namespace attune
