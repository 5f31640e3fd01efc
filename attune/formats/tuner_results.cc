#include "attune/formats/tuner_results.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/base/json_reader.h"
#include "attune/base/text.h"
#include "attune/measure/race.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxTried = 10'000'000;

constexpr std::pair<std::string_view, const char*> kKernelTunerFailures[] = {
    {"CompilationFailedConfig", "compile"},
    {"RuntimeFailedConfig", "runtime"},
    {"InvalidConfig", "constraints"}};

constexpr std::string_view kInvalidities[] = {"compile", "runtime", "correctness", "timeout",
                                              "constraints"};

// A place in the text of the results, for messages.
struct Spot {
  std::string_view text;
  std::string pointer;

  Spot operator/(std::string_view key) const { return {text, pointer + "/" + PointerToken(key)}; }
  Spot operator/(size_t index) const { return *this / std::to_string(index); }
};

Status Wrong(const Spot& spot, std::string_view reason) {
  const std::string_view pointer =
      spot.pointer.empty() ? std::string_view("(the whole file)") : spot.pointer;
  return InvalidArgument(
      fmt::format("{}: {}: {}", Text(PlaceOf(spot.text, spot.pointer)), pointer, reason));
}

constexpr double kTwoTo63 = 0x1p63;

Result<ParameterValue> ValueOf(const Spot& place, const Json& value) {
  if (value.is_boolean()) return ParameterValue(int64_t{value.get<bool>()});
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return Wrong(place, fmt::format("{} does not fit into 64 bits with a sign.", value.dump()));
  }
  if (value.is_number_integer()) return ParameterValue(value.get<int64_t>());
  if (value.is_number() && std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    // The JSON reader turns a longer integer into a rounded double.
    if (number >= kTwoTo63 || number <= -kTwoTo63) {
      return Wrong(place, fmt::format("{} does not fit into 64 bits with a sign.", value.dump()));
    }
    return ParameterValue(number);
  }
  if (value.is_string()) return ParameterValue(value.get<std::string>());
  return Wrong(place, "is no value of a parameter: a number, a text, true or false.");
}

// 0 if absent, null or not finite.
Result<double> TimeOf(const Spot& place, const Json& object, const char* key) {
  if (!object.contains(key) || object[key].is_null()) return 0.0;
  const Json& value = object[key];
  const double time = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(time)) return 0.0;
  if (time >= 0) return time;
  return Wrong(place / key, "is no time.");
}

// Without values that are not finite.
Result<std::vector<double>> TimesOf(const Spot& place, const Json& object, const char* key) {
  std::vector<double> times;
  if (!object.contains(key) || object[key].is_null()) return times;
  if (!object[key].is_array()) return Wrong(place, fmt::format("'{}' is no list.", key));
  for (const Json& value : object[key]) {
    if (!value.is_number()) return Wrong(place, fmt::format("'{}' holds no numbers.", key));
    if (std::isfinite(value.get<double>())) times.push_back(value.get<double>());
  }
  return times;
}

