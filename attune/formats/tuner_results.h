// What other tuners recorded of a kernel: caches of Kernel Tuner and results in the format T4 are
// read, T4 is written. docs/formats/tuner_results.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/text_place.h"
#include "attune/record/record.h"
#include "attune/space/config.h"
#include "attune/space/config_space.h"

namespace attune {

// One config that was tried. Times are in milliseconds; 0 where nobody says.
struct TriedConfig {
  Config config;
  // "ok", or why it failed in T4's words: compile, runtime, correctness, timeout, constraints.
  std::string status = "ok";
  double time_ms = 0;  // Of the kernel; above 0 if it is ok.
  std::vector<double> runtimes_ms;
  double compile_ms = 0;
  double verification_ms = 0;
  double benchmark_ms = 0;
  double search_ms = 0;
  double framework_ms = 0;
  std::string timestamp;

  friend bool operator==(const TriedConfig&, const TriedConfig&) = default;
};

// The entry in which an open file ends. It is not among the configs.
struct LostEntry {
  std::string name;  // As far as it is there.
  TextPlace place;

  friend bool operator==(const LostEntry&, const LostEntry&) = default;
};

struct TunerResults {
  std::string kernel;  // Empty where the file does not say, as the next.
  std::string device;
  std::vector<std::string> parameters;  // In the order of the file; each config has them all.
  std::vector<TriedConfig> tried;
  bool is_open = false;  // It lacks closing braces, as the file of a Kernel Tuner that still runs.
  std::optional<LostEntry> lost;

  friend bool operator==(const TunerResults&, const TunerResults&) = default;
};

// "the file ends inside entry '64,2' (line 9, column 9), which is left out", that it may still
// grow, or nothing if the file is whole.
std::string WhatIsMissing(const TunerResults& results);

// Reads a cache of Kernel Tuner, also an open one, or T4, whichever `json` is. A config whose time
// is NaN or infinite has failed. kInvalidArgument gives line, column and JSON pointer of a defect
// or of what has no place here: objectives but time, other units, parameters that some configs
// lack.
Result<TunerResults> ReadTunerResults(std::string_view json);

// kInvalidArgument if there are no results, or their parameters are not `parameters`: by name.
Status CheckOfKernel(const TunerResults& results, std::span<const Parameter> parameters);

// As T4, ends with a line end.
std::string WriteT4(const TunerResults& results);

// As a recorded space (docs/formats/recorded_space.md), which `attune replay` reads.
// kUnsupported names a value that has no place in such a line, a config that stands twice, or says
// that there is none.
Result<std::string> WriteRecordedSpace(const TunerResults& results);

// All that was tried of one problem in `sets`, by solvers called `solver`: of each config the
// newest failure or, if it worked, its newest measurement.
TunerResults ResultsOf(std::span<const RecordedSet> sets, std::string_view solver);

}  // namespace attune
