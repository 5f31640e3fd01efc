#include "attune/tunable/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "attune/problem/text_error.h"

namespace attune {
namespace {

struct VariableName {
  TunableVariable variable;
  std::string_view name;
};

constexpr VariableName kNames[] = {
    {TunableVariable::kEnabled, "ENABLED"},
    {TunableVariable::kTuning, "TUNING"},
    {TunableVariable::kRecordUntuned, "RECORD_UNTUNED"},
    {TunableVariable::kVerbose, "VERBOSE"},
    {TunableVariable::kVerboseFilename, "VERBOSE_FILENAME"},
    {TunableVariable::kFilename, "FILENAME"},
    {TunableVariable::kUntunedFilename, "UNTUNED_FILENAME"},
    {TunableVariable::kNumericalCheck, "NUMERICAL_CHECK"},
    {TunableVariable::kRequestedAlgoCount, "REQUESTED_ALGO_COUNT"},
    {TunableVariable::kMaxTuningDurationMs, "MAX_TUNING_DURATION_MS"},
    {TunableVariable::kMaxTuningIterations, "MAX_TUNING_ITERATIONS"},
    {TunableVariable::kMaxWarmupDurationMs, "MAX_WARMUP_DURATION_MS"},
    {TunableVariable::kMaxWarmupIterations, "MAX_WARMUP_ITERATIONS"},
    {TunableVariable::kIcacheFlushEnabled, "ICACHE_FLUSH_ENABLED"},
    {TunableVariable::kRotatingBufferSize, "ROTATING_BUFFER_SIZE"},
    {TunableVariable::kBlasLog, "BLAS_LOG"},
    {TunableVariable::kWildcardFallback, "WILDCARD_FALLBACK"},
    {TunableVariable::kTuningMeasurementMode, "TUNING_MEASUREMENT_MODE"},
};

constexpr int64_t kMiB = int64_t{1} << 20;
// A year in milliseconds, and a tebibyte in MiB: beyond any sensible value.
constexpr int64_t kMaxNumber = int64_t{1} << 35;
constexpr int64_t kMaxRotatingMiB = int64_t{1} << 20;
constexpr int kMaxVerbose = 3;
constexpr int64_t kDefaultIterations = 100;

Status BadValue(TunableVariable variable, std::string_view expected, std::string_view value) {
  return InvalidArgument(fmt::format("{}{} takes {}, found {}.", kTunablePrefix, Name(variable),
                                     expected, Quoted(value)));
}

Status ReadSwitch(TunableVariable variable, std::string_view text, bool& value) {
  if (text != "0" && text != "1") return BadValue(variable, "0 or 1", text);
  value = text == "1";
  return Status::Ok();
}

Status ReadNumber(TunableVariable variable, std::string_view text, int64_t max, int64_t& value) {
  int64_t read = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, read);
  if (error != std::errc() || stop != end || read > max) {
    return BadValue(variable, fmt::format("an integer of at most {}", max), text);
  }
  value = read;
  return Status::Ok();
}

// Limits and counts: values below `min` become `min`, as in TunableOp.
Status ReadClamped(TunableVariable variable, std::string_view text, int64_t min, int64_t& value) {
  ATTUNE_RETURN_IF_ERROR(ReadNumber(variable, text, kMaxNumber, value));
  value = std::max(value, min);
  return Status::Ok();
}

Status ReadText(TunableVariable variable, std::string_view text, std::string& value) {
  if (text.empty()) return BadValue(variable, "a name that is not empty", text);
  value = text;
  return Status::Ok();
}

Status ReadVerbose(std::string_view text, int& value) {
  int64_t level = 0;
  ATTUNE_RETURN_IF_ERROR(ReadNumber(TunableVariable::kVerbose, text, kMaxVerbose, level));
  value = static_cast<int>(std::max<int64_t>(level, 0));
  return Status::Ok();
}

Status ReadRotating(std::string_view text, std::optional<int64_t>& bytes) {
  int64_t mib = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadNumber(TunableVariable::kRotatingBufferSize, text, kMaxRotatingMiB, mib));
  bytes.reset();
  if (mib >= 0) bytes = mib * kMiB;
  return Status::Ok();
}

Status ReadMode(std::string_view text, MeasurementMode& mode) {
  if (text == "device_events" || text == "cuda_events") {
    mode = MeasurementMode::kDeviceEvents;
  } else if (text == "kernel_profile" || text == "cuda_kernel_profile") {
    mode = MeasurementMode::kKernelProfile;
  } else {
    return BadValue(TunableVariable::kTuningMeasurementMode, "device_events or kernel_profile",
                    text);
  }
  return Status::Ok();
}