std::string TextOr(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

Status TakeConfig(const Spot& place, const Json& object, const std::vector<std::string>& names,
                  Config& config) {
  for (const std::string& name : names) {
    if (!object.contains(name)) {
      return Wrong(place, fmt::format("the parameter '{}' is missing.", name));
    }
    ATTUNE_ASSIGN_OR_RETURN(config[name], ValueOf(place / name, object[name]));
  }
  return Status::Ok();
}

// The status of a config with a time of NaN or infinity: it ran, but gave no measurement.
constexpr const char* kNotTimed = "runtime";

bool IsNotFinite(const Json& value) {
  return value.is_number_float() && !std::isfinite(value.get<double>());
}

// The range of a valid time, as in recorded spaces (docs/formats/recorded_space.md).
constexpr double kLeastMs = 1e-9;
constexpr double kMostMs = 1e15;

Status CheckTimes(const Spot& place, const TriedConfig& tried) {
  std::vector<double> times = tried.runtimes_ms;
  times.insert(times.end(), {tried.time_ms, tried.compile_ms, tried.verification_ms,
                             tried.benchmark_ms, tried.search_ms, tried.framework_ms});
  for (const double time : times) {
    if (time == 0 || (time >= kLeastMs && time <= kMostMs)) continue;
    return Wrong(place, fmt::format("{:g} ms are no time, which is 0, or {:g} to {:g} ms.", time,
                                    kLeastMs, kMostMs));
  }
  if (tried.status != "ok" || tried.time_ms > 0) return Status::Ok();
  return Wrong(place, "it worked and has no time above 0.");
}

Result<TriedConfig> ReadCacheEntry(const Spot& place, const Json& entry,
                                   const TunerResults& results) {
  if (!entry.is_object()) return Wrong(place, "is no object.");
  TriedConfig tried;
  ATTUNE_RETURN_IF_ERROR(TakeConfig(place, entry, results.parameters, tried.config));
  if (!entry.contains("time")) return Wrong(place, "there is no 'time', which is what is read.");
  const Json& time = entry["time"];
  if (time.is_string()) {
    const std::string failure = time.get<std::string>();
    const auto known =
        std::find_if(std::begin(kKernelTunerFailures), std::end(kKernelTunerFailures),
                     [&](const auto& pair) { return pair.first == failure; });
    if (known == std::end(kKernelTunerFailures)) {
      return Wrong(place / "time", fmt::format("the failure '{}' is unknown.", failure));
    }
    tried.status = known->second;
  } else if (IsNotFinite(time)) {
    tried.status = kNotTimed;
  } else {
    ATTUNE_ASSIGN_OR_RETURN(tried.time_ms, TimeOf(place, entry, "time"));
  }
  ATTUNE_ASSIGN_OR_RETURN(tried.runtimes_ms, TimesOf(place, entry, "times"));
  ATTUNE_ASSIGN_OR_RETURN(tried.compile_ms, TimeOf(place, entry, "compile_time"));
  ATTUNE_ASSIGN_OR_RETURN(tried.verification_ms, TimeOf(place, entry, "verification_time"));
  ATTUNE_ASSIGN_OR_RETURN(tried.benchmark_ms, TimeOf(place, entry, "benchmark_time"));
  ATTUNE_ASSIGN_OR_RETURN(tried.search_ms, TimeOf(place, entry, "strategy_time"));
  ATTUNE_ASSIGN_OR_RETURN(tried.framework_ms, TimeOf(place, entry, "framework_time"));
  tried.timestamp = TextOr(entry, "timestamp");
  ATTUNE_RETURN_IF_ERROR(CheckTimes(place, tried));
  return tried;
}

Status ReadParameterNames(const Spot& place, const Json& document, TunerResults& results) {
  if (!document.contains("tune_params_keys") || !document["tune_params_keys"].is_array()) {
    return Wrong(place, "the list of parameters 'tune_params_keys' is missing.");
  }
  const Json& names = document["tune_params_keys"];
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string() || !IsParameterName(names[i].get<std::string>())) {
      return Wrong(place / "tune_params_keys" / i,
                   fmt::format("{} is no name of a parameter.", names[i].dump()));
    }
    results.parameters.push_back(names[i].get<std::string>());
  }
  return Status::Ok();
}

Status EndsTooEarly(const Spot& whole, const JsonEnd& end) {
  std::string pointer;
  for (const std::string& key : end.path) pointer += "/" + PointerToken(key);
  return InvalidArgument(fmt::format(
      "{}: this is not JSON: the file ends too early{}{}. Only the cache of a Kernel Tuner that "
      "still runs may, inside an entry or behind one.",
      Text(PlaceAt(whole.text, whole.text.size())), pointer.empty() ? "" : ", inside of ",
      pointer));
}

