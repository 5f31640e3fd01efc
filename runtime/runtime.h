// A dispatcher with its device, its records, its policy and its background, wired. What programs
// use through include/attune/.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/guest_thread.h"
#include "attune/base/host_messages.h"
#include "attune/base/status.h"
#include "attune/compile/kernel_cache.h"
#include "attune/device/device.h"
#include "attune/dispatch/fallback.h"
#include "attune/dispatch/plan_server.h"
#include "attune/index/package_folder.h"
#include "attune/tunable/tunable_context.h"
#include "runtime/imports_view.h"
#include "runtime/model_predictor.h"
#include "runtime/places.h"
#include "runtime/recorder.h"
#include "runtime/records_view.h"
#include "runtime/stop_at_exit.h"
#include "runtime/tuner_client.h"

namespace attune {

struct RuntimeOptions {
  std::string device = "cpu";
  std::string database;                    // Path; empty for none.
  std::string unusable_database;           // Why a named one is not `database`; else empty.
  std::vector<PackageReference> packages;  // Uppermost first.
  ServerOptions server;
  Scope scope = Scope::kAll;
  bool known_only = false;           // Leaves unmeasured problems to the caller.
  bool yields = false;               // As in DispatchOptions.
  int max_threads = 0;               // As in DispatchOptions.
  bool ieee_special_values = false;  // As in DispatchOptions.
  std::string force;                 // Format: ForcedChoices::Parse.
  std::string record_tag = "recorded";
  std::string record_run;  // RecordingRun::id() of the command that counts them; or empty.
  // Model files to use instead of those beside the database; none of them: no model.
  std::optional<std::vector<std::string>> time_models;
  int64_t tuning_budget_ms = 0;
  int64_t per_problem_ms = 2000;
  double tuning_cpu_share = 1;
  // What the switches of TunableOp's kind were in the process that this one was forked from;
  // without it they are the environment's.
  std::optional<TunableSwitches> tunable;
  // How often a changed index or database is noticed; 0: only after a tuning of our own.
  std::chrono::milliseconds refresh_interval{2000};
  bool prints_summary = false;     // One line for the user at the end, or at exit.
  std::vector<std::string> notes;  // Findings while reading these options.
  // Receives lines for the user; null: standard error (host_messages.h).
  std::function<void(const std::string& line)> message;
};

// Maximum time to close a recorder.
inline constexpr std::chrono::milliseconds kLongestRecording{300};
RecorderOptions RecorderOptionsOf(const RuntimeOptions& options);

// Thread-safe, but for destruction.
class Runtime {
 public:
  // Opens the device and maps the index. kInvalidArgument for a forced choice that cannot be read.
  static Result<std::unique_ptr<Runtime>> Create(const RuntimeOptions& options);
  ~Runtime();

  PlanServer& server() { return *server_; }
  const PlanServer& server() const { return *server_; }
  const RuntimeOptions& options() const { return options_; }
  const Place& place() const { return place_; }
  // Whether the operands of calls are handles, which say nothing of the alignment of their memory.
  bool takes_handles() const { return device_->takes_handles(); }
  // Returns when everything that was launched on the device is complete.
  Status Synchronize() { return device_->Synchronize(); }
  // What imported databases say for other GPUs; nothing of it serves.
  ImportsView& imports() const { return *imports_; }
  // Results, switches and files of TunableOp's kind: a layer above the records while switched on.
  TunableContext& tunable() { return *tunable_; }
  // Says that sizes of `problem` change from call to call: what is found or tuned for it is kept as
  // a wildcard too.
  void NoteDynamic(const Problem& problem, const DynamicDims& dims);
  // The same for a call that a plan at hand serves; quick when it has been said before.
  void NoteDynamicHit(const PlanKey& key, const Problem& problem, const DynamicDims& dims);
  // What was left out or cannot be kept, and why.
  std::vector<std::string> notes() const;
  // Nothing left to do in the background within `timeout`.
  bool WaitIdle(std::chrono::nanoseconds timeout);
  // Writes recorded problems. Ok if all are in the spool or the untuned file; else says why one is
  // not.
  Status recorded() const;
  // Null unless problems are recorded.
  Recorder* recorder() const { return recorder_.get(); }
  // Ends the tuner and the threads of the background; calls are served on with what is known.
  // Whether they ended within `timeout`; those that did not end as soon as they can.
  bool StopBackground(std::chrono::nanoseconds timeout);

