// The cost of a dry run for the calling thread on an NVIDIA GPU: capturing the launches of a
// library call, beside the call itself. For every algorithm of cuDNN's that computes the
// convolutions of some images, loaded and called once before.
//
//   cuda_dry_run [--rounds N] [--json]
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/device/launch_observer.h"
#include "attune/kernel/kernel_library.h"
#include "attune/problem/problem.h"
#include "backends/cuda/cuda_backend.h"
#include "bench/figures.h"

namespace attune {
namespace {

struct Options {
  int rounds = 9;
  bool as_json = false;
};

constexpr const char* kSolver = "cuda.cudnn-conv";
constexpr const char* kProblems[] = {
    "conv@1{dir=fwd,n=1,c=3,h=224,w=301,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2}",
    "conv@1{dir=fwd,n=8,c=64,h=57,w=56,k=64,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=fwd,n=8,c=64,h=57,w=56,k=256,fh=1,fw=1}",
    "conv@1{dir=fwd,n=8,c=128,h=29,w=28,k=128,fh=3,fw=3,ph=1,pw=1,math=tf32}",
    "conv@1{dir=fwd,n=8,c=256,h=15,w=14,k=256,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_data,n=8,c=64,h=57,w=56,k=64,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=bwd_weights,n=8,c=64,h=57,w=56,k=64,fh=3,fw=3,ph=1,pw=1}",
};

// Medians of one candidate, in microseconds.
struct Costs {
  double call_us;
  double dry_run_us;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), kernels_(OpenDefaultKernelCache()) {
    auto opened = backend_->Open("cuda:0");
    Require(opened.status());
    device_ = std::move(*opened);
    observer_ = dynamic_cast<LaunchObserver*>(device_.get());
    Require(observer_ != nullptr ? Status::Ok() : Unsupported("It tells no launches."));
  }

  // The costs of every algorithm that computes `problem`; omits those that fail to load.
  void Add(const Problem& problem, std::vector<Costs>& costs) {
    const Solver* const solver = SolverNamed(kSolver);
    const auto configs = solver->ListOn(*device_, problem);
    Require(configs.status());
    for (const Config& config : *configs) {
      const BuildRequest request{solver, problem, config};
      const auto loaded = builder_.Load(request, Artifact{}, *device_);
      if (loaded.ok()) AddOne(problem, *loaded->executable, costs);
    }
  }

 private:
  const Solver* SolverNamed(const std::string& name) const {
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == name) return solver.get();
    }
    Require(NotFound(fmt::format("Solver {} does not exist here.", name)));
    return nullptr;
  }

  void AddOne(const Problem& problem, Executable& executable, std::vector<Costs>& costs) {
    std::vector<std::unique_ptr<Buffer>> memory;
    std::vector<BufferView> operands;
    const auto allocate = [&](size_t size_bytes) {
      auto buffer = device_->Allocate(std::max<size_t>(64, size_bytes));
      Require(buffer.status());
      memory.push_back(std::move(*buffer));
      return memory.back()->View(0);
    };
    for (const Operand& operand : Operands(problem)) {
      operands.push_back(allocate(SpanBytes(operand.tensor)));
    }
    Arguments arguments;
    arguments.workspace = allocate(executable.workspace_bytes());
    arguments.operands = operands;
    if (!executable.Run(arguments).ok()) return;
    std::vector<double> call_us, dry_run_us;
    for (int round = 0; round < options_.rounds; ++round) {
      Require(device_->Synchronize());
      auto begin = WallClock::now();
      Require(executable.Run(arguments));
      call_us.push_back(1e6 * SecondsSince(begin));
      Require(device_->Synchronize());
      begin = WallClock::now();
      const auto launches = observer_->DryRun(executable, arguments);
      dry_run_us.push_back(1e6 * SecondsSince(begin));
      if (!launches.ok()) return;  // Capture is impossible.
    }
    costs.push_back({MedianOf(call_us), MedianOf(dry_run_us)});
  }

  const Options& options_;
  const OpenedKernelCache kernels_;
  const std::unique_ptr<const Backend> backend_ = cuda::CudaBackend(kernel::KernelFolders());
  Builder builder_{*kernels_.cache};
  std::unique_ptr<Device> device_;
  LaunchObserver* observer_ = nullptr;  // The device.
};

double Share(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

int Run(const Options& options) {
  Bench bench(options);
  std::vector<Costs> costs;
  for (const char* text : kProblems) {
    const auto problem = ParseProblem(text);
    Require(problem.status());
    bench.Add(*problem, costs);
  }
  Require(costs.empty() ? Unsupported("No algorithm could be captured.") : Status::Ok());
  std::vector<double> call_us, dry_run_us;
  for (const Costs& each : costs) {
    call_us.push_back(each.call_us);
    dry_run_us.push_back(each.dry_run_us);
  }
  PrintFigures({{"candidates", static_cast<double>(costs.size()), ""},
                {"call_us", MedianOf(call_us), ""},
                {"dry_run_us", MedianOf(dry_run_us), "<= 100"},
                {"dry_run_p90_us", Share(dry_run_us, 0.9), ""},
                {"dry_run_worst_us", Share(dry_run_us, 1), ""}},
               {{"rounds", options.rounds}}, options.as_json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("What a dry run costs the calling thread");
  app.add_option("--rounds", options.rounds, "Dry runs of each candidate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", options.as_json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
