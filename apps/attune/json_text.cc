#include "apps/attune/json_text.h"

#include <cmath>

#include "attune/formats/export.h"

namespace attune {
namespace {

// JSON has no infinity and no NaN.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json ToJson(const std::optional<DeviceConditions>& moment) {
  if (!moment.has_value()) return nullptr;
  Json json = Json::object();
  const auto put = [&](const char* name, const auto& value) {
    if (value.has_value()) json[name] = *value;
  };
  put("compute_clock_mhz", moment->compute_clock_mhz);
  put("memory_clock_mhz", moment->memory_clock_mhz);
  put("power_w", moment->power_w);
  put("power_limit_w", moment->power_limit_w);
  put("temperature_c", moment->temperature_c);
  put("clock_reasons", moment->clock_reasons);
  return json;
}

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
  if (!trial.capture_failure.empty()) json["capture_failure"] = trial.capture_failure;
  if (trial.failure() != nullptr) json["failure"] = ToJson(*trial.failure());
  if (trial.measurement() != nullptr) json["measurement"] = ToJson(*trial.measurement());
  return json;
}

void AddRates(const Problem& problem, double time_ns, Json& json) {
  const Rates rates = RatesOf(problem, time_ns);
  json["flops_per_second"] = rates.flops > 0 ? Number(rates.flops) : Json(nullptr);
  json["bytes_per_second"] = rates.bytes > 0 ? Number(rates.bytes) : Json(nullptr);
}

Json ToJson(const Choice& choice) {
  Json json = Json::parse(ChoiceAsJson(choice));
  AddRates(choice.problem, choice.measurement.median_ns, json);
  return json;
}

Json ToJson(const Environment& environment) {
  Json json = Json::object();
  for (const auto& [key, value] : environment) json[key] = value;
  return json;
}

Json ToJson(const SetConditions& conditions) {
  return {{"before", ToJson(conditions.before)}, {"after", ToJson(conditions.after)}};
}

}  // namespace attune
