// profile.h for C++: commands with callbacks, run one at a time on each device.
#ifndef ATTUNE_PROFILE_HPP_
#define ATTUNE_PROFILE_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attune/error.hpp"
#include "attune/profile.h"

namespace attune {
inline namespace v1 {

// Thread-safe, but for construction and destruction. Functions throw Error.
class Profiler {
 public:
  struct Terms {
    std::int64_t deadline_ns = 30'000'000'000;  // Limit of each run.
    std::int64_t max_output_bytes = 4 << 20;    // Limit on the bytes read of each output.
    std::int32_t attempts = 3;          // Runs of a command that does not start, dies or fails.
    std::int32_t faults_to_retire = 3;  // Commands in a row that died or took too long.
    bool any_output = false;            // A program that ends with 0 is done, with any output.
    std::string journal;                // A file that outcomes are kept in; empty: none.
  };
  struct Command {
    std::vector<std::string> words;                // The program and its arguments.
    std::map<std::string, std::string> variables;  // Beside those of this process.
    std::string folder;                            // Empty: that of this process.
  };
  struct Op {
    std::string name;  // Empty where the program names none.
    double time_ms = 0;
    std::int64_t workspace_bytes = 0;
    std::int64_t samples = 1;
  };
  struct Outcome {
    attune_profile_fate fate = ATTUNE_PROFILE_STOPPED;
    int number = 0;  // The exit status or the signal.
    int attempts = 0;
    bool is_resumed = false;  // It was done before, as the journal says.
    std::int64_t wall_ns = 0;
    std::string message;  // Why it is not done.
    std::string device;
    std::string out;
    std::string log;
    std::vector<Op> ops;

    bool done() const { return fate == ATTUNE_PROFILE_DONE; }
  };
  // Called once for every command, by a thread of the runner, never two at the same time. May push
  // and throw; may not join.
  using Callback = std::function<void(const Outcome&)>;

  // Exceptions of callbacks and the postprocessing since the last Join(), in that order: `thrown`
  // has the text of the entry of `exceptions` at the same place.
  struct Joined {
    std::vector<std::string> thrown;
    std::vector<std::exception_ptr> exceptions;
    std::map<std::string, std::string> retired;  // Why a device gets no more commands.
  };

  // attune_profile_create.
  explicit Profiler(std::vector<std::string> devices = {"0"})
      : Profiler(std::move(devices), Terms()) {}
  Profiler(std::vector<std::string> devices, const Terms& terms) : devices_(std::move(devices)) {
    std::vector<const char*> names;
    for (const std::string& device : devices_) names.push_back(device.c_str());
    attune_profile_terms c_terms = ATTUNE_PROFILE_TERMS_INIT;
    c_terms.deadline_ns = terms.deadline_ns;
    c_terms.max_output_bytes = terms.max_output_bytes;
    c_terms.attempts = terms.attempts;
    c_terms.faults_to_retire = terms.faults_to_retire;
    c_terms.any_output = terms.any_output ? 1 : 0;
    c_terms.journal = terms.journal.empty() ? nullptr : terms.journal.c_str();
    attune_profile_runner* runner = nullptr;
    Check(attune_profile_create(names.data(), names.size(), &c_terms, &runner));
    runner_.reset(runner);
  }

  void Push(const Command& command, Callback callback = nullptr) {
    std::vector<std::string> assignments;
    for (const auto& [name, value] : command.variables) assignments.push_back(name + "=" + value);
    const std::vector<const char*> words = ToC(command.words);
    const std::vector<const char*> variables = ToC(assignments);
    attune_profile_command c_command = ATTUNE_PROFILE_COMMAND_INIT;
    c_command.words = words.data();
    c_command.word_count = words.size();
    c_command.variables = variables.data();
    c_command.variable_count = variables.size();
    c_command.folder = command.folder.empty() ? nullptr : command.folder.c_str();
    if (callback == nullptr) return Check(attune_profile_push(get(), &c_command, nullptr, nullptr));
    auto call = std::make_unique<Call>(Call{state_.get(), std::move(callback)});
    Check(attune_profile_push(get(), &c_command, &Profiler::Run, call.get()));
    call.release();  // Run() owns it, which is called once.
  }

  // Waits until every command has had its callback, then calls `postprocess` once.
  Joined Join(const std::function<void()>& postprocess = nullptr) {
    Call call{state_.get(), [&](const Outcome&) { postprocess(); }};
    const attune_code code = attune_profile_join(
        get(), postprocess == nullptr ? nullptr : &Profiler::Postprocess, &call, nullptr);
    Check(code);
    Joined joined;
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      joined.thrown.swap(state_->thrown);
      joined.exceptions.swap(state_->exceptions);
    }
    for (const std::string& device : devices_) {
      char* reason = nullptr;
      Check(attune_profile_retired(get(), device.c_str(), &reason));
      if (reason != nullptr) joined.retired[device] = reason;
      attune_free(reason);
    }
    return joined;
  }

  // Kills running commands; the others are stopped. Callbacks are still called.
  void Stop() { attune_profile_stop(get()); }

 private:
  struct Destroy {
    void operator()(attune_profile_runner* runner) const { attune_profile_destroy(runner); }
  };
  struct State {
    std::mutex mutex;  // Guards the rest.
    std::vector<std::string> thrown;
    std::vector<std::exception_ptr> exceptions;
  };
  struct Call {
    State* state;
    Callback callback;
  };

  static std::vector<const char*> ToC(const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    return pointers;
  }

  static Outcome FromC(const attune_profile_outcome& from) {
    Outcome outcome;
    outcome.fate = static_cast<attune_profile_fate>(from.fate);
    outcome.number = from.number;
    outcome.attempts = from.attempts;
    outcome.is_resumed = from.is_resumed != 0;
    outcome.wall_ns = from.wall_ns;
    outcome.message = from.message;
    outcome.device = from.device;
    outcome.out.assign(from.out, from.out_bytes);
    outcome.log.assign(from.log, from.log_bytes);
    for (std::size_t i = 0; i < from.op_count; ++i) {
      const attune_profile_op& op = from.ops[i];
      outcome.ops.push_back({op.name, op.time_ms, op.workspace_bytes, op.samples});
    }
    return outcome;
  }

  // 0, or 1 if `body` threw, which the state keeps: nothing may unwind through C.
  template <class Body>
  static int Caught(State& state, const Body& body) noexcept {
    std::string text = "It threw what is no std::exception.";
    std::exception_ptr exception;
    try {
      body();
      return 0;
    } catch (const std::exception& error) {
      text = error.what();
      exception = std::current_exception();
    } catch (...) {
      exception = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.thrown.push_back(std::move(text));
    state.exceptions.push_back(std::move(exception));
    return 1;
  }
  static int Run(void* user, const attune_profile_outcome* outcome) {
    const std::unique_ptr<Call> call(static_cast<Call*>(user));
    return Caught(*call->state, [&] { call->callback(FromC(*outcome)); });
  }
  static int Postprocess(void* user) {
    Call& call = *static_cast<Call*>(user);
    return Caught(*call.state, [&] { call.callback(Outcome()); });
  }

  attune_profile_runner* get() const { return runner_.get(); }

  std::vector<std::string> devices_;
  std::unique_ptr<State> state_ = std::make_unique<State>();  // Outlives the runner.
  std::unique_ptr<attune_profile_runner, Destroy> runner_;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_PROFILE_HPP_
