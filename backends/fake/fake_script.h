// The behaviour of the fake backend's candidates, as text, so that it can be passed to a worker
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/trial/candidate.h"
#include "attune/trial/device_conditions.h"

namespace attune {

// How a candidate misbehaves. All of these are real: a process really dies, hangs or grows.
enum class FakeFault {
  kNone,               // "none"
  kBuildFails,         // "build_fails": the compiler rejects the source.
  kSlowBuild,          // "slow_build": compiling takes delay_ms of real time.
  kLoadFails,          // "load_fails"
  kSlowLoad,           // "slow_load": loading takes delay_ms of real time.
  kSlowLaunch,         // "slow_launch": every launch takes delay_ms of real time.
  kLaunchFails,        // "launch_fails": Run returns an error.
  kCaptureFails,       // "capture_fails": right, but for a graph that it cannot become part of.
  kCrash,              // "crash": SIGSEGV
  kCrashBehindOthers,  // "crash_behind_others": SIGSEGV if this process has loaded others before.
  kAbort,              // "abort": SIGABRT
  kKilled,             // "killed": SIGKILL, as a system short of memory does it.
  kExit,               // "exit": the process ends with status 3 and without output.
  kHang,               // "hang": sleeps without end.
  kSpin,               // "spin": computes without end.
  kWrongResult,        // "wrong_result": leaves the last term of every sum out.
  kSkipsZeros,         // "skips_zeros": skips zeros of B, so 0 times NaN is 0.
  kNan,                // "nan": one NaN.
  kStale,              // "stale": writes nothing, so the old output stays.
  kWritePastEnd,       // "write_past_end": one element behind the output.
  kWriteBeforeStart,   // "write_before_start"
  kOverwriteInput,     // "overwrite_input": changes one element of A.
  kOverwriteGap,       // "overwrite_gap": writes one element behind every column of C.
  // "loses_device", "loses_device_on_load": from then on every call of this process to the device
  // fails, as after an illegal address on a GPU.
  kLosesDevice,
  kLosesDeviceOnLoad,
  kMemoryHog,  // "memory_hog": allocates and touches memory up to hog_limit_mib, then gives up.
};
std::string_view Name(FakeFault fault);
std::optional<FakeFault> ParseFakeFault(std::string_view name);

// One candidate's life.
struct FakeBehaviour {
  // True time of one launch; 0 uses the built-in model (FakeModelTimeNs).
  double time_ns = 0;
  double sigma = 0.01;           // Lognormal noise of a block.
  double spike_probability = 0;  // Per block, to be slowed down by a factor in [2, 10].
  double cold_factor = 1.5;      // A launch with cold caches takes so much longer.
  FakeFault fault = FakeFault::kNone;
  // The first faulty launch of a loaded candidate, counted from 1. Verification is the first
  // launch, so the fault of a larger number shows while measuring.
  int fault_at_launch = 1;
  int delay_ms = 0;          // For slow_build, slow_load and slow_launch.
  int hog_limit_mib = 4096;  // For memory_hog: bounded in case no watchdog runs.

  friend bool operator==(const FakeBehaviour&, const FakeBehaviour&) = default;
};

// Lines of `candidate key=value ...`, `#` comments and blank lines; `;` may stand for a line break.
// The candidate is a solver name, with or without some parameters: `fake.tiled{tile=8}
// fault=crash`, or `*` for all. Every line that matches a candidate changes the keys that it names,
// in order. The line `device key=value ...` sets properties that all candidates share:
//   seed
//   drift                   amplitude of the slow change of speed, a fraction
//   count                   number of devices: "fake", then "fake:1", ...
//   broken                  number of a device that cannot be opened
//   costly                  1: Backend::IsCostlyToOpen
//   listed                  number of configs that the device lists for fake.listed, a solver that
//                           exists if there are any
//   ieee_special_values     1: the trait of all solvers
//   (DeviceConditions)      its fields by name; clock_reasons separated by commas, or `none`
//   conditions              crash: the device kills the process that reads its conditions
//   tiled_version           version of the code that fake.tiled runs; unknown unless it is set
//   library_version         version of the library
//   gone_if                 a file that is made when a candidate loses the device; while it exists,
//                           no process can open the device
//   identity                DeviceReport::identity of all devices: they are names of one device
//   spans                   a file to which every timed block appends a line `process begin end`,
//                           the last two in nanoseconds of the machine's steady clock
class FakeScript {
 public:
  FakeScript() = default;

  // Fails with line and column of the first mistake.
  static Result<FakeScript> Parse(std::string_view text);

  FakeBehaviour BehaviourOf(const Candidate& candidate) const;
  uint64_t seed() const { return seed_; }
  double drift() const { return drift_; }
  int listed() const { return listed_; }
  int ieee_special_values() const { return ieee_special_values_; }
  int count() const { return count_; }
  int broken() const { return broken_; }
  int costly() const { return costly_; }
  const DeviceConditions& conditions() const { return conditions_; }
  bool asking_kills() const { return asking_kills_; }
  const std::string& tiled_version() const { return tiled_version_; }
  const std::string& library_version() const { return library_version_; }
  const std::string& gone_if() const { return gone_if_; }
  const std::string& identity() const { return identity_; }
  const std::string& spans() const { return spans_; }

 private:
  struct Setting {
    std::string key;
    std::string value;
  };
  struct Rule {
    std::string solver;  // "*" for all.
    Config config;       // Parameters that must agree.
    std::vector<Setting> settings;
  };
  static Status Apply(const Setting& setting, FakeBehaviour& behaviour);
  Status ApplyToDevice(const Setting& setting);
  // False if `setting` is none of the conditions.
  Result<bool> ApplyToConditions(const Setting& setting);
  Status ParseLine(std::string_view line);
  static Result<Setting> ParseSetting(std::string_view word);
  static bool Matches(const Rule& rule, const Candidate& candidate);

  std::vector<Rule> rules_;
  uint64_t seed_ = 1;
  double drift_ = 0;
  int listed_ = 0;
  int ieee_special_values_ = 0;
  int count_ = 1;
  int broken_ = -1;
  int costly_ = 0;
  DeviceConditions conditions_;
  bool asking_kills_ = false;
  std::string tiled_version_;
  std::string library_version_ = "1.0";
  std::string gone_if_;
  std::string identity_;
  std::string spans_;
};

// The environment variable through which a process gets its script.
inline constexpr const char* kFakeScriptVariable = "ATTUNE_FAKE_SCRIPT";

// The script out of kFakeScriptVariable; an empty one if it is not set.
Result<FakeScript> FakeScriptFromEnvironment();

}  // namespace attune
