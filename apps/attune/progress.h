// How far a tuning run is: one live line on a terminal, now and then a plain line elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "apps/attune/terminal.h"
#include "attune/measure/clock.h"
#include "attune/tuner/tune_run.h"

namespace attune {

// One line, at most `width` columns: bar, count, problem, stage, time passed and left.
std::string LiveLine(const RunProgress& progress, int width);

// The same for a log, without a bar and whole: the outcome of a problem, or its progress.
std::string PlainLine(const RunProgress& progress);

// Writes to `err`, which outlives it. Not thread-safe.
class ProgressReporter {
 public:
  ProgressReporter(Output& err, Clock& clock) : err_(err), clock_(clock) {}
  ~ProgressReporter() { Clear(); }
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void Show(const RunProgress& progress);
  // Takes the live line away, so that other text can be printed.
  void Clear();

 private:
  void ShowLive(const RunProgress& progress, int64_t now_ns);
  void ShowPlain(const RunProgress& progress, int64_t now_ns);

  // A terminal is redrawn this often at most; a log gets a line for each problem that ends, but not
  // more than one in kFinishedEveryNs, a sign of life within a long one, and one when a run waits
  // for another process for the first time.
  static constexpr int64_t kRedrawEveryNs = 100'000'000;
  static constexpr int64_t kFinishedEveryNs = 500'000'000;
  static constexpr int64_t kAliveEveryNs = 10'000'000'000;

  Output& err_;
  Clock& clock_;
  bool live_line_shown_ = false;
  bool began_ = false;
  bool has_said_wait_ = false;
  int64_t last_ns_ = 0;
};

}  // namespace attune
