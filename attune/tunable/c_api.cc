#include "attune/tunable/c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file_size_signal.h"
#include "attune/base/struct_size.h"
#include "attune/tunable.h"
#include "attune/tunable/offline_tuning.h"

namespace attune {
namespace {

Status Missing(const char* name) {
  return InvalidArgument(fmt::format("Argument `{}` must not be null.", name));
}

// `body` returns a Status; exceptions of libraries become a code, because nothing may unwind into
// C.
template <class Body>
attune_code WithoutThrowing(const Body& body) {
  const FileSizeSignalHeld held;
  try {
    const Status status = body();
    return status.ok() ? ATTUNE_OK : Fail(status);
  } catch (const std::bad_alloc&) {
    return Fail(ResourceExhausted("There is no memory left."));
  } catch (const std::exception& error) {
    return Fail(Internal(error.what()));
  }
}

// `body(context)` returns a Status.
template <class Body>
attune_code OnContext(attune_runtime* runtime, const Body& body) {
  return WithoutThrowing([&]() -> Status {
    if (runtime == nullptr) return Missing("runtime");
    ATTUNE_ASSIGN_OR_RETURN(TunableContext * context, ContextOf(*runtime));
    return body(*context);
  });
}

attune_code SetText(attune_runtime* runtime, TunableVariable variable, const char* name,
                    const char* value) {
  return OnContext(runtime, [&](TunableContext& context) {
    return value == nullptr ? Missing(name) : context.Set(variable, value);
  });
}

attune_code SetSwitch(attune_runtime* runtime, TunableVariable variable, int value) {
  return SetText(runtime, variable, "enable", value != 0 ? "1" : "0");
}

attune_code SetNumber(attune_runtime* runtime, TunableVariable variable, int64_t value) {
  return OnContext(runtime, [&](TunableContext& context) {
    return context.Set(variable, fmt::format("{}", value));
  });
}

// `field(settings)`, or a value-initialised one if there is no run time.
template <class Field>
auto Ask(attune_runtime* runtime, const Field& field) -> decltype(field(TunableSettings())) {
  decltype(field(TunableSettings())) value{};
  static_cast<void>(OnContext(runtime, [&](TunableContext& context) {
    value = field(context.settings());
    return Status::Ok();
  }));
  return value;
}

attune_code GiveText(attune_runtime* runtime, const char* name, char** out,
                     std::string (*text)(TunableContext&)) {
  if (out != nullptr) *out = nullptr;
  return OnContext(runtime, [&](TunableContext& context) {
    return out == nullptr ? Missing(name) : CopyOut(text(context), out);
  });
}

// Checked before any work: a failed call has done nothing.
template <class Struct>
Status CheckRoom(const Struct* out) {
  if (out == nullptr) return Status::Ok();
  return CheckStructSize(out->struct_size, sizeof(size_t), "the struct to fill",
                         "the initialiser of the struct");
}

// Copies the members that the caller's struct has room for. REQUIRES: CheckRoom(out).ok().
template <class Struct>
Status Fill(Struct filled, Struct* out) {
  if (out == nullptr) return Status::Ok();
  filled.struct_size = out->struct_size;
  std::memcpy(out, &filled, std::min(out->struct_size, sizeof(Struct)));
  return Status::Ok();
}

Status FillLoad(const LoadReport& report, attune_tunable_load* out) {
  attune_tunable_load filled{};
  filled.accepted = report.accepted;
  filled.duplicates = report.duplicates;
  filled.rejected = static_cast<int64_t>(report.rejected.size());
  filled.unreadable = static_cast<int64_t>(report.unreadable.size());
  return Fill(filled, out);
}

}  // namespace

Status CheckRoomFor(const attune_tunable_offline* report) { return CheckRoom(report); }

Status Tell(const Result<OfflineReport>& report, attune_tunable_offline* out) {
  if (!report.ok()) return report.error();
  attune_tunable_offline filled{};
  filled.tuned = report->tuned;
  filled.known = report->known;
  filled.failed = static_cast<int64_t>(report->failed.size());
  filled.unreadable = static_cast<int64_t>(report->unreadable.size());
  ATTUNE_RETURN_IF_ERROR(Fill(filled, out));
  ATTUNE_RETURN_IF_ERROR(StatusOf(*report));
  // The call did all it could, so it succeeds; callers can read the message.
  const std::string complaints = Complaints(*report);
  if (!complaints.empty()) static_cast<void>(Fail(Unavailable(complaints)));
  return Status::Ok();
}

}  // namespace attune

