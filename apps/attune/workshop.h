// A device made ready to try candidates: its peaks measured, child processes at hand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "apps/attune/compiler_log.h"
#include "attune/base/status.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/device/device.h"
#include "attune/library/library_backend.h"
#include "attune/measure/clock.h"
#include "attune/record/record_store.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/machine_turns.h"
#include "attune/tuner/tuner.h"
#include "runtime/machine_lock.h"
#include "runtime/places.h"

namespace attune {

// Limits for candidates.
struct WorkshopLimits {
  int jobs = 0;                    // 0: one child for each core.
  int compile_jobs = 0;            // On GPUs, where one child has the device. 0: as many as cores.
  int64_t memory_limit_bytes = 0;  // For each worker; 0: an equal share of physical memory.
  int64_t run_deadline_ns = 0;     // ChildOptions::run_deadline_ns; 0: its default.
  bool opens_ahead = false;        // ChildOptions::opens_ahead.
  CompilerLog* log = nullptr;      // Receives the output of workers; null: dropped.
  bool measures_peaks = true;      // False: Workshop::peaks() are zeros.
  // Candidates run in this process, without workers, for debugging: one that crashes takes the
  // process along. Peaks are not measured.
  bool is_in_process = false;
};

class Workshop {
 public:
  // kInvalidArgument if the memory limit leaves no room for any candidate. Measures the peaks of
  // the device, if `limits` say so, which takes a fraction of a second, and before that waits for
  // its turn at the machine for as long as `go_on` (may be null) says. At `peaks_end_ns` (steady
  // clock) it gives up measuring them: a device may have to compile for it. Without peaks tuning
  // continues, and peaks() are zeros.
  static Result<std::unique_ptr<Workshop>> Open(const Place& place, const WorkshopLimits& limits,
                                                const std::function<bool()>& go_on = nullptr,
                                                int64_t peaks_end_ns = QualifyTime::kForever);

  // The parts for a Tuner that keeps its records in `store`; valid as long as this object.
  // REQUIRES: the same store each time.
  TunerParts PartsFor(RecordStore& store);
  Evaluator& evaluator() { return *evaluator_; }
  const Place& place() const { return place_; }
  const Peaks& peaks() const { return peaks_; }
  // Measures the peaks again and keeps the higher ones; waits, and gives up at `end_ns`, as Open
  // does. Nothing may be timed meanwhile.
  void RaisePeaks(const std::function<bool()>& go_on, int64_t end_ns);
  // Why there are no peaks, or ok.
  const Status& peaks_status() const { return peaks_status_; }
  // Waits for the machine (MachineTurns::Take) where turns can be taken; granted at once elsewhere.
  Result<MachineTurns::Grant> TakeTurn(MachineUse use, const std::function<bool()>& go_on);
  // Why processes cannot take turns at the machine, or ok.
  const Status& turns_status() const { return turns_status_; }

 private:
  explicit Workshop(const Place& place) : place_(place), other_places_(place.target) {}
  // The same for a library that runs as a program of its own, which has no peaks and no workers.
  static Result<std::unique_ptr<Workshop>> OpenLibrary(const Place& place,
                                                       const LibraryBackend& backend);
  // Takes the lock, if available. A fault in how it was chosen is an error.
  Status TakeMachine(Result<std::unique_ptr<MachineLock>> machine);
  Result<Peaks> MeasurePeaks(const std::function<bool()>& go_on, int64_t end_ns);

  Place place_;
  OtherPlaces other_places_;
  ChildOptions children_;
  std::unique_ptr<MachineTurns> machine_;  // Null without turns.
  Status turns_status_;
  Peaks peaks_;
  Status peaks_status_;
  SteadyClock clock_;
  OpenedKernelCache kernels_;       // For a library.
  std::unique_ptr<Device> device_;  // For candidates that run in this process.
  std::unique_ptr<Evaluator> evaluator_;
};

// Messages of `attune tune` about peaks and turns that are missing, with reasons; empty if none is.
std::string MissingText(const Workshop& workshop);

}  // namespace attune
