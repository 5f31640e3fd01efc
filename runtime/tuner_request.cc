#include "runtime/tuner_request.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/tunable/tunable_context.h"

namespace attune {
namespace {

using Json = nlohmann::json;

struct CountField {
  const char* name;
  int64_t TuningTerms::*value;
  int64_t limit;
};
constexpr CountField kCountFields[] = {
    {"max_duration_ms", &TuningTerms::max_duration_ms, kLongestTermMs},
    {"max_iterations", &TuningTerms::max_iterations, kMostTermIterations},
    {"max_warmup_duration_ms", &TuningTerms::max_warmup_duration_ms, kLongestTermMs},
    {"max_warmup_iterations", &TuningTerms::max_warmup_iterations, kMostTermIterations},
    {"max_listed", &TuningTerms::max_listed, kMostTermIterations},
    {"rotation_bytes", &TuningTerms::rotation_bytes, kMaxRotationBytes},
};
constexpr const char* kLibrariesField = "disabled_libraries";
constexpr const char* kCheckField = "numerical_check";

Status CheckLibraries(const std::set<std::string>& libraries) {
  if (libraries.size() > kMaxDisabledLibraries) {
    return InvalidArgument(fmt::format("{} libraries are switched off; the limit is {}.",
                                       libraries.size(), kMaxDisabledLibraries));
  }
  for (const std::string& library : libraries) {
    if (!library.empty() && library.size() <= kMaxLibraryNameBytes) continue;
    return InvalidArgument(
        fmt::format("The name of a library that is switched off has {} bytes; expected 1 to {}.",
                    library.size(), kMaxLibraryNameBytes));
  }
  return Status::Ok();
}

Status NotA(const char* name, const char* kind) {
  return InvalidArgument(
      fmt::format("Field '{}' of a request for the tuner is no {}.", name, kind));
}

Status ReadLibraries(const Json& json, std::set<std::string>& libraries) {
  if (!json.is_array()) return NotA(kLibrariesField, "array");
  for (const Json& library : json) {
    if (!library.is_string()) return NotA(kLibrariesField, "array of texts");
    libraries.insert(library.get<std::string>());
  }
  return Status::Ok();
}

Status ReadCheck(const Json& json, NumericalCheck& check) {
  const auto number = [&](const char* name) {
    return json.is_object() && json.contains(name) && json[name].is_number();
  };
  if (!number("atol") || !number("rtol")) {
    return NotA(kCheckField, "object with the numbers atol and rtol");
  }
  check = {true, json["atol"].get<double>(), json["rtol"].get<double>()};
  return Status::Ok();
}

Result<TuningTerms> ReadTerms(const Json& json) {
  TuningTerms terms;
  for (const CountField& field : kCountFields) {
    const auto found = json.find(field.name);
    if (found == json.end()) continue;
    if (!found->is_number_integer()) return NotA(field.name, "integer");
    terms.*field.value = found->get<int64_t>();
  }
  if (const auto found = json.find(kLibrariesField); found != json.end()) {
    ATTUNE_RETURN_IF_ERROR(ReadLibraries(*found, terms.disabled_libraries));
  }
  if (const auto found = json.find(kCheckField); found != json.end()) {
    ATTUNE_RETURN_IF_ERROR(ReadCheck(*found, terms.numerical_check));
  }
  ATTUNE_RETURN_IF_ERROR(Validate(terms));
  return terms;
}

// Only what says something else than its absence.
Json TermsJson(const TuningTerms& terms) {
  Json json = Json::object();
  for (const CountField& field : kCountFields) {
    if (terms.*field.value != 0) json[field.name] = terms.*field.value;
  }
  if (!terms.disabled_libraries.empty()) json[kLibrariesField] = terms.disabled_libraries;
  if (terms.numerical_check.enabled) {
    json[kCheckField] = {{"atol", terms.numerical_check.atol},
                         {"rtol", terms.numerical_check.rtol}};
  }
  return json;
}

}  // namespace

TuningTerms TermsOf(const TunableContext& tunable) {
  const TunableSettings settings = tunable.settings();
  TuningTerms terms;
  if (!settings.enabled) return terms;
  terms.max_duration_ms = std::min(settings.max_tuning_duration_ms, kLongestTermMs);
  terms.max_iterations = std::min(settings.max_tuning_iterations, kMostTermIterations);
  // With neither limit it is as often as TunableOp does.
  if (terms.max_duration_ms == 0 && terms.max_iterations == 0) {
    terms.max_iterations = TimedIterations(settings, 0);
  }
  terms.max_warmup_duration_ms = std::min(settings.max_warmup_duration_ms, kLongestTermMs);
  terms.max_warmup_iterations = std::min(settings.max_warmup_iterations, kMostTermIterations);
  terms.max_listed = std::min(settings.requested_algo_count, kMostTermIterations);
  terms.rotation_bytes = std::min(tunable.rotating_buffer_bytes(), kMaxRotationBytes);
  terms.numerical_check = settings.numerical_check;
  for (const std::string& library : settings.disabled_libraries) {
    // A longer name is no solver's.
    if (library.size() <= kMaxLibraryNameBytes) terms.disabled_libraries.insert(library);
  }
  return terms;
}

Status Validate(const TuningTerms& terms) {
  for (const CountField& field : kCountFields) {
    const int64_t value = terms.*field.value;
    if (value >= 0 && value <= field.limit) continue;
    return InvalidArgument(
        fmt::format("{} is {}; expected 0 to {}.", field.name, value, field.limit));
  }
  ATTUNE_RETURN_IF_ERROR(CheckLibraries(terms.disabled_libraries));
  return terms.numerical_check.enabled ? Validate(terms.numerical_check) : Status::Ok();
}

std::string Encode(const TunerRequest& request) {
  Json json = {{"version", kTunerProtocolVersion}, {"tune", Text(request.problem)}};
  const Json terms = TermsJson(request.terms);
  if (!terms.empty()) json["terms"] = terms;
  if (request.served.has_value()) json["served"] = Text(*request.served);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<TunerRequest> DecodeTunerRequest(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return InvalidArgument("A request for the tuner is no JSON object.");
  const auto version = json.find("version");
  // The first version did not say its number.
  if (version != json.end() && *version != kTunerProtocolVersion && *version != 1) {
    return InvalidArgument(
        fmt::format("The run time speaks version {} of the tuner protocol, this tuner {}. Install "
                    "both from one "
                    "build.",
                    version->dump(), kTunerProtocolVersion));
  }
  const auto tune = json.find("tune");
  if (tune == json.end() || !tune->is_string()) return NotA("tune", "text");
  TunerRequest request;
  ATTUNE_ASSIGN_OR_RETURN(request.problem, ParseProblem(tune->get<std::string>()));
  if (const auto served = json.find("served"); served != json.end()) {
    if (!served->is_string()) return NotA("served", "text");
    ATTUNE_ASSIGN_OR_RETURN(request.served, ParseCandidate(served->get<std::string>()));
  }
  const auto terms = json.find("terms");
  if (terms == json.end()) return request;
  if (!terms->is_object()) return NotA("terms", "object");
  ATTUNE_ASSIGN_OR_RETURN(request.terms, ReadTerms(*terms));
  return request;
}

}  // namespace attune
