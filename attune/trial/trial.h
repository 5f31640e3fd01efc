// One attempt to build, check and time one candidate, and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attune/trial/candidate.h"

namespace attune {

enum class FailureKind {
  kNotApplicable,  // The solver refused the problem or the config after all.
  kBuildFailed,    // The compiler or the library rejected it.
  kLoadFailed,     // Built, but could not be made ready on the device.
  kRunFailed,      // The launch returned an error.
  kWrongResult,    // Outside the tolerance, or NaN or poison left in the output.
  kOutOfBounds,    // Wrote into a red zone or into an input.
  kCrashed,        // The process died: signal or exit status is in the message.
  kTimedOut,       // Past the deadline of its phase.
  kOutOfMemory,    // Past the memory limit, or the allocation failed.
};
// "wrong_result" and so on: the text in stores and JSON.
std::string_view Name(FailureKind kind);
std::optional<FailureKind> ParseFailureKind(std::string_view name);

// The stage of the pipeline that a candidate was in.
enum class Phase { kBuild, kLoad, kRun, kVerify, kMeasure };
std::string_view Name(Phase phase);
std::optional<Phase> ParsePhase(std::string_view name);

struct Failure {
  FailureKind kind = FailureKind::kRunFailed;
  Phase phase = Phase::kRun;
  std::string message;  // Any bytes: library texts land here.

  friend bool operator==(const Failure&, const Failure&) = default;
};

// Different measurements, never mixed in one comparison.
enum class CacheState {
  kWarm,      // Operands were just used by the same candidate.
  kCold,      // Caches were displaced before every launch.
  kRotating,  // Every launch used the next one of several copies of the operands.
};
std::string_view Name(CacheState state);
std::optional<CacheState> ParseCacheState(std::string_view name);

struct Measurement {
  // One number for each timed block, in the order measured: nanoseconds of one launch (the block's
  // time divided by its launches). At most kMaxSamples.
  static constexpr size_t kMaxSamples = 4096;
  std::vector<double> samples_ns;
  double median_ns = 0;
  // Distribution-free confidence interval of the median (order statistics), at `confidence`.
  double low_ns = 0;
  double high_ns = 0;
  double confidence = 0;  // 0.99; lower when there are too few samples.
  CacheState cache = CacheState::kWarm;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// The purpose of a trial. Only trials of one measurement set and one role are compared with each
// other.
enum class TrialRole {
  kQualify,  // Built and verified, not timed under fair conditions.
  kScreen,   // Timed in interleaved rounds to find the possible winners.
  kFinal,    // Fresh samples of the finalists and the default: the decision rests on these alone.
};
std::string_view Name(TrialRole role);
std::optional<TrialRole> ParseTrialRole(std::string_view name);

struct Trial {
  Candidate candidate;
  TrialRole role = TrialRole::kScreen;
  bool is_default = false;  // The candidate that stays unless beaten.
  // monostate for a passed kQualify.
  std::variant<std::monostate, Failure, Measurement> outcome;
  int64_t build_ns = 0;  // Compiling (0 if it came from the kernel cache).
  // Creating: primitive creation, loading a binary, packing tables, first launch excluded.
  int64_t load_ns = 0;
  int64_t workspace_bytes = 0;
  double max_error = 0;  // Largest error found by verification, as a fraction of the tolerance.
  // Why a launch cannot become part of a graph (stream capture); its times then include the host's
  // time between launches. Any bytes. Empty: it can, the device has no graphs, it was not tested,
  // or the test failed.
  std::string capture_failure;

  const Failure* failure() const { return std::get_if<Failure>(&outcome); }
  const Measurement* measurement() const { return std::get_if<Measurement>(&outcome); }

  friend bool operator==(const Trial&, const Trial&) = default;
};

}  // namespace attune
