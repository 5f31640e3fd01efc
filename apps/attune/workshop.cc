#include "apps/attune/workshop.h"

#include <limits>

#include "attune/record/select.h"

namespace attune {
namespace {

// Less than any process takes: a unit was forgotten.
constexpr int64_t kMinMemoryLimitBytes = 1 << 20;

}  // namespace

void AddLimitOptions(CLI::App& verb, WorkshopLimits& limits) {
  verb.add_option("--jobs", limits.jobs,
                  "Candidates that are built and verified at once (default: one for each core)")
      ->check(CLI::Range(0, 1024));
  verb.add_option("--memory-limit", limits.memory_limit_bytes,
                  "Memory of one candidate's process, as 4GiB or 512MiB "
                  "(default: an equal share of what the machine has)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kMinMemoryLimitBytes, std::numeric_limits<int64_t>::max()))
      ->type_name("SIZE");
}

Result<std::unique_ptr<Workshop>> Workshop::Open(const Place& place, const WorkshopLimits& limits) {
  std::unique_ptr<Workshop> workshop(new Workshop(place));
  ChildOptions& children = workshop->children_;
  ATTUNE_ASSIGN_OR_RETURN(children.program, FindEvaluatorProgram());
  children.device = place.device_spec;
  children.share_children = place.backend->IsCostlyToOpen();
  children.jobs = limits.jobs;
  children.memory_limit_bytes = limits.memory_limit_bytes;
  ATTUNE_RETURN_IF_ERROR(CheckMemoryLimit(children));
  if (const auto peaks = MeasurePeaksInChild(children); peaks.ok()) {
    workshop->peaks_ = *peaks;
  } else {
    workshop->peaks_status_ = peaks.error();
  }
  workshop->evaluator_ = MakeChildEvaluator(children);
  return workshop;
}

void Workshop::RaisePeaks() {
  if (const auto again = MeasurePeaksInChild(children_); again.ok()) {
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
  return parts;
}

}  // namespace attune
