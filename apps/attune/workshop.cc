#include "apps/attune/workshop.h"

#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/verbs.h"
#include "attune/library/library_evaluator.h"
#include "attune/record/select.h"
#include "attune/tuner/local_evaluator.h"
#include "runtime/profiled_devices.h"

namespace attune {

Result<std::unique_ptr<Workshop>> Workshop::Open(const Place& place, const WorkshopLimits& limits,
                                                 const std::function<bool()>& go_on,
                                                 int64_t peaks_end_ns) {
  if (const LibraryBackend* library = AsLibrary(*place.backend)) {
    return OpenLibrary(place, *library);
  }
  std::unique_ptr<Workshop> workshop(new Workshop(place));
  ChildOptions& children = workshop->children_;
  ATTUNE_ASSIGN_OR_RETURN(children.program, FindEvaluatorProgram());
  children.device = place.device_spec;
  ShareIfCostly(*place.backend, children);
  children.jobs = limits.jobs;
  children.compile_jobs = limits.compile_jobs;
  children.opens_ahead = limits.opens_ahead;
  if (limits.log != nullptr) {
    children.on_output = [log = limits.log](std::string_view text) { log->Write(text); };
  }
  children.memory_limit_bytes = limits.memory_limit_bytes;
  if (limits.run_deadline_ns > 0) children.run_deadline_ns = limits.run_deadline_ns;
  ATTUNE_RETURN_IF_ERROR(CheckMemoryLimit(children));
  ATTUNE_RETURN_IF_ERROR(workshop->TakeMachine(MachineLock::Open(place)));
  if (limits.is_in_process) {
    ATTUNE_ASSIGN_OR_RETURN(workshop->device_, place.backend->Open(place.device_spec));
    workshop->evaluator_ = MakeLocalEvaluator(place.backend->solvers(), *workshop->device_);
    return workshop;
  }
  if (limits.measures_peaks) {
    const auto peaks = workshop->MeasurePeaks(go_on, peaks_end_ns);
    if (peaks.ok()) workshop->peaks_ = *peaks;
    workshop->peaks_status_ = peaks.status();
  }
  workshop->evaluator_ = MakeChildEvaluator(children);
  return workshop;
}

Result<std::unique_ptr<Workshop>> Workshop::OpenLibrary(const Place& place,
                                                        const LibraryBackend& backend) {
  std::unique_ptr<Workshop> workshop(new Workshop(place));
  const std::string device = backend.DeviceOf(place.device_spec);
  ATTUNE_RETURN_IF_ERROR(workshop->TakeMachine(device.empty() ? MachineLock::Open(place)
                                                              : LockOfGpu(device, LazyBackends())));
  workshop->kernels_ = OpenDefaultKernelCache();
  workshop->evaluator_ = MakeLibraryEvaluator(backend.library(), device, *workshop->kernels_.cache);
  return workshop;
}

Status Workshop::TakeMachine(Result<std::unique_ptr<MachineLock>> machine) {
  if (machine.ok()) {
    machine_ = std::move(*machine);
  } else if (machine.error().code() == StatusCode::kUnavailable) {
    turns_status_ = machine.error();
  } else {
    return machine.error();
  }
  return Status::Ok();
}

Result<MachineTurns::Grant> Workshop::TakeTurn(MachineUse use, const std::function<bool()>& go_on) {
  if (machine_ == nullptr) return MachineTurns::Grant();
  return machine_->Take(use, go_on);
}

Result<Peaks> Workshop::MeasurePeaks(const std::function<bool()>& go_on, int64_t end_ns) {
  // Without a turn, but not where that is refused: peaks beside others are too low and better than
  // none, and they are raised when they prove to be.
  ATTUNE_ASSIGN_OR_RETURN(const auto grant, TakeTurn(MachineUse::kTime, go_on));
  return MeasurePeaksInChild(children_, end_ns);
}

void Workshop::RaisePeaks(const std::function<bool()>& go_on, int64_t end_ns) {
  if (AsLibrary(*place_.backend) != nullptr) return;  // Peaks of libraries are unknown.
  if (const auto again = MeasurePeaks(go_on, end_ns); again.ok()) {
    peaks_ = HighestOf(peaks_, *again);
  }
}

TunerParts Workshop::PartsFor(RecordStore& store) {
  TunerParts parts;
  parts.solvers = &place_.backend->solvers();
  parts.target = place_.target;
  parts.environment = place_.environment;
  parts.peaks = peaks_;
  parts.store = &store;
  parts.evaluator = evaluator_.get();
  parts.clock = &clock_;
  parts.machine = machine_.get();
  parts.other_places = &other_places_;
  return parts;
}

std::string MissingText(const Workshop& workshop) {
  std::string text;
  if (!workshop.peaks_status().ok()) {
    text += fmt::format(
        "attune tune: The peaks of the device could not be measured, so no winner has a fraction "
        "of the roofline. {}\n",
        Printable(workshop.peaks_status().message()));
  }
  if (!workshop.turns_status().ok()) {
    text += fmt::format(
        "attune tune: Processes cannot take turns at measuring, so that others may disturb this "
        "one. {}\n",
        Printable(workshop.turns_status().message()));
  }
  return text;
}

}  // namespace attune
