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
  std::filesystem::path folder = ".";  // Working folder.
};

enum class ProfilerFate {
  kDone,        // It ended well and printed all required output.
  kNotStarted,  // The program is missing, or the system does not start it.
  kExitStatus,  // It ended with another status than 0.
  kSignalled,   // It died of a signal.
  kTimedOut,    // It was killed at its deadline, with all that it had started.
  kNoResult,    // It ended well and printed no time, or an invalid one.
  kStopped,     // The caller stopped it: it was killed, or never run.
  kRefused,     // Its device was not available.
};
std::string_view Name(ProfilerFate fate);

struct ProfilerOutcome {
  ProfilerFate fate = ProfilerFate::kStopped;
  int number = 0;               // The exit status or the signal.
  std::string message;          // Why it is not done; empty if it is.
  std::string device;           // Device of its last run; empty if it was not run this time.
  int attempts = 0;             // How often it was run.
  int64_t wall_ns = 0;          // Duration of its last run.
  std::vector<ProfiledOp> ops;  // Only if done.
  std::string out;  // Standard output and error of its last run, the first max_output_bytes each.
  std::string log;
};

struct ProfilerTerms {
  int64_t deadline_ns = 30'000'000'000;  // Limit of each run.
  // Runs of one command that is not started, dies or fails. A command that is too slow, or prints
  // invalid output, would do so again.
  int attempts = 3;
  // A device on which the last so many commands died or took too long gets no more of them, unless
  // it is the last one.
  int faults_to_retire = 3;
  bool wants_ops = true;  // A command that prints no time has failed.
  size_t max_output_bytes = size_t{4} << 20;
};

struct ProfilerDevice {
  std::string name;
  ProcessVariables
      variables;  // Variables that make a program see it alone; they override a command's.
};
// CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES as `name`: an ordinal, or a vendor's device name.
// Ordinals count, from 0, among the devices that `process`, the variables of this process, makes
// visible, so that a batch system's choice is kept. kNotFound if fewer are visible,
// kInvalidArgument if it is neither.
Result<ProfilerDevice> VisibleDevice(const std::string& name, const ProcessVariables& process);

// Services that a runner gets from others. Each may be null.
struct ProfilerHooks {
  // Reserves the device for one run, also against other processes, for as long as its result lives.
  // Waits for that; called by the device's own thread.
  std::function<Result<std::shared_ptr<void>>(const std::string& device)> take;
  // Once in each Join(), by its thread, after the last callback.
  std::function<void()> postprocess;
  // Polled several times a second by several threads. Once it returns false, running commands are
  // killed.
  std::function<bool()> go_on;
};

// Thread-safe, but for destruction.
class ProfilerRunner {
 public:
  // Called once for every command, by the thread of a device, never two at the same time. May push
  // more commands; may not join.
  using Callback = std::function<void(const ProfilerOutcome&)>;

  // Results of a Join() beside the outcomes.
  struct Joined {
    // Messages of exceptions from callbacks and the postprocessing.
    std::vector<std::string> thrown;
    std::map<std::string, std::string> retired;  // Why, by device.
  };

  // A thread for each of `devices`. REQUIRES: at least one, and no two of one name.
  ProfilerRunner(const std::vector<ProfilerDevice>& devices, ProfilerTerms terms,
                 ProfilerHooks hooks = {});
  // Kills running commands; the others are stopped, and their callbacks are called.
  ~ProfilerRunner();
  ProfilerRunner(const ProfilerRunner&) = delete;
  ProfilerRunner& operator=(const ProfilerRunner&) = delete;

  // REQUIRES: `command` has words. `callback` may be null.
  void Push(ProfilerCommand command, Callback callback);
  // Adds a command with a known outcome: only its callback is called.
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
  // True if `task` returns to the queue.
  bool ShouldRepeat(const Task& task, const ProfilerOutcome& outcome) const;
  void CallBack(const Task& task, const ProfilerOutcome& outcome);
  // Calls its callback; afterwards no caller waits for it.
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
  int64_t open_ = 0;  // Commands with a callback that has not returned.
  Joined joined_;
  std::vector<DeviceState> devices_;
  std::vector<std::thread> threads_;
};

}  // namespace attune