// Kernel Tuner appends entries while it runs, and closes the file when it ends. kInvalidArgument if
// the file ends before its cache begins, or behind it.
Status TakeEnd(const Spot& whole, OpenJson& read, TunerResults& results) {
  const JsonEnd& end = *read.end;
  Json& document = read.document;
  const bool is_cache_last = document.is_object() && document.contains("cache") &&
                             document["cache"].is_object() &&
                             std::prev(document.end()).key() == "cache";
  const bool is_in_cache = !end.path.empty() && end.path[0] == "cache";
  if (!is_cache_last || (!is_in_cache && !(end.path.empty() && end.quoted.empty()))) {
    return EndsTooEarly(whole, end);
  }
  results.is_open = true;
  if (end.path.size() >= 2) {
    const std::string& name = end.path[1];
    results.lost = {name, PlaceOf(whole.text, (whole / "cache" / name).pointer)};
    document["cache"].erase(name);
  } else if (!end.quoted.empty()) {
    results.lost = {end.quoted.substr(1),
                    PlaceAt(whole.text, whole.text.size() - end.quoted.size())};
  }
  return Status::Ok();
}

Result<TunerResults> ReadCache(const Spot& whole, OpenJson& read) {
  TunerResults results;
  if (read.end.has_value()) ATTUNE_RETURN_IF_ERROR(TakeEnd(whole, read, results));
  const Json& document = read.document;
  results.kernel = TextOr(document, "kernel_name");
  results.device = TextOr(document, "device_name");
  if (document.contains("objective") && document["objective"] != "time") {
    return Wrong(whole / "objective",
                 fmt::format("the objective {} is not time.", document["objective"].dump()));
  }
  ATTUNE_RETURN_IF_ERROR(ReadParameterNames(whole, document, results));
  const Spot place = whole / "cache";
  if (!document["cache"].is_object()) return Wrong(place, "is no object.");
  for (const auto& item : document["cache"].items()) {
    if (results.tried.size() == kMaxTried) return Wrong(place, "has too many configs.");
    ATTUNE_ASSIGN_OR_RETURN(TriedConfig tried,
                            ReadCacheEntry(place / item.key(), item.value(), results));
    results.tried.push_back(std::move(tried));
  }
  return results;
}

// Milliseconds in one `unit`.
std::optional<double> MillisecondsOf(std::string_view unit) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                                   {"ms", 1},
                                                                   {"milliseconds", 1},
                                                                   {"s", 1e3},
                                                                   {"seconds", 1e3},
                                                                   {"us", 1e-3},
                                                                   {"microseconds", 1e-3},
                                                                   {"ns", 1e-6},
                                                                   {"nanoseconds", 1e-6}};
  for (const auto& [name, factor] : kUnits) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

// The measurement called "time", in milliseconds; 0 if there is none, nothing if it is not finite.
Result<std::optional<double>> MeasuredTime(const Spot& place, const Json& result) {
  if (!result.contains("measurements") || !result["measurements"].is_array()) return 0.0;
  const Json& measurements = result["measurements"];
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Json& measurement = measurements[i];
    if (!measurement.is_object() || TextOr(measurement, "name") != "time") continue;
    if (!measurement.contains("value") || !measurement["value"].is_number()) return 0.0;
    if (IsNotFinite(measurement["value"])) return std::nullopt;
    const std::string unit = TextOr(measurement, "unit");
    const auto factor = MillisecondsOf(unit);
    if (factor.has_value()) return *factor * measurement["value"].get<double>();
    return Wrong(place / "measurements" / i, fmt::format("the unit '{}' is no time.", unit));
  }
  return 0.0;
}

Status CheckObjectives(const Spot& place, const Json& result) {
  if (!result.contains("objectives") || result["objectives"].is_null()) return Status::Ok();
  const Json& objectives = result["objectives"];
  if (objectives == Json::array({"time"}) || objectives == Json::array()) return Status::Ok();
  return Wrong(place / "objectives",
               fmt::format("the objective {} is not time.", objectives.dump()));
}

// Reads names from the first result; a kernel may have no parameters at all.
Status TakeParameterNames(const Spot& place, const Json& config, TunerResults& results) {
  for (const auto& item : config.items()) {
    if (!IsParameterName(item.key())) {
      return Wrong(place / item.key(), fmt::format("'{}' is no name of a parameter.", item.key()));
    }
    results.parameters.push_back(item.key());
  }
  return Status::Ok();
}

