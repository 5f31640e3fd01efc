#include "backends/cuda/driver/counter_source.h"

#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <utility>

#include <fmt/format.h>

#include "backends/cuda/driver/counter_plan.h"
#include "backends/cuda/driver/cupti.h"
#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

// No more passes than any set of counters of ours takes.
constexpr size_t kMostPasses = 64;

#define ATTUNE_CUPTI_DEVICE_FUNCTIONS(X)          \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerInitialize)                      \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataInfo)

// The device's half of CUPTI.
struct DeviceCupti {
#define ATTUNE_CUPTI_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_CUPTI_DEVICE_FUNCTIONS(ATTUNE_CUPTI_DECLARE)
#undef ATTUNE_CUPTI_DECLARE
};

Result<DeviceCupti> LoadDeviceCupti(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const host::SharedLibrary library, host::SharedLibrary::Open({path}));
  DeviceCupti cupti;
#define ATTUNE_CUPTI_FIND(NAME)                                               \
  cupti.NAME = reinterpret_cast<decltype(cupti.NAME)>(library.Find(#NAME));   \
  if (cupti.NAME == nullptr) {                                                \
    return Unavailable(fmt::format("{} has no function '{}'.", path, #NAME)); \
  }
  ATTUNE_CUPTI_DEVICE_FUNCTIONS(ATTUNE_CUPTI_FIND)
#undef ATTUNE_CUPTI_FIND
  return cupti;
}

// A parameter structure with its own size in it.
template <class Params>
Params Sized(size_t size) {
  Params params = {};
  params.structSize = size;
  return params;
}
#define ATTUNE_CUPTI_PARAMS(NAME) Sized<NAME##_Params>(NAME##_Params_STRUCT_SIZE)

// The profiler of a context, enabled as long as it lives.
class RangeProfiler {
 public:
  RangeProfiler(const Cupti& cupti, const DeviceCupti& device) : cupti_(cupti), device_(device) {}
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;
  ~RangeProfiler() {
    if (object_ == nullptr) return;
    auto params = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_Disable);
    params.pRangeProfilerObject = object_;
    (void)device_.cuptiRangeProfilerDisable(&params);  // Nothing is left to be done about it.
  }

  Status Enable(CUcontext context) {
    auto params = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_Enable);
    params.ctx = context;
    ATTUNE_RETURN_IF_ERROR(
        cupti_.Check(device_.cuptiRangeProfilerEnable(&params), "counts nothing for this process"));
    object_ = params.pRangeProfilerObject;
    return Status::Ok();
  }

  // Room for the counters of `ranges` kernels.
  Status MakeRoom(const CounterPlan& plan, size_t ranges) {
    std::vector<const char*> names;
    for (const std::string& counter : plan.counters) names.push_back(counter.c_str());
    auto size = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(ranges);
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(device_.cuptiRangeProfilerGetCounterDataSize(&size),
                                        "does not tell the size of its counts"));
    data_.assign(size.counterDataSize, 0);
    auto made = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize);
    made.pRangeProfilerObject = object_;
    made.counterDataSize = data_.size();
    made.pCounterData = data_.data();
    return cupti_.Check(device_.cuptiRangeProfilerCounterDataImageInitialize(&made),
                        "makes no room for its counts");
  }

  // A range for each kernel, and the same work again for each pass.
  Status Configure(const CounterPlan& plan, size_t ranges) {
    auto params = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig);
    params.pRangeProfilerObject = object_;
    params.configSize = plan.config_image.size();
    params.pConfig = plan.config_image.data();
    params.counterDataImageSize = data_.size();
    params.pCounterDataImage = data_.data();
    params.range = CUPTI_AutoRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = ranges;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    return cupti_.Check(device_.cuptiRangeProfilerSetConfig(&params),
                        "takes no such configuration");
  }

  // Returns true when all passes are done.
  Result<bool> Pass(const std::function<Status()>& run) {
    auto start = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_Start);
    start.pRangeProfilerObject = object_;
    ATTUNE_RETURN_IF_ERROR(
        cupti_.Check(device_.cuptiRangeProfilerStart(&start), "does not begin to count"));
    const Status ran = run();
    auto stop = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_Stop);
    stop.pRangeProfilerObject = object_;
    const CUptiResult stopped = device_.cuptiRangeProfilerStop(&stop);
    if (!ran.ok()) return ran;
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(stopped, "does not end counting"));
    return stop.isAllPassSubmitted != 0;
  }

  Result<std::vector<std::vector<double>>> Values(const CounterPlan& plan) {
    auto decode = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData);
    decode.pRangeProfilerObject = object_;
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(device_.cuptiRangeProfilerDecodeData(&decode),
                                        "does not decode what was counted"));
    if (decode.numOfRangeDropped > 0) {
      return ResourceExhausted(
          fmt::format("{} kernels of the call were not counted: it launches "
                      "more than there was room for.",
                      decode.numOfRangeDropped));
    }
    auto info = ATTUNE_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    ATTUNE_RETURN_IF_ERROR(cupti_.Check(device_.cuptiRangeProfilerGetCounterDataInfo(&info),
                                        "does not tell what it counted"));
    std::vector<std::vector<double>> values;
    for (size_t range = 0; range < info.numTotalRanges; ++range) {
      ATTUNE_ASSIGN_OR_RETURN(std::vector<double> row, CounterValues(cupti_, plan, data_, range));
      values.push_back(std::move(row));
    }
    return values;
  }

 private:
  const Cupti& cupti_;
  const DeviceCupti& device_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<uint8_t> data_;
};

