// Results of other tuners for a kernel: reads caches of Kernel Tuner and results in the format T4,
// writes T4. docs/formats/tuner_results.md.
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

// One config that was tried. Times are in milliseconds; 0 if unknown.
struct TriedConfig {
  Config config;
  // "ok", or why it failed in T4's words: compile, runtime, correctness, timeout, constraints.
  std::string status = "ok";
  double time_ms = 0;  // Kernel time; above 0 if it is ok.
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
  std::string name;  // The readable part.
  TextPlace place;

  friend bool operator==(const LostEntry&, const LostEntry&) = default;
};

struct TunerResults {
  std::string kernel;  // Empty if unknown, as the next.
  std::string device;
  std::vector<std::string> parameters;  // In the order of the file; each config has them all.
  std::vector<TriedConfig> tried;
  bool is_open = false;  // Lacks closing braces, as the file of a running Kernel Tuner.
  std::optional<LostEntry> lost;

  friend bool operator==(const TunerResults&, const TunerResults&) = default;
};

// "the file ends inside entry '64,2' (line 9, column 9), which is left out", that it may still
// grow, or nothing if the file is complete.
std::string WhatIsMissing(const TunerResults& results);

// Reads a cache of Kernel Tuner, also an open one, or T4, and detects which `json` is. A config
// with a time of NaN or infinity has failed. kInvalidArgument gives line, column and JSON pointer
// of a defect or of unsupported content: objectives but time, other units, parameters that some
// configs lack.
Result<TunerResults> ReadTunerResults(std::string_view json);

// kInvalidArgument if there are no results, or if their parameter names differ from `parameters`.
Status CheckOfKernel(const TunerResults& results, std::span<const Parameter> parameters);

// As T4, ends with a line end.
std::string WriteT4(const TunerResults& results);

// As a recorded space (docs/formats/recorded_space.md), which `attune replay` reads. kUnsupported
// names a value that such a line cannot hold, or a duplicate config, or reports that there is no
// config.
Result<std::string> WriteRecordedSpace(const TunerResults& results);

// All trials of one problem in `sets` by solvers called `solver`: for each config the newest
// failure or, if it worked, its newest measurement.
TunerResults ResultsOf(std::span<const RecordedSet> sets, std::string_view solver);

}  // namespace attune