Status TakeOutcome(const Spot& place, const Json& result, TriedConfig& tried) {
  if (result.contains("invalidity") && !result["invalidity"].is_null() &&
      !result["invalidity"].is_string()) {
    return Wrong(place / "invalidity", fmt::format("{} is no text.", result["invalidity"].dump()));
  }
  const std::string invalidity = TextOr(result, "invalidity");
  if (!invalidity.empty() && invalidity != "correct") {
    if (std::find(std::begin(kInvalidities), std::end(kInvalidities), invalidity) ==
        std::end(kInvalidities)) {
      return Wrong(place / "invalidity", fmt::format("'{}' is unknown.", invalidity));
    }
    tried.status = invalidity;
    return Status::Ok();
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto time, MeasuredTime(place, result));
  tried.time_ms = time.value_or(0);
  if (!time.has_value()) tried.status = kNotTimed;
  return Status::Ok();
}

Status TakeTimes(const Spot& place, const Json& times, double factor, TriedConfig& tried) {
  ATTUNE_ASSIGN_OR_RETURN(tried.runtimes_ms, TimesOf(place, times, "runtimes"));
  for (double& runtime : tried.runtimes_ms) runtime *= factor;
  const std::pair<const char*, double*> fields[] = {{"compilation", &tried.compile_ms},
                                                    {"validation", &tried.verification_ms},
                                                    {"benchmark", &tried.benchmark_ms},
                                                    {"search_algorithm", &tried.search_ms},
                                                    {"framework", &tried.framework_ms}};
  for (const auto& [key, field] : fields) {
    ATTUNE_ASSIGN_OR_RETURN(const double time, TimeOf(place, times, key));
    *field = factor * time;
  }
  return Status::Ok();
}

Result<TriedConfig> ReadT4Result(const Spot& place, const Json& result, double factor,
                                 TunerResults& results) {
  if (!result.is_object() || !result.contains("configuration") ||
      !result["configuration"].is_object()) {
    return Wrong(place, "there is no configuration.");
  }
  ATTUNE_RETURN_IF_ERROR(CheckObjectives(place, result));
  TriedConfig tried;
  const Json& config = result["configuration"];
  const Spot config_place = place / "configuration";
  if (results.tried.empty()) {
    ATTUNE_RETURN_IF_ERROR(TakeParameterNames(config_place, config, results));
  }
  if (config.size() != results.parameters.size()) {
    return Wrong(config_place, "has other parameters than the first one.");
  }
  ATTUNE_RETURN_IF_ERROR(TakeConfig(config_place, config, results.parameters, tried.config));
  ATTUNE_RETURN_IF_ERROR(TakeOutcome(place, result, tried));
  if (result.contains("times") && result["times"].is_object()) {
    ATTUNE_RETURN_IF_ERROR(TakeTimes(place / "times", result["times"], factor, tried));
  }
  tried.timestamp = TextOr(result, "timestamp");
  ATTUNE_RETURN_IF_ERROR(CheckTimes(place, tried));
  return tried;
}

Result<TunerResults> ReadT4(const Spot& whole, const Json& document) {
  TunerResults results;
  const Json metadata = document.contains("metadata") && document["metadata"].is_object()
                            ? document["metadata"]
                            : Json::object();
  const std::string unit = TextOr(metadata, "timeunit");
  const auto factor = MillisecondsOf(unit);
  if (!factor.has_value()) {
    return Wrong(whole / "metadata" / "timeunit", fmt::format("the unit '{}' is no time.", unit));
  }
  const Json& list = document["results"];
  const Spot place = whole / "results";
  if (list.size() > kMaxTried) return Wrong(place, "has too many configs.");
  for (size_t i = 0; i < list.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(TriedConfig tried, ReadT4Result(place / i, list[i], *factor, results));
    results.tried.push_back(std::move(tried));
  }
  return results;
}

