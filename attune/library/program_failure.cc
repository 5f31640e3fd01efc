#include "attune/library/program_failure.h"

#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr double kNsPerSecond = 1e9;

// ": <last output>", or the end of a sentence if there was no output.
std::string LastWords(std::string_view log) {
  const std::string words = LastLineOf(log);
  return words.empty() ? "." : ": " + words;
}

}  // namespace

std::optional<Failure> FailureOf(const ProgramEnd& end, Phase phase, int64_t deadline_ns) {
  switch (end.how) {
    case ProgramEnd::How::kExited:
      if (end.number == 0) return std::nullopt;
      return Failure{FailureKind::kCrashed, phase,
                     fmt::format("It ended with exit status {}{}", end.number, LastWords(end.log))};
    case ProgramEnd::How::kSignalled:
      return Failure{FailureKind::kCrashed, phase,
                     fmt::format("It died of signal {} ({}){}", end.number, strsignal(end.number),
                                 LastWords(end.log))};
    case ProgramEnd::How::kLate:
      break;
    case ProgramEnd::How::kStopped:
      return Failure{FailureKind::kTimedOut, phase, "It was killed, because the run was stopped."};
  }
  return Failure{FailureKind::kTimedOut, phase,
                 fmt::format("It was killed: it had not ended after {:.3g} s{}",
                             static_cast<double>(deadline_ns) / kNsPerSecond, LastWords(end.log))};
}

}  // namespace attune
