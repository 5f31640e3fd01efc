#include "extensions/models/seer/device_probe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/measure/statistics.h"
#include "attune/ops/conv/conv.h"
#include "extensions/models/seer/launched_pick.h"

namespace attune::seer {
namespace {

constexpr std::string_view kSolver = "cuda.cudnn-conv";
constexpr size_t kWorkspace = 3;  // After the three operands.
// Indices of a layer's operands in memory: inputs come first and are filled.
constexpr size_t kImages = 0;
constexpr size_t kGradients = 1;
constexpr size_t kOutput = 2;
constexpr size_t kImageGradients = 4;
constexpr size_t kDisplacer = 5;
constexpr size_t kLeastDisplacerBytes = size_t{64} << 20;
constexpr int kSamples = 5;
constexpr double kSampleNs = 2e6;
constexpr double kMostLaunches = 20;
constexpr size_t kFillBytes = size_t{16} << 20;

Problem ConvOf(const Layer& x, ConvDirection direction) {
  Conv conv;
  conv.direction = direction;
  conv.batch = x.n;
  conv.in_channels = x.c;
  conv.out_channels = x.k;
  conv.in = {1, x.w, x.w};
  conv.filter = {1, x.f, x.f};
  conv.stride = {1, x.s, x.s};
  conv.pad = {0, x.pad, x.pad};
  return conv;
}

// Counters on today's chips for SEER's columns; all in two passes.
const std::vector<std::string> kCounters = {
    "gpu__time_duration.sum",
    "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed"};

// SEER's utilisations are whole numbers up to 10.
double Tenths(double percent) { return std::clamp(std::round(percent / 10), 0.0, 10.0); }

KernelCounters CountersOf(const std::vector<double>& values) {
  return {values[0] / 1e6, values[1], values[2], values[3], Tenths(values[4]), Tenths(values[5])};
}

NetworkLayer LayerOf(LayerKind kind, const Layer& x) {
  return {kind, x.n, x.c, x.w, x.p, x.f, x.s, x.pad};
}

std::optional<LayerKind> KindOf(std::string_view name) {
  if (name == "maxpool") return LayerKind::kMaxPool;
  if (name == "maxpool_grad") return LayerKind::kMaxPoolGradient;
  if (name == "layout") return LayerKind::kToChannelsLast;
  return std::nullopt;
}

size_t ImageBytes(const NetworkLayer& layer, int64_t width) {
  return static_cast<size_t>(layer.batch * layer.channels * width * width) * sizeof(float);
}

// Copies to the device before each launch, through its caches. A copy is no kernel, so kernel
// counters do not include it.
class DisplacedExecutable final : public Executable {
 public:
  DisplacedExecutable(Executable& launched, Device& device, BufferView displacer, size_t size_bytes)
      : launched_(launched), device_(device), displacer_(displacer), zeros_(size_bytes) {}

  size_t workspace_bytes() const override { return launched_.workspace_bytes(); }
  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Upload(zeros_, displacer_));
    return launched_.Run(arguments);
  }

 private:
  Executable& launched_;
  Device& device_;
  const BufferView displacer_;
  const std::vector<std::byte> zeros_;
};

LaunchedKernel KernelOf(const ObservedLaunch& launch) {
  return {launch.name, launch.blocks, launch.threads, launch.blocks_per_multiprocessor,
          std::nullopt};
}

}  // namespace

Result<std::unique_ptr<DeviceProbe>> DeviceProbe::Open(const Place& place, CacheState cache) {
  const Solver* found = nullptr;
  for (const auto& solver : place.backend->solvers()) {
    if (solver->id().name == kSolver) found = solver.get();
  }
  if (found == nullptr) {
    return Unsupported(fmt::format(
        "The device '{}' has no solver {}: SEER's data are of cuDNN's algorithms on an NVIDIA GPU. "
        "'attune devices' lists what is here.",
        place.device_spec, kSolver));
  }
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, place.backend->Open(place.device_spec));
  auto* const observer = dynamic_cast<LaunchObserver*>(device.get());
  auto* const counter = dynamic_cast<CallCounter*>(device.get());
  if (observer == nullptr || counter == nullptr) {
    return Unsupported(
        fmt::format("The device '{}' does not tell what a call launches.", place.device_spec));
  }
  std::unique_ptr<DeviceProbe> probe(new DeviceProbe(*found, std::move(device), observer, counter));
  probe->cache_ = cache;
  probe->displaced_bytes_ = std::max(2 * place.cache_bytes, kLeastDisplacerBytes);
  return probe;
}

