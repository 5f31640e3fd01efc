// Everything that TunableOp does, for C++17 and later: attune/tunable.h, which has the details,
// over a run time of attune.hpp.
//
//   attune::Runtime runtime;
//   attune::Tunable tunable(runtime);
//   tunable.Enable(true);
//   tunable.ReadFile("results.csv");
//
// Failures throw attune::Error: a switch that the environment has decided, too
// (ATTUNE_FAILED_PRECONDITION).
#ifndef ATTUNE_TUNABLE_HPP_
#define ATTUNE_TUNABLE_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "attune/tunable.h"

namespace attune {
inline namespace v1 {

using TunableCounters = attune_tunable_counters;
using TunableLoad = attune_tunable_load;
using TunableOffline = attune_tunable_offline;

struct Tolerances {
  double atol = 0;
  double rtol = 0;
};

// Results as text, to be kept or sent and loaded elsewhere.
struct TuningResults {
  std::string validators;  // Lines of a results file,
  std::string results;     // and those that follow them.
};

// The layer of a run time, which must outlive it. Copies are of the same layer. Thread-safe.
class Tunable {
 public:
  explicit Tunable(const Runtime& runtime) : runtime_(runtime.get()) {}

  // ---- switches ----
  void Enable(bool on) const { Check(attune_tunable_enable(runtime_, on)); }
  bool is_enabled() const { return attune_tunable_is_enabled(runtime_) != 0; }
  void EnableTuning(bool on) const { Check(attune_tunable_tuning_enable(runtime_, on)); }
  bool is_tuning_enabled() const { return attune_tunable_tuning_is_enabled(runtime_) != 0; }
  void EnableRecordUntuned(bool on) const {
    Check(attune_tunable_record_untuned_enable(runtime_, on));
  }
  bool is_record_untuned_enabled() const {
    return attune_tunable_record_untuned_is_enabled(runtime_) != 0;
  }
  void EnableWildcardFallback(bool on) const {
    Check(attune_tunable_wildcard_fallback_enable(runtime_, on));
  }
  bool is_wildcard_fallback_enabled() const {
    return attune_tunable_wildcard_fallback_is_enabled(runtime_) != 0;
  }
  void EnableIcacheFlush(bool on) const { Check(attune_tunable_icache_flush_enable(runtime_, on)); }
  bool is_icache_flush_enabled() const {
    return attune_tunable_icache_flush_is_enabled(runtime_) != 0;
  }
  void EnableLibrary(const std::string& library, bool on) const {
    Check(attune_tunable_library_enable(runtime_, library.c_str(), on));
  }
  bool is_library_enabled(const std::string& library) const {
    return attune_tunable_library_is_enabled(runtime_, library.c_str()) != 0;
  }

  // ---- limits of tuning ----
  void SetMaxTuningDuration(std::chrono::milliseconds duration) const {
    Check(attune_tunable_set_max_tuning_duration(runtime_, duration.count()));
  }
  std::chrono::milliseconds max_tuning_duration() const {
    return std::chrono::milliseconds(attune_tunable_get_max_tuning_duration(runtime_));
  }
  void SetMaxTuningIterations(std::int64_t iterations) const {
    Check(attune_tunable_set_max_tuning_iterations(runtime_, iterations));
  }
  std::int64_t max_tuning_iterations() const {
    return attune_tunable_get_max_tuning_iterations(runtime_);
  }
  void SetMaxWarmupDuration(std::chrono::milliseconds duration) const {
    Check(attune_tunable_set_max_warmup_duration(runtime_, duration.count()));
  }
  std::chrono::milliseconds max_warmup_duration() const {
    return std::chrono::milliseconds(attune_tunable_get_max_warmup_duration(runtime_));
  }
  void SetMaxWarmupIterations(std::int64_t iterations) const {
    Check(attune_tunable_set_max_warmup_iterations(runtime_, iterations));
  }
  std::int64_t max_warmup_iterations() const {
    return attune_tunable_get_max_warmup_iterations(runtime_);
  }
  void SetRequestedAlgoCount(std::int64_t count) const {
    Check(attune_tunable_set_requested_algo_count(runtime_, count));
  }
  std::int64_t requested_algo_count() const {
    return attune_tunable_get_requested_algo_count(runtime_);
  }
  // 0: off; negative: the size of the last-level cache.
  void SetRotatingBufferSize(std::int64_t size_mib) const {
    Check(attune_tunable_set_rotating_buffer_size(runtime_, size_mib));
  }
  std::int64_t rotating_buffer_size_bytes() const {
    return attune_tunable_get_rotating_buffer_size_bytes(runtime_);
  }
  // "device_events" or "kernel_profile".
  void SetMeasurementMode(const std::string& mode) const {
    Check(attune_tunable_set_measurement_mode(runtime_, mode.c_str()));
  }
  std::string measurement_mode() const { return attune_tunable_get_measurement_mode(runtime_); }
  // Nothing switches the check off.
  void SetNumericalCheck(const std::optional<Tolerances>& tolerances) const {
    // A disabled tolerance still has to be positive.
    const Tolerances given = tolerances.value_or(Tolerances{1e-5, 1e-5});
    Check(attune_tunable_set_numerical_check_tolerances(runtime_, tolerances.has_value(),
                                                        given.atol, given.rtol));
  }
  std::optional<Tolerances> numerical_check() const {
    Tolerances tolerances;
    const int enabled =
        attune_tunable_get_numerical_check_tolerances(runtime_, &tolerances.atol, &tolerances.rtol);
    return enabled != 0 ? std::optional<Tolerances>(tolerances) : std::nullopt;
  }

  // ---- files ----
  void SetFilename(const std::string& filename, bool insert_device_ordinal = false) const {
    Check(attune_tunable_set_filename(runtime_, filename.c_str(), insert_device_ordinal));
  }
  std::string filename() const { return Given(&attune_tunable_get_filename); }
  void SetUntunedFilename(const std::string& filename) const {
    Check(attune_tunable_set_untuned_filename(runtime_, filename.c_str()));
  }
  std::string untuned_filename() const { return Given(&attune_tunable_get_untuned_filename); }
  // Empty: the file of the run time.
  void ReadFile(const std::string& filename = "") const {
    Check(attune_tunable_read_file(runtime_, NullIfEmpty(filename)));
  }
  void WriteFile(const std::string& filename = "") const {
    Check(attune_tunable_write_file(runtime_, NullIfEmpty(filename)));
  }
  void WriteFileOnExit(bool on) const { Check(attune_tunable_write_file_on_exit(runtime_, on)); }

  // ---- results ----
  TuningResults GetTuningResults() const {
    return {Given(&attune_tunable_get_validators), Given(&attune_tunable_get_results)};
  }
  // Adds the results that hold here; nothing is written.
  TunableLoad LoadTuningResults(const TuningResults& results) const {
    TunableLoad report = ATTUNE_TUNABLE_LOAD_INIT;
    const std::string lines = results.validators + results.results;
    Check(attune_tunable_load_results(runtime_, lines.c_str(), &report));
    return report;
  }
  void Clear() const { Check(attune_tunable_clear(runtime_)); }

  // ---- off line ----
  TunableOffline TuneInFile(const std::string& filename) const {
    TunableOffline report = ATTUNE_TUNABLE_OFFLINE_INIT;
    Check(attune_tunable_tune_in_file(runtime_, filename.c_str(), &report));
    return report;
  }
  // Every file that matches `pattern`, spread over run times of different devices.
  static TunableOffline TuneInFiles(const std::vector<Tunable>& tunables,
                                    const std::string& pattern) {
    std::vector<attune_runtime*> runtimes;
    for (const Tunable& tunable : tunables) runtimes.push_back(tunable.runtime_);
    TunableOffline report = ATTUNE_TUNABLE_OFFLINE_INIT;
    Check(attune_tunable_tune_in_files(runtimes.data(), runtimes.size(), pattern.c_str(), &report));
    return report;
  }

  // On devices 0 to count-1 of `kind` ("cuda"), on run times of their own with `options`.
  static TunableOffline TuneOnDevices(const std::string& kind, int64_t count,
                                      const std::string& pattern,
                                      const attune_options& options = ATTUNE_OPTIONS_INIT) {
    TunableOffline report = ATTUNE_TUNABLE_OFFLINE_INIT;
    Check(attune_tunable_tune_on_devices(&options, kind.c_str(), count, pattern.c_str(), &report));
    return report;
  }

  TunableCounters Counters() const {
    TunableCounters counters = ATTUNE_TUNABLE_COUNTERS_INIT;
    Check(attune_tunable_get_counters(runtime_, &counters));
    return counters;
  }

 private:
  static const char* NullIfEmpty(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  }
  std::string Given(attune_code (*give)(attune_runtime*, char**)) const {
    char* text = nullptr;
    Check(give(runtime_, &text));
    const std::unique_ptr<char, decltype(&attune_free)> owned(text, &attune_free);
    return std::string(text);
  }

  attune_runtime* runtime_;
};

// While it lives, calls of its thread have these dynamic dimensions (ATTUNE_DYNAMIC_*).
class DynamicDimsScope {
 public:
  explicit DynamicDimsScope(unsigned mask) { Check(attune_tunable_push_dynamic_dims(mask)); }
  ~DynamicDimsScope() { (void)attune_tunable_pop_dynamic_dims(); }
  DynamicDimsScope(const DynamicDimsScope&) = delete;
  DynamicDimsScope& operator=(const DynamicDimsScope&) = delete;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_TUNABLE_HPP_
