#include "backends/fake/fake_script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::array<std::pair<FakeFault, std::string_view>, 26> kFaults = {{
    {FakeFault::kNone, "none"},
    {FakeFault::kBuildFails, "build_fails"},
    {FakeFault::kSlowBuild, "slow_build"},
    {FakeFault::kLoadFails, "load_fails"},
    {FakeFault::kSlowLoad, "slow_load"},
    {FakeFault::kLaunchFails, "launch_fails"},
    {FakeFault::kCaptureFails, "capture_fails"},
    {FakeFault::kCrash, "crash"},
    {FakeFault::kCrashBehindOthers, "crash_behind_others"},
    {FakeFault::kAbort, "abort"},
    {FakeFault::kKilled, "killed"},
    {FakeFault::kExit, "exit"},
    {FakeFault::kSlowLaunch, "slow_launch"},
    {FakeFault::kHang, "hang"},
    {FakeFault::kSpin, "spin"},
    {FakeFault::kWrongResult, "wrong_result"},
    {FakeFault::kSkipsZeros, "skips_zeros"},
    {FakeFault::kNan, "nan"},
    {FakeFault::kStale, "stale"},
    {FakeFault::kWritePastEnd, "write_past_end"},
    {FakeFault::kWriteBeforeStart, "write_before_start"},
    {FakeFault::kOverwriteInput, "overwrite_input"},
    {FakeFault::kOverwriteGap, "overwrite_gap"},
    {FakeFault::kLosesDevice, "loses_device"},
    {FakeFault::kLosesDeviceOnLoad, "loses_device_on_load"},
    {FakeFault::kMemoryHog, "memory_hog"},
}};

// Parted by commas.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

template <class Number>
Status ParseNumber(std::string_view key, std::string_view text, Number low, Number high,
                   Number& number) {
  Number parsed{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end || !(parsed >= low && parsed <= high)) {
    return InvalidArgument(
        fmt::format("Value '{}' of {} is not a number in [{}, {}].", text, key, low, high));
  }
  number = parsed;
  return Status::Ok();
}

}  // namespace

std::string_view Name(FakeFault fault) {
  for (const auto& [value, name] : kFaults) {
    if (value == fault) return name;
  }
  return "unknown";
}

std::optional<FakeFault> ParseFakeFault(std::string_view name) {
  for (const auto& [value, candidate] : kFaults) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

Result<FakeScript> FakeScript::Parse(std::string_view text) {
  FakeScript script;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = text.find_first_of("\n;");
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    if (Status status = script.ParseLine(line); !status.ok()) {
      return status.WithContext(fmt::format("Fake script, line {}", line_number));
    }
  }
  return script;
}

Status FakeScript::ParseLine(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
  if (words.empty()) return Status::Ok();
  Rule rule;
  const size_t open = words[0].find('{');
  rule.solver = std::string(words[0].substr(0, open));
  if (open != std::string_view::npos) {
    if (words[0].back() != '}') {
      return InvalidArgument(fmt::format("'{}' has no closing brace.", words[0]));
    }
    ATTUNE_ASSIGN_OR_RETURN(rule.config,
                            ParseConfig(words[0].substr(open + 1, words[0].size() - open - 2)));
  }
  FakeBehaviour checked;
  for (size_t i = 1; i < words.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Setting setting, ParseSetting(words[i]));
    const bool device = rule.solver == "device";
    ATTUNE_RETURN_IF_ERROR(device ? ApplyToDevice(setting) : Apply(setting, checked));
    if (!device) rule.settings.push_back(std::move(setting));
  }
  if (!rule.settings.empty()) rules_.push_back(std::move(rule));
  return Status::Ok();
}

Result<FakeScript::Setting> FakeScript::ParseSetting(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument(fmt::format("'{}' is not of the form key=value.", word));
  }
  return Setting{std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))};
}

Status FakeScript::ApplyToDevice(const Setting& setting) {
  const auto& [key, value] = setting;
  if (key == "seed") return ParseNumber<uint64_t>(key, value, 0, UINT64_MAX, seed_);
  if (key == "drift") return ParseNumber(key, value, 0.0, 0.9, drift_);
  if (key == "listed") return ParseNumber(key, value, 0, 1'000'000, listed_);
  if (key == "count") return ParseNumber(key, value, 1, 64, count_);
  if (key == "broken") return ParseNumber(key, value, 0, 63, broken_);
  if (key == "costly") return ParseNumber(key, value, 0, 1, costly_);
  if (key == "ieee_special_values") return ParseNumber(key, value, 0, 1, ieee_special_values_);
  const std::pair<std::string_view, std::string*> texts[] = {{"tiled_version", &tiled_version_},
                                                             {"library_version", &library_version_},
                                                             {"gone_if", &gone_if_},
                                                             {"identity", &identity_},
                                                             {"spans", &spans_}};
  for (const auto& [name, text] : texts) {
    if (key != name) continue;
    *text = value;
    return Status::Ok();
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool is_condition, ApplyToConditions(setting));
  if (is_condition) return Status::Ok();
  return InvalidArgument(fmt::format(
      "The device has no setting '{}'; it has seed, drift, listed, count, broken, costly, "
      "ieee_special_values, compute_clock_mhz, memory_clock_mhz, power_w, power_limit_w, "
      "temperature_c, "
      "clock_reasons, conditions, tiled_version, library_version, gone_if, "
      "identity, spans.",
      key));
}