Result<BufferView> DeviceProbe::MemoryFor(size_t position, size_t size_bytes) {
  std::unique_ptr<Buffer>& buffer = memory_[position];
  if (buffer == nullptr || buffer->size_bytes() < size_bytes) {
    buffer.reset();
    ATTUNE_ASSIGN_OR_RETURN(buffer, device_->Allocate(std::max<size_t>(size_bytes, 64)));
    if (position >= 2) return buffer->View(0);
    std::vector<std::byte> numbers(std::min(kFillBytes, buffer->size_bytes()));
    GenerateElements(DataType::kF32, 1, 0, static_cast<int64_t>(numbers.size() / sizeof(float)),
                     numbers.data());
    for (size_t at = 0; at < buffer->size_bytes(); at += numbers.size()) {
      const size_t count = std::min(numbers.size(), buffer->size_bytes() - at);
      ATTUNE_RETURN_IF_ERROR(device_->Upload(std::span(numbers).first(count), buffer->View(at)));
    }
  }
  return buffer->View(0);
}

Result<DeviceProbe::Call> DeviceProbe::MakeReady(const Problem& problem,
                                                 const std::string& algorithm) {
  ATTUNE_RETURN_IF_ERROR(solver_.IsApplicable(problem, device_->target()));
  const Config config = {{"algorithm", algorithm}, {"math", std::string("fma")}};
  Call call;
  ATTUNE_ASSIGN_OR_RETURN(call.executable, solver_.Load({}, problem, config, *device_));
  const std::vector<Operand> operands = Operands(problem);
  for (size_t i = 0; i < operands.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const BufferView view, MemoryFor(i, SpanBytes(operands[i].tensor)));
    call.operands.push_back(view);
  }
  ATTUNE_ASSIGN_OR_RETURN(call.arguments.workspace,
                          MemoryFor(kWorkspace, call.executable->workspace_bytes()));
  call.arguments.operands = call.operands;  // Their storage survives a move.
  return call;
}

Result<double> DeviceProbe::TimeMs(const Call& call) {
  TimingRequest request;
  request.cache = cache_;
  ATTUNE_ASSIGN_OR_RETURN(const double first_ns,
                          device_->TimeNs(*call.executable, call.arguments, request));
  request.launches =
      static_cast<int>(std::clamp(kSampleNs / std::max(first_ns, 1.0), 1.0, kMostLaunches));
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const double ns,
                            device_->TimeNs(*call.executable, call.arguments, request));
    samples.push_back(ns);
  }
  return Median(samples) / 1e6;
}

Result<std::vector<std::vector<double>>> DeviceProbe::Count(Call& call) {
  if (cache_ == CacheState::kWarm) {
    return counter_->Count(*call.executable, call.arguments, kCounters);
  }
  ATTUNE_ASSIGN_OR_RETURN(const BufferView displacer, MemoryFor(kDisplacer, displaced_bytes_));
  DisplacedExecutable displaced(*call.executable, *device_, displacer, displaced_bytes_);
  return counter_->Count(displaced, call.arguments, kCounters);
}

Result<LayerRun> DeviceProbe::Run(const Layer& layer, int algorithm) {
  const std::string& name = SolverAlgorithmName(algorithm);
  if (name.empty()) return Unsupported("cuDNN never had its direct algorithm.");
  ATTUNE_ASSIGN_OR_RETURN(Call call, MakeReady(ConvOf(layer, ConvDirection::kForward), name));
  LayerRun run;
  ATTUNE_ASSIGN_OR_RETURN(run.time_ms, TimeMs(call));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ObservedLaunch> launches,
                          observer_->DryRun(*call.executable, call.arguments));
  for (const ObservedLaunch& launch : launches) run.kernels.push_back(KernelOf(launch));
  if (!counts_) return run;
  const auto counted = Count(call);
  counts_ = counted.ok();
  if (!counts_) {
    no_counters_ = counted.error().message();
    return run;
  }
  for (size_t i = 0; i < run.kernels.size() && run.kernels.size() == counted->size(); ++i) {
    if ((*counted)[i][0] > 0) run.kernels[i].counters = CountersOf((*counted)[i]);
  }
  return run;
}

