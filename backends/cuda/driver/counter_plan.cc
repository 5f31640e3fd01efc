#include "backends/cuda/driver/counter_plan.h"

#include <utility>

#include <fmt/format.h>

namespace attune::cuda {
namespace {

// CUPTI's counters of one chip, and the requests so far. CUPTI refuses everything after a name that
// it refuses, so each query has an object of its own.
class ChipCounters {
 public:
  static Result<ChipCounters> Of(const Cupti& cupti, const std::string& chip) {
    if (!cupti.available()) return Unavailable(cupti.report.missing);
    CUpti_Profiler_Host_Initialize_Params params = {};
    params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    const Status made = cupti.Check(cupti.cuptiProfilerHostInitialize(&params),
                                    fmt::format("gives no counters of chip '{}'", chip));
    if (made.code() == StatusCode::kNotFound) {
      ATTUNE_ASSIGN_OR_RETURN(const auto chips, ChipsWithCounters(cupti));
      return NotFound(fmt::format("{} It knows {}.", made.message(), fmt::join(chips, ", ")));
    }
    ATTUNE_RETURN_IF_ERROR(made);
    return ChipCounters(cupti, params.pHostObject);
  }

  ChipCounters(ChipCounters&& other) noexcept
      : cupti_(other.cupti_), object_(std::exchange(other.object_, nullptr)) {}
  ChipCounters& operator=(ChipCounters&&) = delete;
  ~ChipCounters() {
    if (object_ == nullptr) return;
    CUpti_Profiler_Host_Deinitialize_Params params = {};
    params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    (void)cupti_.cuptiProfilerHostDeinitialize(&params);  // Nothing is left to be done about it.
  }

  bool Has(const std::string& counter) const {
    CUpti_Profiler_Host_GetMetricProperties_Params params = {};
    params.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    params.pMetricName = counter.c_str();
    return cupti_.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_SUCCESS;
  }

  Status Add(const std::vector<std::string>& counters) {
    std::vector<const char*> names = NamesOf(counters);
    CUpti_Profiler_Host_ConfigAddMetrics_Params params = {};
    params.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    return cupti_.Check(cupti_.cuptiProfilerHostConfigAddMetrics(&params),
                        fmt::format("does not collect {} together", fmt::join(counters, ", ")));
  }

  Result<std::vector<uint8_t>> ConfigImage() const {
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {};
    size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
    size.pHostObject = object_;
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiProfilerHostGetConfigImageSize(&size),
                                        "does not tell the size of a configuration"));
    std::vector<uint8_t> image(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params params = {};
    params.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    params.configImageSize = image.size();
    params.pConfigImage = image.data();
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiProfilerHostGetConfigImage(&params),
                                        "does not give a configuration"));
    return image;
  }

  Result<std::vector<double>> ValuesIn(std::span<const uint8_t> counter_data, size_t range,
                                       const std::vector<std::string>& counters) const {
    std::vector<const char*> names = NamesOf(counters);
    std::vector<double> values(counters.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params params = {};
    params.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    params.pCounterDataImage = counter_data.data();
    params.counterDataImageSize = counter_data.size();
    params.rangeIndex = range;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(
        cupti_.cuptiProfilerHostEvaluateToGpuValues(&params),
        fmt::format("does not evaluate range {} of {} bytes", range, counter_data.size())));
    return values;
  }

 private:
  ChipCounters(const Cupti& cupti, CUpti_Profiler_Host_Object* object)
      : cupti_(cupti), object_(object) {}

  // Valid as long as `counters` is unchanged.
  static std::vector<const char*> NamesOf(const std::vector<std::string>& counters) {
    std::vector<const char*> names;
    for (const std::string& counter : counters) names.push_back(counter.c_str());
    return names;
  }

  const Cupti& cupti_;
  CUpti_Profiler_Host_Object* object_;
};

// CUPTI wants the image as bytes that may be written: a copy.
Result<size_t> PassesOf(const Cupti& cupti, std::vector<uint8_t> image) {
  CUpti_Profiler_Host_GetNumOfPasses_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  ATTUNE_RETURN_IF_ERROR(cupti.Check(cupti.cuptiProfilerHostGetNumOfPasses(&params),
                                     "does not tell the passes of a configuration"));
  return params.numOfPasses;
}

// Why these, which the chip has all of, are refused together.
Status Refusal(const Cupti& cupti, const std::string& chip,
               const std::vector<std::string>& counters, const Status& together) {
  std::vector<std::string> refused;
  for (const std::string& counter : counters) {
    ATTUNE_ASSIGN_OR_RETURN(ChipCounters one, ChipCounters::Of(cupti, chip));
    if (!one.Add({counter}).ok()) refused.push_back(counter);
  }
  if (refused.empty()) return together;
  return InvalidArgument(
      fmt::format("{} cannot collect {} as it stands; a counter is asked for with what is made of "
                  "its units, as in 'dram__bytes_read.sum'.",
                  chip, fmt::join(refused, ", ")));
}

}  // namespace

Result<std::vector<std::string>> ChipsWithCounters(const Cupti& cupti) {
  if (!cupti.available()) return Unavailable(cupti.report.missing);
  CUpti_Profiler_Host_GetSupportedChips_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE;
  ATTUNE_RETURN_IF_ERROR(cupti.Check(cupti.cuptiProfilerHostGetSupportedChips(&params),
                                     "does not tell the chips that it knows"));
  return std::vector<std::string>(params.ppChipNames, params.ppChipNames + params.numChips);
}

Result<std::vector<std::string>> CountersMissing(const Cupti& cupti, const std::string& chip,
                                                 const std::vector<std::string>& counters) {
  ATTUNE_ASSIGN_OR_RETURN(const ChipCounters there, ChipCounters::Of(cupti, chip));
  std::vector<std::string> missing;
  for (const std::string& counter : counters) {
    if (!there.Has(counter)) missing.push_back(counter);
  }
  return missing;
}

Result<CounterPlan> PlanCounters(const Cupti& cupti, const std::string& chip,
                                 const std::vector<std::string>& counters) {
  if (counters.empty())
    return InvalidArgument("No counter was named, so there is nothing to plan.");
  ATTUNE_ASSIGN_OR_RETURN(const auto missing, CountersMissing(cupti, chip, counters));
  if (!missing.empty()) {
    return NotFound(fmt::format("CUPTI {} knows no counter {} of {}.", cupti.report.version,
                                fmt::join(missing, ", "), chip));
  }
  ATTUNE_ASSIGN_OR_RETURN(ChipCounters chosen, ChipCounters::Of(cupti, chip));
  if (const Status added = chosen.Add(counters); !added.ok()) {
    return Refusal(cupti, chip, counters, added);
  }
  CounterPlan plan{chip, counters, {}, 0};
  ATTUNE_ASSIGN_OR_RETURN(plan.config_image, chosen.ConfigImage());
  ATTUNE_ASSIGN_OR_RETURN(plan.passes, PassesOf(cupti, plan.config_image));
  return plan;
}

Result<std::vector<double>> CounterValues(const Cupti& cupti, const CounterPlan& plan,
                                          std::span<const uint8_t> counter_data, size_t range) {
  ATTUNE_ASSIGN_OR_RETURN(const ChipCounters chip, ChipCounters::Of(cupti, plan.chip));
  return chip.ValuesIn(counter_data, range, plan.counters);
}

}  // namespace attune::cuda
