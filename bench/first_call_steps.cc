#include "bench/first_call_steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/kernel/kernel_library.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/conv/cudnn_quick_engines.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/cuda_device.h"
#include "bench/figures.h"

namespace attune {
namespace {

using cuda::Cudnn;
using cuda::CudnnEngineChoice;
using cuda::CudnnGraph;

constexpr int kLaterRuns = 9;
constexpr const char* kOwnSolver = "cuda.conv-tensor";

double UsSince(int64_t begin_ns) { return static_cast<double>(SteadyNowNs() - begin_ns) / 1e3; }

std::string_view NameOf(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return "tensor";
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return "convolution";
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return "operation graph";
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return "engine";
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return "engine config";
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return "plan";
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return "variant pack";
    default:
      return "operation";
  }
}

// cuDNN with a clock around each call of its graph interface. One at a time: its functions have no
// place for it.
class TimedCudnn {
 public:
  TimedCudnn() : timed_(real_.report()) {
    current_ = this;
#define ATTUNE_CUDNN_TAKE(NAME) timed_.NAME = real_.NAME;
    ATTUNE_CUDNN_FUNCTIONS(ATTUNE_CUDNN_TAKE)
#undef ATTUNE_CUDNN_TAKE
    timed_.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t type,
                                             cudnnBackendDescriptor_t* made) {
      const auto code = Timed(
          "create", type, [&] { return current_->real_.cudnnBackendCreateDescriptor(type, made); });
      current_->types_[*made] = type;
      return code;
    };
    timed_.cudnnBackendSetAttribute =
        [](cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t count, const void* values) {
          return Timed("set", TypeOf(to), [&] {
            return current_->real_.cudnnBackendSetAttribute(to, name, type, count, values);
          });
        };
    timed_.cudnnBackendGetAttribute =
        [](cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
          return Timed("get", TypeOf(from), [&] {
            return current_->real_.cudnnBackendGetAttribute(from, name, type, room, count, values);
          });
        };
    timed_.cudnnBackendFinalize = [](cudnnBackendDescriptor_t made) {
      return Timed("finalize", TypeOf(made),
                   [&] { return current_->real_.cudnnBackendFinalize(made); });
    };
    timed_.cudnnBackendDestroyDescriptor = [](cudnnBackendDescriptor_t gone) {
      return Timed("destroy", TypeOf(gone),
                   [&] { return current_->real_.cudnnBackendDestroyDescriptor(gone); });
    };
    timed_.cudnnBackendExecute = [](cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                    cudnnBackendDescriptor_t pack) {
      return Timed("execute", TypeOf(plan),
                   [&] { return current_->real_.cudnnBackendExecute(handle, plan, pack); });
    };
  }
  ~TimedCudnn() { current_ = nullptr; }
  TimedCudnn(const TimedCudnn&) = delete;
  TimedCudnn& operator=(const TimedCudnn&) = delete;

  const Cudnn& real() const { return real_; }
  const Cudnn& timed() const { return timed_; }

  struct Step {
    int calls = 0;
    double us = 0;
  };
  // Since it was last asked, by what was done with what.
  std::map<std::string, Step> Take() { return std::exchange(steps_, {}); }

 private:
  static cudnnBackendDescriptorType_t TypeOf(cudnnBackendDescriptor_t descriptor) {
    return current_->types_[descriptor];
  }

  template <class Call>
  static cudnnStatus_t Timed(std::string_view action, cudnnBackendDescriptorType_t type,
                             const Call& call) {
    const int64_t begin_ns = SteadyNowNs();
    const cudnnStatus_t code = call();
    const double us = UsSince(begin_ns);
    Step& step = current_->steps_[fmt::format("{} {}", action, NameOf(type))];
    ++step.calls;
    step.us += us;
    return code;
  }

  static inline TimedCudnn* current_ = nullptr;
  const Cudnn real_;
  Cudnn timed_;
  std::map<cudnnBackendDescriptor_t, cudnnBackendDescriptorType_t> types_;
  std::map<std::string, Step> steps_;
};

