// What attune-reaper says of the program that it runs (docs/formats/child_protocol.md).
#pragma once

#include <cstdint>

namespace attune {

// Its end of a connection: nothing is said there, and the end of it is the end of all that runs.
inline constexpr int kReaperAliveFd = 0;
inline constexpr int kReaperReportFd = 3;
// Of the reaper, if something outlived every signal.
inline constexpr int kReaperLeftSomething = 1;

// Written once, as it lies in memory: both ends are of one build.
struct ReaperReport {
  enum class How : int32_t { kUnstarted, kExited, kSignalled };
  How how = How::kUnstarted;
  int32_t number = 0;  // An error number, the exit status, or the signal.
};

}  // namespace attune