using attune::Ask;
using attune::OnContext;
using attune::SetNumber;
using attune::SetSwitch;
using attune::SetText;
using attune::Status;
using attune::TunableContext;
using attune::TunableSettings;
using attune::TunableVariable;

extern "C" {

attune_code attune_tunable_enable(attune_runtime* runtime, int enable) {
  return SetSwitch(runtime, TunableVariable::kEnabled, enable);
}
int attune_tunable_is_enabled(attune_runtime* runtime) {
  return Ask(runtime, [](const TunableSettings& settings) { return settings.enabled; });
}

attune_code attune_tunable_tuning_enable(attune_runtime* runtime, int enable) {
  return SetSwitch(runtime, TunableVariable::kTuning, enable);
}
int attune_tunable_tuning_is_enabled(attune_runtime* runtime) {
  return Ask(runtime, [](const TunableSettings& settings) { return settings.tuning; });
}

attune_code attune_tunable_record_untuned_enable(attune_runtime* runtime, int enable) {
  return SetSwitch(runtime, TunableVariable::kRecordUntuned, enable);
}
int attune_tunable_record_untuned_is_enabled(attune_runtime* runtime) {
  return Ask(runtime, [](const TunableSettings& settings) { return settings.record_untuned; });
}

attune_code attune_tunable_wildcard_fallback_enable(attune_runtime* runtime, int enable) {
  return SetSwitch(runtime, TunableVariable::kWildcardFallback, enable);
}
int attune_tunable_wildcard_fallback_is_enabled(attune_runtime* runtime) {
  return Ask(runtime, [](const TunableSettings& settings) { return settings.wildcard_fallback; });
}

attune_code attune_tunable_icache_flush_enable(attune_runtime* runtime, int enable) {
  return SetSwitch(runtime, TunableVariable::kIcacheFlushEnabled, enable);
}
int attune_tunable_icache_flush_is_enabled(attune_runtime* runtime) {
  return Ask(runtime, [](const TunableSettings& settings) { return settings.icache_flush; });
}

attune_code attune_tunable_library_enable(attune_runtime* runtime, const char* library,
                                          int enable) {
  return OnContext(runtime, [&](TunableContext& context) {
    if (library == nullptr) return attune::Missing("library");
    return context.SetLibraryEnabled(library, enable != 0);
  });
}
int attune_tunable_library_is_enabled(attune_runtime* runtime, const char* library) {
  return Ask(runtime, [&](const TunableSettings& settings) {
    return library != nullptr &&
           !settings.disabled_libraries.contains(attune::LibraryName(library));
  });
}

attune_code attune_tunable_set_max_tuning_duration(attune_runtime* runtime, int64_t duration_ms) {
  return SetNumber(runtime, TunableVariable::kMaxTuningDurationMs, duration_ms);
}
int64_t attune_tunable_get_max_tuning_duration(attune_runtime* runtime) {
  return Ask(runtime,
             [](const TunableSettings& settings) { return settings.max_tuning_duration_ms; });
}

attune_code attune_tunable_set_max_tuning_iterations(attune_runtime* runtime, int64_t iterations) {
  return SetNumber(runtime, TunableVariable::kMaxTuningIterations, iterations);
}
int64_t attune_tunable_get_max_tuning_iterations(attune_runtime* runtime) {
  return Ask(runtime,
             [](const TunableSettings& settings) { return settings.max_tuning_iterations; });
}

attune_code attune_tunable_set_max_warmup_duration(attune_runtime* runtime, int64_t duration_ms) {
  return SetNumber(runtime, TunableVariable::kMaxWarmupDurationMs, duration_ms);
}
int64_t attune_tunable_get_max_warmup_duration(attune_runtime* runtime) {
  return Ask(runtime,
             [](const TunableSettings& settings) { return settings.max_warmup_duration_ms; });
}

attune_code attune_tunable_set_max_warmup_iterations(attune_runtime* runtime, int64_t iterations) {
  return SetNumber(runtime, TunableVariable::kMaxWarmupIterations, iterations);
}
int64_t attune_tunable_get_max_warmup_iterations(attune_runtime* runtime) {
  return Ask(runtime,
             [](const TunableSettings& settings) { return settings.max_warmup_iterations; });
}

attune_code attune_tunable_set_requested_algo_count(attune_runtime* runtime, int64_t count) {
  return SetNumber(runtime, TunableVariable::kRequestedAlgoCount, count);
}
int64_t attune_tunable_get_requested_algo_count(attune_runtime* runtime) {
  return Ask(runtime,
             [](const TunableSettings& settings) { return settings.requested_algo_count; });
}

attune_code attune_tunable_set_rotating_buffer_size(attune_runtime* runtime, int64_t size_mib) {
  return SetNumber(runtime, TunableVariable::kRotatingBufferSize, size_mib);
}
int64_t attune_tunable_get_rotating_buffer_size_bytes(attune_runtime* runtime) {
  int64_t size_bytes = 0;
  static_cast<void>(OnContext(runtime, [&](TunableContext& context) {
    size_bytes = context.rotating_buffer_bytes();
    return Status::Ok();
  }));
  return size_bytes;
}

attune_code attune_tunable_set_measurement_mode(attune_runtime* runtime, const char* mode) {
  return SetText(runtime, TunableVariable::kTuningMeasurementMode, "mode", mode);
}
const char* attune_tunable_get_measurement_mode(attune_runtime* runtime) {
  // Names are literals.
  return attune::Name(
             Ask(runtime,
                 [](const TunableSettings& settings) { return settings.measurement_mode; }))
      .data();
}

attune_code attune_tunable_set_numerical_check_tolerances(attune_runtime* runtime, int enable,
                                                          double atol, double rtol) {
  return OnContext(runtime, [&](TunableContext& context) {
    const attune::NumericalCheck check{enable != 0, atol, rtol};
    // As in TunableOp, tolerances are looked at whether or not the check is switched on.
    const Status status = attune::Validate(check);
    return status.ok() ? context.SetNumericalCheck(check) : status;
  });
}
int attune_tunable_get_numerical_check_tolerances(attune_runtime* runtime, double* atol,
                                                  double* rtol) {
  const auto check =
      Ask(runtime, [](const TunableSettings& settings) { return settings.numerical_check; });
  if (atol != nullptr) *atol = check.atol;
  if (rtol != nullptr) *rtol = check.rtol;
  return check.enabled;
}

attune_code attune_tunable_set_filename(attune_runtime* runtime, const char* filename,
                                        int insert_device_ordinal) {
  return OnContext(runtime, [&](TunableContext& context) {
    return filename == nullptr ? attune::Missing("filename")
                               : context.SetFilename(filename, insert_device_ordinal != 0);
  });
}
attune_code attune_tunable_get_filename(attune_runtime* runtime, char** filename) {
  return attune::GiveText(runtime, "filename", filename,
                          [](TunableContext& context) { return context.results_filename(); });
}
attune_code attune_tunable_set_untuned_filename(attune_runtime* runtime, const char* filename) {
  return SetText(runtime, TunableVariable::kUntunedFilename, "filename", filename);
}
attune_code attune_tunable_get_untuned_filename(attune_runtime* runtime, char** filename) {
  return attune::GiveText(runtime, "filename", filename,
                          [](TunableContext& context) { return context.untuned_filename(); });
}

attune_code attune_tunable_read_file(attune_runtime* runtime, const char* filename) {
  return OnContext(runtime, [&](TunableContext& context) {
    return context.ReadResults(filename == nullptr ? "" : filename).status();
  });
}
attune_code attune_tunable_write_file(attune_runtime* runtime, const char* filename) {
  return OnContext(runtime, [&](TunableContext& context) {
    return context.WriteResults(filename == nullptr ? "" : filename);
  });
}
attune_code attune_tunable_write_file_on_exit(attune_runtime* runtime, int enable) {
  return OnContext(runtime, [&](TunableContext& context) {
    context.WriteOnExit(enable != 0);
    return Status::Ok();
  });
}

attune_code attune_tunable_load_results(attune_runtime* runtime, const char* lines,
                                        attune_tunable_load* report) {
  return OnContext(runtime, [&](TunableContext& context) {
    if (lines == nullptr) return attune::Missing("lines");
    ATTUNE_RETURN_IF_ERROR(attune::CheckRoom(report));
    const attune::LoadReport loaded = context.LoadResults(lines);
    return attune::FillLoad(loaded, report);
  });
}

attune_code attune_tunable_get_results(attune_runtime* runtime, char** lines) {
  return attune::GiveText(runtime, "lines", lines, [](TunableContext& context) {
    std::string text;
    for (const attune::TunableResult& result : context.results()) {
      text += attune::Text(result.line) + "\n";
    }
    return text;
  });
}
attune_code attune_tunable_get_validators(attune_runtime* runtime, char** lines) {
  return attune::GiveText(runtime, "lines", lines, [](TunableContext& context) {
    std::string text;
    for (const attune::Validator& validator : context.validators()) {
      text += attune::ValidatorLine(validator) + "\n";
    }
    return text;
  });
}
attune_code attune_tunable_clear(attune_runtime* runtime) {
  return OnContext(runtime, [](TunableContext& context) {
    context.Clear();
    return Status::Ok();
  });
}

attune_code attune_tunable_tune_in_file(attune_runtime* runtime, const char* filename,
                                        attune_tunable_offline* report) {
  return OnContext(runtime, [&](TunableContext& context) {
    if (filename == nullptr) return attune::Missing("filename");
    ATTUNE_RETURN_IF_ERROR(attune::CheckRoom(report));
    return attune::Tell(attune::TuneFile(filename, context), report);
  });
}
attune_code attune_tunable_tune_in_files(attune_runtime* const* runtimes, size_t count,
                                         const char* pattern, attune_tunable_offline* report) {
  return attune::WithoutThrowing([&]() -> Status {
    if (runtimes == nullptr) return attune::Missing("runtimes");
    if (pattern == nullptr) return attune::Missing("pattern");
    // A larger count is an uninitialised value.
    constexpr size_t kMostRuntimes = 4096;
    if (count > kMostRuntimes) {
      return attune::InvalidArgument(
          fmt::format("The call passes {} run times; the limit is {}.", count, kMostRuntimes));
    }
    ATTUNE_RETURN_IF_ERROR(attune::CheckRoom(report));
    std::vector<attune::OfflineDevice> devices;
    for (size_t i = 0; i < count; ++i) {
      if (runtimes[i] == nullptr) return attune::Missing("runtimes[i]");
      ATTUNE_ASSIGN_OR_RETURN(TunableContext * context, attune::ContextOf(*runtimes[i]));
      devices.push_back(attune::DeviceOf(*context));
    }
    return attune::Tell(attune::TuneFiles(pattern, devices), report);
  });
}

attune_code attune_tunable_push_dynamic_dims(unsigned mask) {
  return attune::WithoutThrowing([&] {
    constexpr unsigned kDims =
        ATTUNE_DYNAMIC_M | ATTUNE_DYNAMIC_N | ATTUNE_DYNAMIC_K | ATTUNE_DYNAMIC_BATCH;
    constexpr unsigned kKnown = kDims | ATTUNE_DYNAMIC_ROW_MAJOR | ATTUNE_DYNAMIC_BUCKETS;
    if ((mask & ~kKnown) != 0) {
      return attune::InvalidArgument(
          fmt::format("Mask {} has bits that mean nothing; {} are known.", mask, kKnown));
    }
    attune::DynamicDims dims;
    dims.mask = mask & kDims;
    if ((mask & ATTUNE_DYNAMIC_BUCKETS) != 0) dims.reach = attune::Reach::kPowerOfTwo;
    if ((mask & ATTUNE_DYNAMIC_ROW_MAJOR) != 0) dims = attune::InBlasFrame(dims);
    if (attune::PushDynamicDims(dims)) return Status::Ok();
    return attune::ResourceExhausted(
        fmt::format("Dynamic dimensions are nested {} deep, the most that is possible; is a pop "
                    "missing?",
                    attune::kMaxDynamicDimsDepth));
  });
}
attune_code attune_tunable_pop_dynamic_dims(void) {
  return attune::WithoutThrowing([] {
    if (attune::PopDynamicDims()) return Status::Ok();
    return attune::FailedPrecondition("There are no dynamic dimensions to take back.");
  });
}

attune_code attune_tunable_get_counters(attune_runtime* runtime,
                                        attune_tunable_counters* counters) {
  return OnContext(runtime, [&](TunableContext& context) {
    if (counters == nullptr) return attune::Missing("counters");
    ATTUNE_RETURN_IF_ERROR(attune::CheckRoom(counters));
    const attune::TunableCounters now = context.counters();
    attune_tunable_counters filled{};
    filled.hits_by_problem = now.hits_by_problem;
    filled.hits_by_key = now.hits_by_key;
    filled.hits_by_wildcard = now.hits_by_wildcard;
    filled.misses = now.misses;
    filled.unusable = now.unusable;
    filled.recorded = now.recorded;
    filled.tuned = now.tuned;
    filled.tuning_failures = now.tuning_failures;
    return attune::Fill(filled, counters);
  });
}

}  // extern "C"