std::string_view InvalidityOf(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNotApplicable:
      return "constraints";
    case FailureKind::kBuildFailed:
      return "compile";
    case FailureKind::kWrongResult:
    case FailureKind::kOutOfBounds:
      return "correctness";
    case FailureKind::kTimedOut:
      return "timeout";
    case FailureKind::kLoadFailed:
    case FailureKind::kRunFailed:
    case FailureKind::kCrashed:
    case FailureKind::kOutOfMemory:
      return "runtime";
  }
  return "runtime";
}

Json JsonOf(const ParameterValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// Sum of all its timed blocks, which are filled with launches.
double TimedNs(const Measurement& measurement) {
  const double block_ns =
      std::min<double>(kBlockTargetNs, measurement.median_ns * kMaxBlockLaunches);
  return static_cast<double>(measurement.samples_ns.size()) *
         std::max(measurement.median_ns, block_ns);
}

void Take(const Record& record, TriedConfig& tried) {
  const Trial& trial = record.trial;
  if (trial.build_ns > 0) tried.compile_ms = static_cast<double>(trial.build_ns) / 1e6;
  if (record.verify_ns > 0) tried.verification_ms = static_cast<double>(record.verify_ns) / 1e6;
  if (trial.load_ns > 0) tried.framework_ms = static_cast<double>(trial.load_ns) / 1e6;
  if (const Failure* failure = trial.failure()) {
    tried.status = InvalidityOf(failure->kind);
    tried.time_ms = 0;
    tried.runtimes_ms.clear();
    return;
  }
  const Measurement* measurement = trial.measurement();
  if (measurement == nullptr) return;
  tried.status = "ok";
  tried.time_ms = measurement->median_ns / 1e6;
  tried.benchmark_ms += TimedNs(*measurement) / 1e6;
  tried.runtimes_ms.clear();
  for (const double sample : measurement->samples_ns) tried.runtimes_ms.push_back(sample / 1e6);
}

}  // namespace

Result<TunerResults> ReadTunerResults(std::string_view json) {
  ATTUNE_ASSIGN_OR_RETURN(OpenJson read, ReadOpenJson(json, kJsonOfOthers));
  const Json& document = read.document;
  const Spot whole{json, ""};
  const bool is_t4 = document.is_object() && document.contains("results") &&
                     document["results"].is_array() && !document.contains("cache");
  if (!is_t4 && (read.end.has_value() || (document.is_object() && document.contains("cache")))) {
    return ReadCache(whole, read);
  }
  if (is_t4 && !read.end.has_value()) return ReadT4(whole, document);
  if (is_t4) return EndsTooEarly(whole, *read.end);
  return Wrong(whole,
               "this has neither 'cache', as a cache of Kernel Tuner has, nor a list 'results', as "
               "T4 has.");
}

std::string WhatIsMissing(const TunerResults& results) {
  if (!results.is_open) return "";
  if (!results.lost.has_value()) {
    return "the file has no closing braces, as that of a Kernel Tuner that has not ended";
  }
  if (results.lost->name.empty()) {
    return fmt::format("the file ends inside the key of an entry ({}), which is left out",
                       Text(results.lost->place));
  }
  return fmt::format("the file ends inside entry '{}' ({}), which is left out",
                     Excerpt(results.lost->name), Text(results.lost->place));
}

