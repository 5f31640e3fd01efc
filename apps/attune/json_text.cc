#include "apps/attune/json_text.h"

#include <cmath>

#include "attune/formats/export.h"

namespace attune {
namespace {

// JSON has no infinity and no NaN.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json ToJson(const Measurement& measurement) {
  return {{"median_ns", Number(measurement.median_ns)}, {"low_ns", Number(measurement.low_ns)},
          {"high_ns", Number(measurement.high_ns)},     {"confidence", measurement.confidence},
          {"cache", Name(measurement.cache)},           {"samples", measurement.samples_ns.size()}};
}

Json ToJson(const Failure& failure) {
  return {
      {"kind", Name(failure.kind)}, {"phase", Name(failure.phase)}, {"message", failure.message}};
}

Json ToJson(const Trial& trial) {
  Json json = {{"candidate", Text(trial.candidate)},
               {"role", Name(trial.role)},
               {"is_default", trial.is_default},
               {"build_ns", trial.build_ns},
               {"load_ns", trial.load_ns},
               {"workspace_bytes", trial.workspace_bytes},
               {"max_error", Number(trial.max_error)}};
  if (trial.failure() != nullptr) json["failure"] = ToJson(*trial.failure());
  if (trial.measurement() != nullptr) json["measurement"] = ToJson(*trial.measurement());
  return json;
}

Json ToJson(const Choice& choice) { return Json::parse(ChoiceAsJson(choice)); }

Json ToJson(const Environment& environment) {
  Json json = Json::object();
  for (const auto& [key, value] : environment) json[key] = value;
  return json;
}

}  // namespace attune