Result<std::vector<ObservedLaunch>> DeviceProbe::LaunchesOf(const Layer& layer,
                                                            const std::string& algorithm) {
  ATTUNE_ASSIGN_OR_RETURN(const Call call,
                          MakeReady(ConvOf(layer, ConvDirection::kForward), algorithm));
  return observer_->DryRun(*call.executable, call.arguments);
}

Result<int> DeviceProbe::VendorPick(const Layer& layer) {
  return LaunchedPick([&](const std::string& name) { return LaunchesOf(layer, name); });
}

Result<double> DeviceProbe::TimeMsOf(const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const Call call, MakeReady(problem, std::string(kFirstAlgorithm)));
  return TimeMs(call);
}

Result<DeviceProbe::Call> DeviceProbe::MakeReady(const NetworkLayer& layer) {
  const auto* const library = dynamic_cast<const LayerLibrary*>(&solver_);
  if (library == nullptr) {
    return Unsupported(
        fmt::format("{} runs convolutions alone, and no pooling or layouts.", solver_.id().name));
  }
  const bool is_gradient = layer.kind == LayerKind::kMaxPoolGradient;
  std::vector<std::pair<size_t, int64_t>> operands = {{kImages, layer.width}};
  if (is_gradient) operands.emplace_back(kGradients, layer.out_width);
  operands.emplace_back(kOutput, layer.out_width);
  if (is_gradient) operands.emplace_back(kImageGradients, layer.width);
  Call call;
  ATTUNE_ASSIGN_OR_RETURN(call.executable, library->LoadLayer(layer, *device_));
  for (const auto& [position, width] : operands) {
    ATTUNE_ASSIGN_OR_RETURN(const BufferView view, MemoryFor(position, ImageBytes(layer, width)));
    call.operands.push_back(view);
  }
  call.arguments.operands = call.operands;
  return call;
}

Result<double> DeviceProbe::TimeMsOf(const NetworkLayer& layer) {
  if (layer.kind == LayerKind::kMaxPoolGradient) {
    // The forward operator finds the maxima in the images.
    NetworkLayer forward = layer;
    forward.kind = LayerKind::kMaxPool;
    ATTUNE_ASSIGN_OR_RETURN(const Call call, MakeReady(forward));
    ATTUNE_RETURN_IF_ERROR(call.executable->Run(call.arguments));
    ATTUNE_RETURN_IF_ERROR(device_->Synchronize());
  }
  ATTUNE_ASSIGN_OR_RETURN(const Call call, MakeReady(layer));
  return TimeMs(call);
}

Result<OperatorTime> DeviceProbe::RunOperator(std::string_view name, const Layer& layer) {
  OperatorTime time{std::string(name), layer, 0, 0};
  if (name == "conv1x1") {
    if (layer.f != 1) return Unsupported("It is of filters of 1 alone.");
    ATTUNE_ASSIGN_OR_RETURN(time.time_ms, TimeMsOf(ConvOf(layer, ConvDirection::kForward)));
    return time;
  }
  if (const std::optional<LayerKind> kind = KindOf(name); kind.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(time.time_ms, TimeMsOf(LayerOf(*kind, layer)));
    return time;
  }
  if (!IsGradientOfConv(name)) {
    return Unsupported(fmt::format("Nothing here runs the operator {}.", name));
  }
  const auto direction =
      name == "conv_grad_input" ? ConvDirection::kBackwardData : ConvDirection::kBackwardWeights;
  ATTUNE_ASSIGN_OR_RETURN(time.forward_ms, TimeMsOf(ConvOf(layer, ConvDirection::kForward)));
  ATTUNE_ASSIGN_OR_RETURN(time.time_ms, TimeMsOf(ConvOf(layer, direction)));
  return time;
}

}  // namespace attune::seer