Result<bool> FakeScript::ApplyToConditions(const Setting& setting) {
  const auto& [key, value] = setting;
  const auto read = [&key = key, &value = value](auto& field, auto low, auto high) -> Result<bool> {
    ATTUNE_RETURN_IF_ERROR(ParseNumber(key, value, low, high, field.emplace()));
    return true;
  };
  constexpr int64_t kMostMhz = 1'000'000;
  if (key == "compute_clock_mhz") return read(conditions_.compute_clock_mhz, int64_t{0}, kMostMhz);
  if (key == "memory_clock_mhz") return read(conditions_.memory_clock_mhz, int64_t{0}, kMostMhz);
  if (key == "power_w") return read(conditions_.power_w, 0.0, 1e6);
  if (key == "power_limit_w") return read(conditions_.power_limit_w, 0.0, 1e6);
  if (key == "temperature_c") {
    return read(conditions_.temperature_c, int64_t{-273}, int64_t{1000});
  }
  if (key == "conditions" && value == "crash") {
    asking_kills_ = true;
    return true;
  }
  if (key != "clock_reasons") return false;
  conditions_.clock_reasons = value == "none" ? std::vector<std::string>() : Words(value);
  ATTUNE_RETURN_IF_ERROR(Validate(conditions_));
  return true;
}

Status FakeScript::Apply(const Setting& setting, FakeBehaviour& behaviour) {
  const auto& [key, value] = setting;
  if (key == "time_ns") return ParseNumber(key, value, 1.0, 1e15, behaviour.time_ns);
  if (key == "sigma") return ParseNumber(key, value, 0.0, 10.0, behaviour.sigma);
  if (key == "spikes") return ParseNumber(key, value, 0.0, 1.0, behaviour.spike_probability);
  if (key == "cold_factor") return ParseNumber(key, value, 1.0, 1e6, behaviour.cold_factor);
  if (key == "at_launch") {
    return ParseNumber(key, value, 1, 1'000'000'000, behaviour.fault_at_launch);
  }
  if (key == "delay_ms") return ParseNumber(key, value, 0, 3'600'000, behaviour.delay_ms);
  if (key == "hog_limit_mib") return ParseNumber(key, value, 1, 1 << 20, behaviour.hog_limit_mib);
  if (key != "fault") {
    return InvalidArgument(fmt::format(
        "There is no setting '{}'; there are time_ns, sigma, spikes, cold_factor, fault, "
        "at_launch, delay_ms, hog_limit_mib.",
        key));
  }
  const std::optional<FakeFault> fault = ParseFakeFault(value);
  if (!fault.has_value()) {
    std::string known;
    for (const auto& [ignored, name] : kFaults) known += fmt::format(" {}", name);
    return InvalidArgument(fmt::format("There is no fault '{}'; there are{}.", value, known));
  }
  behaviour.fault = *fault;
  return Status::Ok();
}

bool FakeScript::Matches(const Rule& rule, const Candidate& candidate) {
  if (rule.solver != "*" && rule.solver != candidate.solver.name) return false;
  for (const auto& [name, value] : rule.config) {
    const auto found = candidate.config.find(name);
    if (found == candidate.config.end() || found->second != value) return false;
  }
  return true;
}

FakeBehaviour FakeScript::BehaviourOf(const Candidate& candidate) const {
  FakeBehaviour behaviour;
  for (const Rule& rule : rules_) {
    if (!Matches(rule, candidate)) continue;
    for (const Setting& setting : rule.settings) {
      // Checked when the script was parsed.
      [[maybe_unused]] const Status status = Apply(setting, behaviour);
    }
  }
  return behaviour;
}

Result<FakeScript> FakeScriptFromEnvironment() {
  const char* text = std::getenv(kFakeScriptVariable);
  return text == nullptr ? FakeScript() : FakeScript::Parse(text);
}

}  // namespace attune
