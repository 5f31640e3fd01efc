// The switches of TunableOp under our names, as values: the settings of the environment, those that
// the API may still change, and their combined meaning. docs/tunableop.md has the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/process_variables.h"
#include "attune/base/status.h"
#include "attune/tunable/numerical_check.h"

namespace attune {

// One for each variable. The environment calls them ATTUNE_TUNABLE_ and Name().
enum class TunableVariable {
  kEnabled,
  kTuning,
  kRecordUntuned,
  kVerbose,
  kVerboseFilename,
  kFilename,
  kUntunedFilename,
  kNumericalCheck,
  kRequestedAlgoCount,
  kMaxTuningDurationMs,
  kMaxTuningIterations,
  kMaxWarmupDurationMs,
  kMaxWarmupIterations,
  kIcacheFlushEnabled,
  kRotatingBufferSize,
  kBlasLog,
  kWildcardFallback,
  kTuningMeasurementMode,
};
inline constexpr std::string_view kTunablePrefix = "ATTUNE_TUNABLE_";
// "ENABLED", "MAX_TUNING_DURATION_MS".
std::string_view Name(TunableVariable variable);

enum class MeasurementMode {
  kDeviceEvents,   // "device_events" or "cuda_events": from idle to complete, host time included.
  kKernelProfile,  // "kernel_profile" or "cuda_kernel_profile": a profiler's times of
                   // the kernels.
};
std::string_view Name(MeasurementMode mode);

struct TunableSettings {
  bool enabled = false;
  bool tuning = true;
  bool record_untuned = false;
  bool wildcard_fallback = false;
  bool blas_log = false;
  bool icache_flush = true;
  int verbose = 0;                       // 0 silent, 1 basic, 2 status, 3 trace.
  std::string verbose_filename = "err";  // "err", "out" or a file.
  std::string filename = "attune_tunable_results.csv";
  bool filename_takes_ordinal = true;  // Names of the environment do, those of the API if asked.
  std::string untuned_filename = "attune_tunable_untuned.csv";
  NumericalCheck numerical_check;
  // By LibraryName: "openblas", of ATTUNE_TUNABLE_OPENBLAS_ENABLED=0.
  std::set<std::string> disabled_libraries;
  // Limit on the algorithms that a library lists on the device, best guess first; at least 1. 0,
  // while nothing is set: all.
  int64_t requested_algo_count = 0;
  int64_t max_tuning_duration_ms = 30;  // For one candidate; 0: no limit. As the next three.
  int64_t max_tuning_iterations = 100;
  int64_t max_warmup_duration_ms = 0;
  int64_t max_warmup_iterations = 0;
  std::optional<int64_t>
      rotating_buffer_bytes;  // Nothing: the size of the last-level cache. 0: off.
  MeasurementMode measurement_mode = MeasurementMode::kDeviceEvents;

  friend bool operator==(const TunableSettings&, const TunableSettings&) = default;
};

// The name of a library here: in lower case, with a hyphen for each '_', because variables have no
// hyphens: CONV_DIRECT_ENABLED is of "conv-direct".
std::string LibraryName(std::string_view name);

// Settings, and which of them the environment has decided. Not thread-safe.
class TunableSwitches {
 public:
  TunableSwitches() = default;

  // Reads every variable of the prefix. An invalid number, and an unknown name, is a warning and
  // leaves the default; a numerical check or a measurement mode that cannot be read is an error,
  // because users would believe that a check is on which is silently off.
  static Result<TunableSwitches> FromEnvironment(const ProcessVariables& variables);

  const TunableSettings& settings() const { return settings_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // For the API functions. kFailedPrecondition if the environment has decided: ENABLED=1, TUNING=0
  // and RECORD_UNTUNED=1 cannot be taken back, every other variable that is set stays. Setting the
  // value of the environment is no failure. kInvalidArgument for a value that cannot be read.
  // Either leaves everything as it was.
  Status Set(TunableVariable variable, std::string_view value);
  // A file name of the API takes the ordinal of the device only if `with_ordinal`.
  Status SetFilename(std::string_view name, bool with_ordinal);
  Status SetNumericalCheck(const NumericalCheck& check);
  Status SetLibraryEnabled(std::string_view library, bool enabled);
  // Those that the environment has switched on or off, by LibraryName.
  const std::set<std::string>& decided_libraries() const { return decided_libraries_; }

 private:
  Status RefuseIfDecided(TunableVariable variable, const TunableSettings& wanted) const;

  TunableSettings settings_;
  std::set<TunableVariable> decided_;
  std::set<std::string> decided_libraries_;
  std::vector<std::string> warnings_;
};

// The combined meaning of ENABLED, TUNING and RECORD_UNTUNED. A hit is served and nothing else: it
// is never tuned again and never recorded.
struct TunableActions {
  bool serve = false;           // Results answer lookups.
  bool tune_on_miss = false;    // A miss is tuned (when, is the policy of the run time).
  bool record_on_miss = false;  // A miss is added to the untuned file.

  friend bool operator==(const TunableActions&, const TunableActions&) = default;
};
TunableActions ActionsOf(const TunableSettings& settings);

// The size in bytes that ROTATING_BUFFER_SIZE means if the last-level cache has `cache_bytes`: 0 is
// off.
int64_t RotatingBudgetBytes(const TunableSettings& settings, int64_t cache_bytes);

// How often to time a candidate with a run of `approximate_ms`: the smaller of both limits, at
// least 1, and 100 if neither is on.
int64_t TimedIterations(const TunableSettings& settings, double approximate_ms);
// How often it runs before, untimed: 0 if neither limit is on.
int64_t WarmupIterations(const TunableSettings& settings, double approximate_ms);

}  // namespace attune
