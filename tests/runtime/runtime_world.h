// A user with an empty home, for tests of the runtime: nothing outside of a temporary folder is
// read or written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attune/attune.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {

// Sets one variable of the environment as long as it lives; nothing as value unsets it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::optional<std::string>& value);
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable();

 private:
  const std::string name_;
  std::optional<std::string> before_;
};

// The environment of a test. One at a time.
class RuntimeWorld {
 public:
  // `script` is for the fake device, which runtimes use by default.
  explicit RuntimeWorld(const std::string& script = "");

  std::filesystem::path folder() const { return folder_.path(); }
  std::string database() const { return (folder_.path() / "attune.db").string(); }

  // Makes runtimes load a copy of the plug-in in the world's folder, for users without access to
  // the build folder.
  void CopyPlugin();
  // Sets a variable until the end of the test.
  void Set(const char* name, const std::optional<std::string>& value);

 private:
  const TemporaryFolder folder_;
  std::vector<std::unique_ptr<ScopedVariable>> variables_;
};

// The events that a runtime sent to its listener, until its end: made before it, so that it goes
// after it. Thread-safe.
class EventLog {
 public:
  void Listen(attune_runtime* runtime);
  int Count(attune_event event) const;
  // From the first event of this kind; empty if there was none.
  std::string Message(attune_event event) const;
  // From the last event of this kind that had one; empty if there was none.
  std::string Candidate(attune_event event) const;
  // True if the candidate or the message of any event contains `text`.
  bool Mentions(const std::string& text) const;

 private:
  struct Event {
    attune_event kind;
    std::string candidate;
    std::string message;
  };
  static void Note(void* log, attune_event event, const char* problem, const char* candidate,
                   const char* message);

  mutable std::mutex mutex_;  // Guards events_.
  std::vector<Event> events_;
};

// Messages of runtimes for the user.
class MessageLog {
 public:
  // `policy` with these lines kept.
  attune_options Options(attune_policy policy);
  std::vector<std::string> lines() const;

 private:
  static void Take(void* log, const char* line);

  mutable std::mutex mutex_;  // Guards lines_.
  std::vector<std::string> lines_;
};

struct RuntimeDeleter {
  void operator()(attune_runtime* runtime) const { attune_runtime_destroy(runtime); }
};
using RuntimeHandle = std::unique_ptr<attune_runtime, RuntimeDeleter>;

// For tests of which candidate was found: all of the fake device's are measured, however slowly the
// workers of the tuner run on a busy machine.
inline constexpr int64_t kTimeForAllMs = 30'000;

// Null if it cannot be created; attune_last_message() says why.
RuntimeHandle MakeRuntime(attune_policy policy, int64_t per_problem_ms = 500);
RuntimeHandle MakeRuntime(const attune_options& options);

// A product of size x size matrices of ones through `runtime`. False if the call fails or its
// result is wrong.
bool Multiply(attune_runtime* runtime, int64_t size);
// True if the background is idle within a minute.
bool IsIdle(attune_runtime* runtime);
attune_counters CountersOf(attune_runtime* runtime);

// Measurement sets of all problems in the database, and problems under a tag.
int FinishedSetsIn(const std::string& database);
size_t ProblemsUnder(const std::string& database, const std::string& tag);

// Children of this process that are called `name`.
std::vector<pid_t> ChildrenCalled(const std::string& name);

// Processes of any parent that are called `name` and have `word` among their arguments.
std::vector<pid_t> ProcessesCalled(const std::string& name, const std::string& word);

// A process with a runtime of its own.
class CallerProcess {
 public:
  // Multiplies once (runtime_caller.cc).
  CallerProcess(const std::string& policy, int64_t size);
  // Any program with its arguments.
  explicit CallerProcess(std::vector<std::string> words);
  CallerProcess(const CallerProcess&) = delete;
  CallerProcess& operator=(const CallerProcess&) = delete;
  ~CallerProcess();
  // Its output of "name value" lines, when it has ended; empty if it failed.
  std::map<std::string, int64_t> Wait();
  // Kills it, and returns when it is gone.
  void Kill();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace attune