// Figures of many convolutions by name, each as often as it was noted.
class Figures {
 public:
  void Add(const std::string& name, double us) { values_[name].push_back(us); }
  nlohmann::ordered_json Medians() const {
    nlohmann::ordered_json medians = nlohmann::ordered_json::object();
    for (const auto& [name, values] : values_) medians[name] = MedianOf(values);
    return medians;
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

// Operands and a workspace for any of `convs`.
class Memory {
 public:
  static Result<Memory> For(Device& device, const std::vector<Conv>& convs) {
    std::array<size_t, 3> bytes = {};
    for (const Conv& conv : convs) {
      const std::vector<Operand> operands = Operands(conv);
      for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::max(bytes[i], static_cast<size_t>(SpanElements(operands[i].tensor)) *
                                          SizeBytes(operands[i].tensor.type));
      }
    }
    Memory memory;
    for (size_t i = 0; i < bytes.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(memory.buffers_[i], device.Allocate(bytes[i]));
      memory.views_[i] = memory.buffers_[i]->View(0);
    }
    ATTUNE_ASSIGN_OR_RETURN(memory.workspace_, device.Allocate(kWorkspaceBytes));
    return memory;
  }

  Arguments ArgumentsOf() const {
    Arguments arguments;
    arguments.operands = views_;
    arguments.workspace = workspace_->View(0);
    return arguments;
  }

  static constexpr size_t kWorkspaceBytes = size_t{256} << 20;

 private:
  std::array<std::unique_ptr<Buffer>, 3> buffers_;
  std::array<BufferView, 3> views_;
  std::unique_ptr<Buffer> workspace_;
};

// Notes the times of a first run and of later ones, to their end on the device.
template <class Run>
Status NoteRuns(Device& device, const Run& run, Figures& figures) {
  const int64_t begin_ns = SteadyNowNs();
  ATTUNE_RETURN_IF_ERROR(run());
  figures.Add("run, until enqueued", UsSince(begin_ns));
  ATTUNE_RETURN_IF_ERROR(device.Synchronize());
  figures.Add("run, until done", UsSince(begin_ns));
  std::vector<double> later_us;
  for (int i = 0; i < kLaterRuns; ++i) {
    const int64_t later_ns = SteadyNowNs();
    ATTUNE_RETURN_IF_ERROR(run());
    ATTUNE_RETURN_IF_ERROR(device.Synchronize());
    later_us.push_back(UsSince(later_ns));
  }
  figures.Add("run later", MedianOf(std::move(later_us)));
  return Status::Ok();
}

struct Bench {
  cuda::CudaDevice& device;
  const Memory& memory;
  TimedCudnn& cudnn;
  const cuda::CudnnQuickEngines engines = {};
};

std::vector<CudnnEngineChoice> ChoicesOf(const Bench& bench, cudnnHandle_t handle,
                                         const Conv& conv) {
  const Cudnn& real = bench.cudnn.real();
  return bench.engines.For(conv, real.report().version, [&](const Conv& typical) {
    const auto graph = cuda::MakeCudnnConvGraph(real, handle, typical);
    return graph.ok() ? graph->QuickRecommendations() : std::vector<CudnnEngineChoice>();
  });
}

// As cuda.cudnn-instant-conv, with `calls` of cuDNN by name; kUnsupported where no engine serves.
Status NoteCudnn(const Bench& bench, const Conv& conv, Figures& whole, Figures& calls) {
  const Cudnn& cudnn = bench.cudnn.timed();
  ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.HandleOf(bench.device.stream()));
  const std::vector<CudnnEngineChoice> choices = ChoicesOf(bench, handle, conv);
  bench.cudnn.Take();
  const int64_t begin_ns = SteadyNowNs();
  ATTUNE_ASSIGN_OR_RETURN(const CudnnGraph graph, cuda::MakeCudnnConvGraph(cudnn, handle, conv));
  const double graph_us = UsSince(begin_ns);
  ATTUNE_ASSIGN_OR_RETURN(const cuda::CudnnQuickPlan quick, graph.QuickPlan(choices));
  bench.engines.NoteTaken(conv, choices, quick.choice);
  const cuda::CudnnPlan& plan = quick.plan;
  whole.Add("load, the graph", graph_us);
  whole.Add("load, graph and plan", UsSince(begin_ns));
  double in_cudnn_us = 0;
  for (const auto& [name, step] : bench.cudnn.Take()) {
    calls.Add(fmt::format("{:<26} {:>2} times", name, step.calls), step.us);
    in_cudnn_us += step.us;
  }
  whole.Add("load, in calls of cuDNN", in_cudnn_us);
  if (plan.workspace_bytes > Memory::kWorkspaceBytes) return Unsupported("Too much workspace.");
  const Arguments arguments = bench.memory.ArgumentsOf();
  const auto run = [&] { return graph.Run(plan, cuda::CallOf(arguments, bench.device)); };
  ATTUNE_RETURN_IF_ERROR(NoteRuns(bench.device, run, whole));
  bench.cudnn.Take();
  return Status::Ok();
}