std::string WriteT4(const TunerResults& results) {
  Json list = Json::array();
  for (const TriedConfig& tried : results.tried) {
    Json config = Json::object();
    for (const std::string& name : results.parameters) config[name] = JsonOf(tried.config.at(name));
    const bool is_ok = tried.status == "ok";
    Json result = {{"timestamp", tried.timestamp},
                   {"configuration", std::move(config)},
                   {"objectives", {"time"}},
                   {"times",
                    {{"compilation", tried.compile_ms},
                     {"benchmark", tried.benchmark_ms},
                     {"framework", tried.framework_ms},
                     {"search_algorithm", tried.search_ms},
                     {"validation", tried.verification_ms},
                     {"runtimes", tried.runtimes_ms}}},
                   {"invalidity", is_ok ? "correct" : tried.status},
                   {"correctness", is_ok ? 1 : 0}};
    result["measurements"] = Json::array();
    if (is_ok) {
      result["measurements"].push_back(
          {{"name", "time"}, {"value", tried.time_ms}, {"unit", "ms"}});
    }
    list.push_back(std::move(result));
  }
  const Json document = {{"schema_version", "1.0.0"},
                         {"metadata", {{"timeunit", "milliseconds"}}},
                         {"results", std::move(list)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status CheckOfKernel(const TunerResults& results, std::span<const Parameter> parameters) {
  if (results.tried.empty()) return InvalidArgument("there are no results in it.");
  std::set<std::string> lacking;
  for (const Parameter& parameter : parameters) lacking.insert(parameter.name);
  std::vector<std::string> unknown;
  for (const std::string& name : results.parameters) {
    if (lacking.erase(name) == 0) unknown.push_back(name);
  }
  std::vector<std::string> differences;
  if (!lacking.empty()) {
    differences.push_back(fmt::format("lack {}, which the kernel has", fmt::join(lacking, ", ")));
  }
  if (!unknown.empty()) {
    differences.push_back(
        fmt::format("have {}, which the kernel has not", fmt::join(unknown, ", ")));
  }
  if (differences.empty()) return Status::Ok();
  return InvalidArgument(
      fmt::format("its results have other parameters: they {}.", fmt::join(differences, ", and ")));
}

// `attune replay` needs configs, and each once.
Status CheckRecordedSpace(const TunerResults& results) {
  if (results.tried.empty()) {
    return Unsupported("There is no config in these results, and a recorded space has some.");
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < results.tried.size(); ++i) {
    const std::string config = Text(results.tried[i].config);
    const auto [first, is_new] = places.try_emplace(config, i);
    if (is_new) continue;
    return Unsupported(fmt::format(
        "The config {} is recorded twice, as numbers {} and {} of these results, and a recorded "
        "space has each once. Leave one out.",
        config, first->second + 1, i + 1));
  }
  return Status::Ok();
}

Result<std::string> WriteRecordedSpace(const TunerResults& results) {
  ATTUNE_RETURN_IF_ERROR(CheckRecordedSpace(results));
  std::string text;
  for (const std::string& name : results.parameters) text += name + ",";
  text += "status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n";
  for (const TriedConfig& tried : results.tried) {
    for (const std::string& name : results.parameters) {
      const std::string value = Text(tried.config.at(name));
      if (value.find_first_of(",\r\n\"") != std::string::npos) {
        return Unsupported(fmt::format(
            "The value '{}' of '{}' has no place in a recorded space, which has no quotes.", value,
            name));
      }
      text += value + ",";
    }
    text += fmt::format("{},{},{},{},{},{}\n", tried.status,
                        tried.status == "ok" ? fmt::format("{}", tried.time_ms) : "",
                        tried.compile_ms, tried.verification_ms, tried.benchmark_ms,
                        tried.framework_ms + tried.search_ms);
  }
  return text;
}

TunerResults ResultsOf(std::span<const RecordedSet> sets, std::string_view solver) {
  TunerResults results;
  std::map<std::string, size_t> places;  // By config.
  for (const RecordedSet& set : sets) {
    results.device = set.set.target.device;
    // The cost of a trial in the newest set counts.
    std::set<size_t> seen;
    for (const Record& record : set.records) {
      const Trial& trial = record.trial;
      if (trial.candidate.solver.name != solver) continue;
      const auto [place, is_new] =
          places.try_emplace(Text(trial.candidate.config), results.tried.size());
      if (is_new) {
        results.tried.emplace_back().config = trial.candidate.config;
        // Qualified only, it was never timed.
        results.tried.back().status = "";
      }
      TriedConfig& tried = results.tried[place->second];
      if (seen.insert(place->second).second) {
        tried.benchmark_ms = 0;
        tried.verification_ms = 0;
      }
      Take(record, tried);
    }
  }
  std::erase_if(results.tried, [](const TriedConfig& tried) { return tried.status.empty(); });
  if (!results.tried.empty()) {
    for (const auto& [name, value] : results.tried.front().config) {
      results.parameters.push_back(name);
    }
  }
  return results;
}

}  // namespace attune