Status ReadCheck(std::string_view text, NumericalCheck& check) {
  ATTUNE_ASSIGN_OR_RETURN(check, ParseNumericalCheck(text));
  return Status::Ok();
}

Status ReadInto(TunableVariable variable, std::string_view text, TunableSettings& settings) {
  switch (variable) {
    case TunableVariable::kEnabled:
      return ReadSwitch(variable, text, settings.enabled);
    case TunableVariable::kTuning:
      return ReadSwitch(variable, text, settings.tuning);
    case TunableVariable::kRecordUntuned:
      return ReadSwitch(variable, text, settings.record_untuned);
    case TunableVariable::kVerbose:
      return ReadVerbose(text, settings.verbose);
    case TunableVariable::kVerboseFilename:
      return ReadText(variable, text, settings.verbose_filename);
    case TunableVariable::kFilename:
      return ReadText(variable, text, settings.filename);
    case TunableVariable::kUntunedFilename:
      return ReadText(variable, text, settings.untuned_filename);
    case TunableVariable::kNumericalCheck:
      return ReadCheck(text, settings.numerical_check);
    case TunableVariable::kRequestedAlgoCount:
      return ReadClamped(variable, text, 1, settings.requested_algo_count);
    case TunableVariable::kMaxTuningDurationMs:
      return ReadClamped(variable, text, 0, settings.max_tuning_duration_ms);
    case TunableVariable::kMaxTuningIterations:
      return ReadClamped(variable, text, 0, settings.max_tuning_iterations);
    case TunableVariable::kMaxWarmupDurationMs:
      return ReadClamped(variable, text, 0, settings.max_warmup_duration_ms);
    case TunableVariable::kMaxWarmupIterations:
      return ReadClamped(variable, text, 0, settings.max_warmup_iterations);
    case TunableVariable::kIcacheFlushEnabled:
      return ReadSwitch(variable, text, settings.icache_flush);
    case TunableVariable::kRotatingBufferSize:
      return ReadRotating(text, settings.rotating_buffer_bytes);
    case TunableVariable::kBlasLog:
      return ReadSwitch(variable, text, settings.blas_log);
    case TunableVariable::kWildcardFallback:
      return ReadSwitch(variable, text, settings.wildcard_fallback);
    case TunableVariable::kTuningMeasurementMode:
      return ReadMode(text, settings.measurement_mode);
  }
  return Internal("A variable without a reader.");
}

// True if a value of the environment binds the API: three of the switches bind in one direction.
bool Decides(TunableVariable variable, std::string_view text) {
  if (variable == TunableVariable::kEnabled) return text == "1";
  if (variable == TunableVariable::kTuning) return text == "0";
  if (variable == TunableVariable::kRecordUntuned) return text == "1";
  return true;
}

// A switch that a user believes to be on must not be silently off.
bool MustBeReadable(TunableVariable variable) {
  return variable == TunableVariable::kNumericalCheck ||
         variable == TunableVariable::kTuningMeasurementMode;
}

const VariableName* FindVariable(std::string_view name) {
  const auto found =
      std::ranges::find_if(kNames, [&](const VariableName& entry) { return entry.name == name; });
  return found == std::end(kNames) ? nullptr : found;
}

// "openblas" of "OPENBLAS_ENABLED"; empty if `name` is no switch of a library.
std::string LibraryOf(std::string_view name) {
  constexpr std::string_view kSuffix = "_ENABLED";
  if (name.size() <= kSuffix.size() || !name.ends_with(kSuffix)) return {};
  return LibraryName(name.substr(0, name.size() - kSuffix.size()));
}

// "CONV_DIRECT" of "conv-direct".
std::string VariableWord(std::string_view library) {
  std::string word(library);
  for (char& c : word) {
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return word;
}

// The smaller of both limits; 0 if neither is on.
int64_t IterationsWithin(int64_t max_ms, int64_t max_iterations, double approximate_ms) {
  int64_t count = max_iterations;
  if (max_ms > 0 && approximate_ms > 0) {
    const double by_time =
        std::min(static_cast<double>(max_ms) / approximate_ms, static_cast<double>(kMaxNumber));
    const int64_t whole = std::max<int64_t>(1, static_cast<int64_t>(by_time));
    count = count > 0 ? std::min(count, whole) : whole;
  }
  return count;
}

}  // namespace

std::string_view Name(TunableVariable variable) {
  const auto found = std::ranges::find_if(
      kNames, [&](const VariableName& entry) { return entry.variable == variable; });
  return found->name;
}

std::string_view Name(MeasurementMode mode) {
  return mode == MeasurementMode::kDeviceEvents ? "device_events" : "kernel_profile";
}

std::string LibraryName(std::string_view name) {
  std::string library(name);
  for (char& c : library) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return library;
}