 private:
  explicit Runtime(const RuntimeOptions& options);

  Status OpenPlace();
  // Whether the device works in a process that was forked from one with a run time.
  Status CheckForked();
  // The program's own OpenMP runtime, called `name`, waits otherwise than records assume.
  void NoteOwnOpenMp(std::string_view name);
  void OpenPackages();
  // Opens the view of the records and the recorder.
  void OpenDatabase();
  void AddNote(std::string note);
  // Prints once.
  void TellSummary();
  void ComplainOfDatabase(std::string_view why) const;
  Status MakeServer();
  Status MakeTunable();
  // Untuned problems that wait for their file are written now or never.
  void WriteUntuned(std::chrono::milliseconds lock_timeout);
  std::shared_ptr<const ChoiceSource> Choices() const;
  // A call has missed; whether the problem should be tuned.
  bool NoteMiss(const Problem& problem, bool is_tuned);
  Status Tune(const Problem& problem);
  Status TuneElsewhere(const Problem& problem);
  // Created on first use.
  Result<TunerClient*> Tuner();
  // What calls get, or will once it is ready, where nobody measured it for this problem.
  std::optional<Candidate> ServedUntried(const Problem& problem) const;
  // What the records of this run time chose for `problem`.
  Result<TunedCandidate> TunedFor(const Problem& problem) const;
  DynamicDims TakeDynamic(const Problem& problem);
  // Looks at plans again if results of TunableOp's kind have changed.
  void FollowTunable();
  void StartWatching();
  void LookForNews();
  // Looks for newer records as long as the run time lives.
  void Watch();
  void WatchUntilClosed(std::unique_lock<std::mutex>& lock);

  const RuntimeOptions options_;
  BackendList backends_;
  Place place_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Fallback> fallback_;  // Null on the processor.
  std::unique_ptr<KernelCache> kernels_;
  std::vector<std::shared_ptr<const ChoiceSource>> packages_;  // Indexes of those that can be used.
  mutable std::mutex notes_mutex_;                             // Guards notes_.
  std::vector<std::string> notes_;
  std::unique_ptr<Recorder> recorder_;  // Null unless problems are recorded.
  std::unique_ptr<RecordsView> records_;
  std::unique_ptr<ImportsView> imports_;
  std::unique_ptr<ModelPredictor> predictor_;  // Null where only what is known serves.
  std::unique_ptr<TunerClient> tuner_;
  std::unique_ptr<TunableContext> tunable_;
  std::unique_ptr<PlanServer> server_;
  std::mutex dynamic_mutex_;  // Guards dynamic_.
  std::map<Fingerprint, DynamicDims> dynamic_;
  // Marks of hits that were noted, each where its value says; one that is displaced is noted again.
  std::array<std::atomic<uint64_t>, 256> noted_hits_{};
  std::atomic<uint64_t> seen_generation_{0};
  std::atomic<bool> has_told_summary_{false};
  std::mutex watch_mutex_;  // Guards the rest, but for stop_at_exit_, and the making of tuner_.
  std::condition_variable watch_changed_;
  bool is_closing_ = false;
  bool has_looked_ = false;
  bool has_watcher_ended_ = false;
  GuestThread watcher_;
  // Last, so that nothing is stopped that is going already.
  std::optional<StopAtExit> stop_at_exit_;
};

}  // namespace attune