// The default of attune's own kernel, compiled before.
Status NoteOwn(const Bench& bench, const Solver& solver, const Conv& conv, Figures& whole) {
  const Problem problem = conv;
  const Target& target = bench.device.target();
  const auto cache = OpenDefaultKernelCache().cache;
  Builder builder(*cache);
  ATTUNE_ASSIGN_OR_RETURN(const Config known, solver.DefaultConfig(problem, target));
  if (builder.Build({&solver, problem, known}, target).failure() != nullptr) {
    return Unsupported("The kernel was not built.");
  }
  int64_t begin_ns = SteadyNowNs();
  const auto note = [&](const char* name) {
    whole.Add(name, UsSince(begin_ns));
    begin_ns = SteadyNowNs();
  };
  ATTUNE_RETURN_IF_ERROR(solver.IsApplicable(problem, target));
  note("load, whether it applies");
  ATTUNE_ASSIGN_OR_RETURN(const Config config, solver.DefaultConfig(problem, target));
  note("load, the default config");
  ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe, solver.Recipe(problem, config, target));
  note("load, the recipe");
  const std::optional<Artifact> code = cache->Find(recipe);
  if (!code.has_value()) return Unsupported("The kernel cache keeps nothing.");
  note("load, out of the kernel cache");
  ATTUNE_ASSIGN_OR_RETURN(const auto executable, solver.Load(*code, problem, config, bench.device));
  note("load, the module");
  if (executable->workspace_bytes() > Memory::kWorkspaceBytes) {
    return Unsupported("Too much workspace.");
  }
  const Arguments arguments = bench.memory.ArgumentsOf();
  return NoteRuns(
      bench.device, [&] { return executable->Run(arguments); }, whole);
}

const Solver* OwnSolverOf(const Backend& backend) {
  for (const auto& solver : backend.solvers()) {
    if (solver->id().name == kOwnSolver) return solver.get();
  }
  return nullptr;
}

}  // namespace

Result<nlohmann::ordered_json> MeasureFirstCallSteps(const std::string& spec,
                                                     const std::vector<Conv>& convs) {
  const auto backend = cuda::CudaBackend(kernel::KernelFolders());
  ATTUNE_ASSIGN_OR_RETURN(const auto opened, backend->Open(spec));
  ATTUNE_ASSIGN_OR_RETURN(cuda::CudaDevice * device, cuda::CudaDeviceOf(*opened));
  ATTUNE_RETURN_IF_ERROR(device->Enter());
  ATTUNE_ASSIGN_OR_RETURN(const Memory memory, Memory::For(*device, convs));
  TimedCudnn cudnn;
  if (!cudnn.real().available()) return Unavailable(cudnn.real().report().missing);
  const Bench bench{*device, memory, cudnn};
  const Solver* own = OwnSolverOf(*backend);
  Figures cudnn_whole, cudnn_calls, own_whole;
  int served = 0;
  int by_own = 0;
  for (size_t i = 0; i < convs.size(); ++i) {
    Figures ignored;
    const bool counts = i >= convs.size() / 2;
    const Status by_cudnn =
        NoteCudnn(bench, convs[i], counts ? cudnn_whole : ignored, counts ? cudnn_calls : ignored);
    served += counts && by_cudnn.ok() ? 1 : 0;
    if (own == nullptr) continue;
    const Status by_kernel = NoteOwn(bench, *own, convs[i], counts ? own_whole : ignored);
    by_own += counts && by_kernel.ok() ? 1 : 0;
  }
  return nlohmann::ordered_json{{"cudnn", cudnn.real().report().version},
                                {"convolutions", convs.size() - convs.size() / 2},
                                {"served_by_cudnn", served},
                                {"cudnn_us", cudnn_whole.Medians()},
                                {"cudnn_calls_us", cudnn_calls.Medians()},
                                {"served_by_own", by_own},
                                {"own_us", own_whole.Medians()}};
}

void PrintFirstCallSteps(const nlohmann::ordered_json& steps) {
  const auto print = [&](const char* name) {
    for (const auto& [what, us] : steps[name].items()) {
      fmt::print("  {:<40} {:>9.1f} us\n", what, us.get<double>());
    }
  };
  fmt::print("\nSteps of a first call, medians. An engine of cuDNN {} for {} of {} convolutions:\n",
             steps["cudnn"].get<std::string>(), steps["served_by_cudnn"].get<int>(),
             steps["convolutions"].get<int>());
  print("cudnn_us");
  fmt::print("Its calls, up to the plan:\n");
  print("cudnn_calls_us");
  fmt::print("{} with its default, for {} of them:\n", kOwnSolver,
             steps["served_by_own"].get<int>());
  print("own_us");
}

}  // namespace attune
