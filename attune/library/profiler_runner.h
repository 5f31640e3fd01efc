// Runs a list of profilers, programs that time operations and print the result, one at a time on
// each device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attune/base/process_variables.h"
#include "attune/base/program_run.h"
#include "attune/base/status.h"
#include "attune/library/profiler_output.h"

namespace attune {

struct ProfilerCommand {
  std::vector<std::string> words;      // The program, which PATH may know, and its arguments.
  ProcessVariables variables = {};     // Beside those of this process.
  std::filesystem::path folder = ".";  // That it runs in.
};

enum class ProfilerFate {
  kDone,        // It ended well and told what it was to tell.
  kNotStarted,  // There is no such program, or the system does not start it.
  kExitStatus,  // It ended with another status than 0.
  kSignalled,   // It died of a signal.
  kTimedOut,    // It was killed at its deadline, with all that it had started.
  kNoResult,    // It ended well and printed no time, or what is none.
  kStopped,     // Nobody wants it any more: it was killed, or never run.
  kRefused,     // Its device could not be had.
};
std::string_view Name(ProfilerFate fate);

struct ProfilerOutcome {
  ProfilerFate fate = ProfilerFate::kStopped;
  int number = 0;               // The exit status or the signal.
  std::string message;          // Why it is not done; empty if it is.
  std::string device;           // That it ran on last; empty if this time it came to no run.
  int attempts = 0;             // How often it was run.
  int64_t wall_ns = 0;          // Of its last run.
  std::vector<ProfiledOp> ops;  // Only if done.
  std::string out;  // Standard output and error of its last run, the first max_output_bytes each.
  std::string log;
};

struct ProfilerTerms {
  int64_t deadline_ns = 30'000'000'000;  // Of each run.
  // Runs of one command that is not started, dies or fails. What takes too long, or tells nonsense,
  // would do so again.
  int attempts = 3;
  // A device on which the last so many commands died or took too long gets no more of them, unless
  // it is the last one.
  int faults_to_retire = 3;
  bool wants_ops = true;  // Who prints no time has failed.
  size_t max_output_bytes = size_t{4} << 20;
};

struct ProfilerDevice {
  std::string name;
  ProcessVariables
      variables;  // What makes a program see it alone, of more weight than a command's.
};
// CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES as `name`: an ordinal, or what vendors call it. Of
// ordinals those that `process`, the variables of this process, lets it see count, from 0, so that
// a batch system's choice is kept. kNotFound if it sees fewer, kInvalidArgument for what is
// neither.
Result<ProfilerDevice> VisibleDevice(const std::string& name, const ProcessVariables& process);

// What others do for a runner. Each may be null.
struct ProfilerHooks {
  // Has the device for one run, also against other processes, for as long as what it returns lives.
  // Waits for that; called by the device's own thread.
  std::function<Result<std::shared_ptr<void>>(const std::string& device)> take;
  // Once in each Join(), by its thread, after the last callback.
  std::function<void()> postprocess;
  // Asked several times a second by several threads. Once it says no, what runs is killed.
  std::function<bool()> go_on;
};

// Thread-safe, but for destruction.
class ProfilerRunner {
 public:
  // Called once for every command, by the thread of a device, never two at the same time. May push
  // more commands; may not join.
  using Callback = std::function<void(const ProfilerOutcome&)>;

  // What came of a Join() beside the outcomes.
  struct Joined {
    std::vector<std::string> thrown;             // What callbacks and the postprocessing threw.
    std::map<std::string, std::string> retired;  // Why, by device.
  };

  // A thread for each of `devices`. REQUIRES: at least one, and no two of one name.
  ProfilerRunner(const std::vector<ProfilerDevice>& devices, ProfilerTerms terms,
                 ProfilerHooks hooks = {});
  // Kills what runs; the rest is stopped, and its callbacks are called.
  ~ProfilerRunner();
  ProfilerRunner(const ProfilerRunner&) = delete;
  ProfilerRunner& operator=(const ProfilerRunner&) = delete;

  // REQUIRES: `command` has words. `callback` may be null.
  void Push(ProfilerCommand command, Callback callback);
  // One whose outcome is known already: only its callback is called.
  void PushKnown(ProfilerCommand command, ProfilerOutcome outcome, Callback callback);
  // Waits until every command that was pushed has had its callback. More may be pushed after it.
  Joined Join();

 private:
  struct Task {
    ProfilerCommand command;
    Callback callback;
    std::optional<ProfilerOutcome> known;  // Before any run.
    int64_t id = 0;
    int attempts = 0;
  };
  struct DeviceState {
    ProfilerDevice device;
    int faults = 0;            // Commands in a row.
    int64_t last_faulty = -1;  // The id of the last of them.
    bool is_retired = false;
  };

  void Enqueue(Task task);
  void Work(DeviceState& state);
  ProfilerOutcome Run(const Task& task, const ProfilerDevice& device) const;
  // Whether `task` goes back to the queue.
  bool ShouldRepeat(const Task& task, const ProfilerOutcome& outcome) const;
  void CallBack(const Task& task, const ProfilerOutcome& outcome);
  // Its callback, after which nobody waits for it.
  void Finish(const Task& task, const ProfilerOutcome& outcome);
  void Note(DeviceState& state, const Task& task, const ProfilerOutcome& outcome);
  bool MayGoOn() const;

  const ProfilerTerms terms_;
  const ProfilerHooks hooks_;
  std::atomic<bool> is_ending_{false};
  std::mutex callback_mutex_;  // One callback at a time; never taken while mutex_ is held.
  std::mutex mutex_;           // Guards everything below.
  std::condition_variable changed_;
  std::deque<Task> queue_;
  int64_t next_id_ = 0;
  int64_t open_ = 0;  // Commands whose callback has not returned.
  Joined joined_;
  std::vector<DeviceState> devices_;
  std::vector<std::thread> threads_;
};

}  // namespace attune
