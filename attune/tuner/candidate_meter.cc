// The part of CandidateRunner that measures metrics beside time.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/captured_output.h"
#include "attune/measure/clock.h"
#include "attune/measure/energy_meter.h"
#include "attune/tuner/candidate_runner.h"
#include "attune/verify/output_figure.h"
#include "attune/verify/printed_figure.h"

namespace attune {
namespace {

constexpr double kUnknownLaunchNs = 1e9;

bool AnyPrinted(const MeterRequest& request) {
  return std::any_of(request.outputs.begin(), request.outputs.end(),
                     [](const FigureSource& source) { return !source.printed.empty(); });
}

}  // namespace

Status CandidateRunner::CheckMeter(const MeterRequest& request) {
  if (!request.energy || energy_ != nullptr) return Status::Ok();
  auto* const metered = dynamic_cast<MeteredDevice*>(parts_.device);
  if (metered == nullptr) {
    return Unsupported(fmt::format("Nothing is known of what a device of backend '{}' draws.",
                                   parts_.device->target().backend));
  }
  ATTUNE_ASSIGN_OR_RETURN(energy_, metered->OpenEnergyCounter());
  return Status::Ok();
}

Result<MeterReading> CandidateRunner::ReadFigures(Loaded& candidate, const MeterRequest& request) {
  ATTUNE_RETURN_IF_ERROR(CheckMeter(request));
  const auto launch = [&](int64_t launches) -> Status {
    for (int64_t i = 0; i < launches; ++i) {
      ATTUNE_RETURN_IF_ERROR(candidate.executable->Run(operands_.arguments()));
    }
    return parts_.device->Synchronize();
  };
  MeterReading reading;
  if (!request.outputs.empty()) {
    ATTUNE_RETURN_IF_ERROR(operands_.Reset());
    // After synchronizing, the output of earlier launches is flushed.
    ATTUNE_RETURN_IF_ERROR(parts_.device->Synchronize());
    std::string text;
    if (AnyPrinted(request)) {
      ATTUNE_ASSIGN_OR_RETURN(text, CaptureOutput([&] { return launch(1); }));
    } else {
      ATTUNE_RETURN_IF_ERROR(launch(1));
    }
    const FigureReader reader(*parts_.device, Operands(*parts_.problem), operands_.arguments(),
                              candidate.executable->workspace_bytes());
    for (const FigureSource& source : request.outputs) {
      ATTUNE_ASSIGN_OR_RETURN(
          reading.outputs.emplace_back(),
          source.printed.empty() ? reader.Read(source) : ReadPrintedFigure(source, text));
    }
  }
  if (request.energy) {
    SteadyClock clock;
    // A candidate without a timed block is launched one by one.
    const double launch_ns = candidate.last_ns > 0 ? candidate.last_ns : kUnknownLaunchNs;
    ATTUNE_ASSIGN_OR_RETURN(reading.energy, MeasureEnergy(*energy_, launch, launch_ns, clock));
  }
  return reading;
}

tl::expected<MeterReading, Failure> CandidateRunner::Meter(size_t index,
                                                           const MeterRequest& request) {
  const auto fail = [](const Status& status) {
    return tl::unexpected(Failure{FailureKind::kRunFailed, Phase::kMeasure, status.message()});
  };
  parts_.on_phase(Phase::kMeasure);
  is_asleep_ = false;
  auto reading = ReadFigures(loaded_[index], request);
  if (!reading.ok()) return fail(reading.error());
  if (const Status asleep = FallAsleep(); !asleep.ok()) return fail(asleep);
  return *std::move(reading);
}

}  // namespace attune