Result<TunableSwitches> TunableSwitches::FromEnvironment(const ProcessVariables& variables) {
  TunableSwitches switches;
  for (const auto& [full_name, value] : variables) {
    if (!full_name.starts_with(kTunablePrefix)) continue;
    const std::string_view name = std::string_view(full_name).substr(kTunablePrefix.size());
    const VariableName* const known = FindVariable(name);
    if (known == nullptr) {
      const std::string library = LibraryOf(name);
      if (library.empty() || (value != "0" && value != "1")) {
        switches.warnings_.push_back(fmt::format(
            "{}={} is ignored: no switch of that name and form exists; docs/tunableop.md lists "
            "them.",
            full_name, Quoted(value)));
      } else {
        ATTUNE_RETURN_IF_ERROR(switches.SetLibraryEnabled(library, value == "1"));
        switches.decided_libraries_.insert(library);
      }
      continue;
    }
    const Status status = ReadInto(known->variable, value, switches.settings_);
    if (!status.ok() && MustBeReadable(known->variable)) return status;
    if (!status.ok()) {
      switches.warnings_.push_back(fmt::format("{} The default stays.", status.message()));
    } else if (Decides(known->variable, value)) {
      switches.decided_.insert(known->variable);
    }
  }
  return switches;
}

Status TunableSwitches::RefuseIfDecided(TunableVariable variable,
                                        const TunableSettings& wanted) const {
  if (!decided_.contains(variable) || wanted == settings_) return Status::Ok();
  return FailedPrecondition(fmt::format("{}{} is set in the environment, which wins over the API.",
                                        kTunablePrefix, Name(variable)));
}

Status TunableSwitches::Set(TunableVariable variable, std::string_view value) {
  TunableSettings wanted = settings_;
  ATTUNE_RETURN_IF_ERROR(ReadInto(variable, value, wanted));
  ATTUNE_RETURN_IF_ERROR(RefuseIfDecided(variable, wanted));
  settings_ = std::move(wanted);
  return Status::Ok();
}

Status TunableSwitches::SetFilename(std::string_view name, bool with_ordinal) {
  TunableSettings wanted = settings_;
  ATTUNE_RETURN_IF_ERROR(ReadInto(TunableVariable::kFilename, name, wanted));
  wanted.filename_takes_ordinal = with_ordinal;
  ATTUNE_RETURN_IF_ERROR(RefuseIfDecided(TunableVariable::kFilename, wanted));
  settings_ = std::move(wanted);
  return Status::Ok();
}

Status TunableSwitches::SetNumericalCheck(const NumericalCheck& check) {
  if (check.enabled) ATTUNE_RETURN_IF_ERROR(Validate(check));
  TunableSettings wanted = settings_;
  wanted.numerical_check = check;
  ATTUNE_RETURN_IF_ERROR(RefuseIfDecided(TunableVariable::kNumericalCheck, wanted));
  settings_ = std::move(wanted);
  return Status::Ok();
}

Status TunableSwitches::SetLibraryEnabled(std::string_view library, bool enabled) {
  const std::string name = LibraryName(library);
  if (enabled != settings_.disabled_libraries.contains(name)) return Status::Ok();
  if (decided_libraries_.contains(name)) {
    return FailedPrecondition(fmt::format(
        "{}{}_ENABLED is set in the environment, which wins over the API: the library '{}' stays "
        "switched {}.",
        kTunablePrefix, VariableWord(name), name, enabled ? "off" : "on"));
  }
  if (enabled) {
    settings_.disabled_libraries.erase(name);
  } else {
    settings_.disabled_libraries.insert(name);
  }
  return Status::Ok();
}

TunableActions ActionsOf(const TunableSettings& settings) {
  if (!settings.enabled) return {};
  if (settings.tuning) return {.serve = true, .tune_on_miss = true, .record_on_miss = false};
  return {.serve = true, .tune_on_miss = false, .record_on_miss = settings.record_untuned};
}

int64_t RotatingBudgetBytes(const TunableSettings& settings, int64_t cache_bytes) {
  return std::max<int64_t>(0, settings.rotating_buffer_bytes.value_or(cache_bytes));
}

int64_t TimedIterations(const TunableSettings& settings, double approximate_ms) {
  const int64_t count = IterationsWithin(settings.max_tuning_duration_ms,
                                         settings.max_tuning_iterations, approximate_ms);
  return count > 0 ? count : kDefaultIterations;
}

int64_t WarmupIterations(const TunableSettings& settings, double approximate_ms) {
  return IterationsWithin(settings.max_warmup_duration_ms, settings.max_warmup_iterations,
                          approximate_ms);
}

}  // namespace attune
