// One run of another program: a compiler, or a user's reference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct ProgramCommand {
  std::vector<std::string> words;  // The program's path, then its arguments.
  std::filesystem::path folder;    // That it runs in.
  int64_t deadline_ns = 0;         // From its start.
};

struct ProgramOutput {
  int exit_status = 0;
  std::string out;  // Of standard output and standard error the first kMaxOutputBytes each.
  std::string log;
};

inline constexpr size_t kMaxOutputBytes = 65536;

// The program that `name` means, a path or a word that PATH knows, as an absolute path; empty if
// there is none.
std::string FindProgram(const std::string& name);

// Runs the command to its end, in a process group of its own that ends with this call, and with
// this process, whatever ends that. kUnavailable if it cannot be started or dies of a signal,
// kDeadlineExceeded if it was killed for its time.
Result<ProgramOutput> RunProgram(const ProgramCommand& command);

}  // namespace attune