class CuptiSource final : public CounterSource {
 public:
  CuptiSource(Cupti cupti, DeviceCupti device, CUcontext context, std::string chip)
      : cupti_(std::move(cupti)), device_(device), context_(context), chip_(std::move(chip)) {}

  Result<std::vector<std::vector<double>>> Count(const std::vector<std::string>& counters,
                                                 size_t most_kernels,
                                                 const std::function<Status()>& run) override {
    if (plan_.counters != counters) {
      ATTUNE_ASSIGN_OR_RETURN(plan_, PlanCounters(cupti_, chip_, counters));
    }
    RangeProfiler profiler(cupti_, device_);
    ATTUNE_RETURN_IF_ERROR(profiler.Enable(context_));
    ATTUNE_RETURN_IF_ERROR(profiler.MakeRoom(plan_, most_kernels));
    ATTUNE_RETURN_IF_ERROR(profiler.Configure(plan_, most_kernels));
    for (size_t pass = 0; pass < kMostPasses; ++pass) {
      ATTUNE_ASSIGN_OR_RETURN(const bool is_over, profiler.Pass(run));
      if (is_over) return profiler.Values(plan_);
    }
    return Internal(fmt::format("CUPTI was not done after {} passes.", kMostPasses));
  }

  const std::string& warning() const override { return cupti_.warning; }

 private:
  const Cupti cupti_;
  const DeviceCupti device_;
  const CUcontext context_;
  const std::string chip_;
  CounterPlan plan_;  // The counters of the last request.
};

Result<std::unique_ptr<CounterSource>> MakeSource(const Cupti& cupti, CUcontext context,
                                                  int ordinal) {
  ATTUNE_ASSIGN_OR_RETURN(const DeviceCupti device, LoadDeviceCupti(cupti.report.path));
  auto initialise = ATTUNE_CUPTI_PARAMS(CUpti_Profiler_Initialize);
  ATTUNE_RETURN_IF_ERROR(
      cupti.Check(device.cuptiProfilerInitialize(&initialise), "cannot be initialised"));
  auto chip = ATTUNE_CUPTI_PARAMS(CUpti_Device_GetChipName);
  chip.deviceIndex = static_cast<size_t>(ordinal);
  ATTUNE_RETURN_IF_ERROR(
      cupti.Check(device.cuptiDeviceGetChipName(&chip), "does not tell the chip of the device"));
  return std::unique_ptr<CounterSource>(
      std::make_unique<CuptiSource>(cupti, device, context, chip.pChipName));
}

}  // namespace

Result<std::unique_ptr<CounterSource>> MakeCounterSource(CUcontext context, int ordinal) {
  const Cupti cupti = LoadCupti();
  if (!cupti.available()) return Unavailable(cupti.report.missing);
  auto source = MakeSource(cupti, context, ordinal);
  if (source.ok() || cupti.warning.empty()) return source;
  const Status& failure = source.error();
  return Status(failure.code(), fmt::format("{} {}", failure.message(), cupti.warning));
}

}  // namespace attune::cuda
