// One run of another program: a compiler, or a user's reference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/process_variables.h"
#include "attune/base/status.h"

namespace attune {

inline constexpr size_t kMaxOutputBytes = 65536;

struct ProgramCommand {
  std::vector<std::string> words;  // The program's path, then its arguments.
  std::filesystem::path folder;    // That it runs in.
  int64_t deadline_ns = 0;         // From its start.
  // Set for it, beside those of this process.
  ProcessVariables variables = {};
  // Asked several times a second (may be null); it is killed when that says no.
  std::function<bool()> go_on = nullptr;
  size_t max_output_bytes = kMaxOutputBytes;
};

struct ProgramOutput {
  int exit_status = 0;
  std::string out;  // Of standard output and standard error the first max_output_bytes each.
  std::string log;
};

// How a program ended, with what it had said until then.
struct ProgramEnd {
  enum class How {
    kExited,
    kSignalled,
    kLate,     // Killed: it had not ended by its deadline.
    kStopped,  // Killed: go_on said no.
  };
  How how = How::kExited;
  int number = 0;  // The exit status, or the signal.
  std::string out;
  std::string log;
};

// The program that `name` means, a path or a word that PATH knows, as an absolute path; empty if
// there is none.
std::string FindProgram(const std::string& name);

// The last line of `log` that says anything, which is where programs say why they end, as an
// Excerpt(); empty if there is none.
std::string LastLineOf(std::string_view log);

// Runs the command to its end, beneath an attune-reaper. All that came of it, in whatever session
// or group, ends with this call, and with this process, whatever ends that; what it started and
// left running is not waited for. kUnavailable if it cannot be started, or if something is left of
// it that no signal ends within ten seconds.
Result<ProgramEnd> RunToEnd(const ProgramCommand& command);

// The same for those of whom only an exit is of use: kUnavailable also if it dies of a signal,
// kDeadlineExceeded if it was killed for its time or because it was to go on no longer.
Result<ProgramOutput> RunProgram(const ProgramCommand& command);

}  // namespace attune
