#include "attune/record/rules.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/base/text.h"

namespace attune {
namespace {

bool IsTime(double value) { return std::isfinite(value) && value >= 0; }

Status CheckMeasurement(const Measurement& measurement, const Trial& trial) {
  const std::string who = Text(trial.candidate);
  if (measurement.samples_ns.size() > Measurement::kMaxSamples) {
    return InvalidArgument(fmt::format("{} has {} samples; at most {} are kept.", who,
                                       measurement.samples_ns.size(), Measurement::kMaxSamples));
  }
  const std::array<std::pair<std::string_view, double>, 4> fields = {{
      {"median_ns", measurement.median_ns},
      {"low_ns", measurement.low_ns},
      {"high_ns", measurement.high_ns},
      {"confidence", measurement.confidence},
  }};
  for (const auto& [name, value] : fields) {
    if (!IsTime(value)) {
      return InvalidArgument(
          fmt::format("{} of {} is {}; it must be finite and not negative.", name, who, value));
    }
  }
  for (size_t i = 0; i < measurement.samples_ns.size(); ++i) {
    if (!IsTime(measurement.samples_ns[i])) {
      return InvalidArgument(
          fmt::format("Sample {} of {} is {}; it must be finite and not negative.", i, who,
                      measurement.samples_ns[i]));
    }
  }
  return Status::Ok();
}

Status CheckTrial(const Trial& trial) {
  const std::array<std::pair<std::string_view, int64_t>, 3> fields = {{
      {"build_ns", trial.build_ns},
      {"load_ns", trial.load_ns},
      {"workspace_bytes", trial.workspace_bytes},
  }};
  for (const auto& [name, value] : fields) {
    if (value < 0) {
      return InvalidArgument(fmt::format("{} of {} is {}; it must not be negative.", name,
                                         Text(trial.candidate), value));
    }
  }
  if (trial.failure() != nullptr && !trial.capture_failure.empty()) {
    return InvalidArgument(fmt::format(
        "The trial of {} failed, and says that it cannot be captured ({}); what fails is "
        "captured by nobody.",
        Text(trial.candidate), trial.capture_failure));
  }
  const Measurement* measurement = trial.measurement();
  return measurement == nullptr ? Status::Ok() : CheckMeasurement(*measurement, trial);
}

Status CheckWeights(std::string_view kind, std::string_view name,
                    std::span<const TaggedProblem> problems) {
  for (const TaggedProblem& tagged : problems) {
    if (tagged.weight < 1) {
      return InvalidArgument(fmt::format("Weight {} of {} under {} '{}' is below 1.", tagged.weight,
                                         Text(tagged.problem), kind, name));
    }
  }
  return Status::Ok();
}

}  // namespace

Status ValidateTag(std::string_view tag) {
  if (!tag.empty() && tag.size() <= kMaxTagBytes) return Status::Ok();
  return InvalidArgument(fmt::format("Tag '{}' has {} bytes; a tag has 1 to {}.", Excerpt(tag),
                                     tag.size(), kMaxTagBytes));
}

Status ValidateTagging(std::string_view tag, std::span<const TaggedProblem> problems) {
  ATTUNE_RETURN_IF_ERROR(ValidateTag(tag));
  return CheckWeights("tag", tag, problems);
}

Status ValidateNetwork(const Network& network, std::span<const TaggedProblem> problems) {
  const std::string text = Text(network);
  if (network.model.empty() || text.size() > kMaxNetworkBytes) {
    return InvalidArgument(fmt::format("Network '{}' has no model, or more than {} bytes.",
                                       Excerpt(text), kMaxNetworkBytes));
  }
  return CheckWeights("network", text, problems);
}

Status ValidateSet(const MeasurementSet& set) {
  const std::optional<Fingerprint> id = Fingerprint::FromHex(set.id);
  if (!id.has_value() || id->ToHex() != set.id) {
    return InvalidArgument(
        fmt::format("Measurement set id '{}' is not 32 lower-case hexadecimal digits.", set.id));
  }
  for (const double peak : {set.peaks.f32_flops, set.peaks.f64_flops, set.peaks.bytes_per_second}) {
    if (!IsTime(peak)) {
      return InvalidArgument(fmt::format(
          "A peak rate of measurement set {} is {}; it must be finite and not negative.", set.id,
          peak));
    }
  }
  return Status::Ok();
}

Status ValidateTrials(std::span<const Trial> trials) {
  for (size_t i = 0; i < trials.size(); ++i) {
    if (Status status = CheckTrial(trials[i]); !status.ok()) {
      return status.WithContext(fmt::format("Trial {} of {} is refused", i + 1, trials.size()));
    }
  }
  return Status::Ok();
}

Status ValidateQualified(std::span<const Qualified> results) {
  for (const Qualified& result : results) {
    ATTUNE_RETURN_IF_ERROR(ValidateTrials({&result.trial, 1}));
    const bool is_failure = result.trial.failure() != nullptr;
    if (result.verify_ns < 0) {
      return InvalidArgument(fmt::format("verify_ns of {} is {}; it must not be negative.",
                                         Text(result.trial.candidate), result.verify_ns));
    }
    const bool is_right = IsTime(result.quick_ns) && !(is_failure && result.quick_ns > 0);
    if (result.trial.role == TrialRole::kQualify && is_right) continue;
    return InvalidArgument(fmt::format(
        "The trial of {} has the role {} and the quick time {} ns. Only trials of the role qualify "
        "have one, which is finite and not negative, and those that failed have none.",
        Text(result.trial.candidate), Name(result.trial.role), result.quick_ns));
  }
  return Status::Ok();
}

Trial Storable(Trial trial) {
  if (std::isnan(trial.max_error)) trial.max_error = std::numeric_limits<double>::infinity();
  if (Failure* failure = std::get_if<Failure>(&trial.outcome);
      failure != nullptr && failure->message.size() > kMaxMessageBytes) {
    const std::string note = fmt::format("... [cut from {} bytes]", failure->message.size());
    failure->message.resize(kMaxMessageBytes - note.size());
    failure->message += note;
  }
  return trial;
}

SetConditions Storable(SetConditions conditions) {
  if (conditions.before == DeviceConditions()) conditions.before.reset();
  if (conditions.after == DeviceConditions()) conditions.after.reset();
  return conditions;
}

void RoleCounts::Add(TrialRole role, int64_t count) {
  switch (role) {
    case TrialRole::kQualify:
      qualify += count;
      return;
    case TrialRole::kScreen:
      screen += count;
      return;
    case TrialRole::kFinal:
      final += count;
      return;
  }
}

int64_t RoleCounts::Of(TrialRole role) const {
  switch (role) {
    case TrialRole::kQualify:
      return qualify;
    case TrialRole::kScreen:
      return screen;
    case TrialRole::kFinal:
      return final;
  }
  return 0;
}

}  // namespace attune
