#include "backends/opencl/peaks.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "backends/opencl/kernel_executable.h"
#include "backends/opencl/program_builder.h"

namespace attune::opencl {
namespace {

constexpr int64_t kLocalItems = 16;
constexpr int64_t kGroupsPerUnit = 32;
constexpr int64_t kChainSteps = 1024;
constexpr int64_t kChains = 8;
constexpr int64_t kLanes = 16;
constexpr int64_t kCopyBytes = int64_t{64} << 20;
constexpr int kLaunches = 5;

// Eight independent chains hide the latency of the multiply-add.
constexpr std::string_view kSource = R"(
__kernel void multiply_add(__global REAL* out, __global const REAL* in) {
  const VECTOR factor = (VECTOR)(in[0] + (REAL)0.999);
  VECTOR sum[CHAINS];
  for (int i = 0; i < CHAINS; ++i) sum[i] = (VECTOR)(in[0] + i);
  for (int step = 0; step < STEPS; ++step) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum[i] = fma(sum[i], factor, factor);
  }
  VECTOR total = (VECTOR)(0);
  for (int i = 0; i < CHAINS; ++i) total += sum[i];
  REAL lanes[16];
  vstore16(total, 0, lanes);
  out[get_global_id(0)] = lanes[0] + lanes[7] + lanes[15];
}
__kernel void copy(__global REAL* out, __global const REAL* in) {
  const size_t i = get_global_id(0);
  vstore16(vload16(i, in), i, out);
}
)";

kernel::PlannedLaunch LaunchOf(std::string function, int64_t groups) {
  using Kind = kernel::KernelArgument::Kind;
  return {std::move(function),
          {kLocalItems},
          {groups},
          {{Kind::kOperand, "out", {}}, {Kind::kOperand, "in", {}}}};
}

// Shortest time of one launch of `launch`, in nanoseconds.
Result<double> BestNs(OpenClDevice& device, const Artifact& artifact, kernel::PlannedLaunch launch,
                      std::span<const BufferView> operands) {
  ATTUNE_ASSIGN_OR_RETURN(ProgramHandle program,
                          LoadProgram(device.context(), device.entry(), artifact));
  kernel::KernelPlan plan;
  plan.launches.push_back(std::move(launch));
  ATTUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<KernelExecutable> executable,
      KernelExecutable::Create(device, std::move(program), std::move(plan), {"out", "in"}));
  double best_ns = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kLaunches; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        const double ns,
        device.TimeNs(*executable, Arguments{.operands = operands, .workspace = {}}, {}));
    if (i > 0) best_ns = std::min(best_ns, ns);  // The first launch may compile.
  }
  return best_ns;
}

Result<Artifact> Build(const Inventory& inventory, const OpenClDevice& device,
                       std::string_view real) {
  const std::string source =
      fmt::format("#define REAL {}\n#define VECTOR {}16\n#define CHAINS {}\n#define STEPS {}\n{}",
                  real, real, kChains, kChainSteps, kSource);
  return BuildArtifact(inventory, MakeRecipe(device.entry(), source, ""));
}

}  // namespace

Result<Peaks> MeasureOpenClPeaks(const Inventory& inventory, OpenClDevice& device) {
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> out, device.Allocate(kCopyBytes));
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> in, device.Allocate(kCopyBytes));
  const std::vector<std::byte> zeros(static_cast<size_t>(kCopyBytes));
  ATTUNE_RETURN_IF_ERROR(device.Upload(zeros, in->View(0)));
  const std::vector<BufferView> operands = {out->View(0), in->View(0)};
  const int64_t groups = kGroupsPerUnit * std::max(1, device.target().compute_units);
  const double operations =
      2.0 * static_cast<double>(groups * kLocalItems * kChains * kChainSteps * kLanes);
  Peaks peaks;
  ATTUNE_ASSIGN_OR_RETURN(const Artifact single, Build(inventory, device, "float"));
  ATTUNE_ASSIGN_OR_RETURN(const double f32_ns,
                          BestNs(device, single, LaunchOf("multiply_add", groups), operands));
  peaks.f32_flops = operations / f32_ns * 1e9;
  const int64_t copy_groups =
      kCopyBytes / (kLocalItems * kLanes * static_cast<int64_t>(sizeof(float)));
  ATTUNE_ASSIGN_OR_RETURN(const double copy_ns,
                          BestNs(device, single, LaunchOf("copy", copy_groups), operands));
  peaks.bytes_per_second = 2.0 * static_cast<double>(kCopyBytes) / copy_ns * 1e9;
  const Result<Artifact> twice = Build(inventory, device, "double");
  if (twice.ok()) {
    ATTUNE_ASSIGN_OR_RETURN(const double f64_ns,
                            BestNs(device, *twice, LaunchOf("multiply_add", groups), operands));
    peaks.f64_flops = operations / f64_ns * 1e9;
  }
  return peaks;
}

}  // namespace attune::opencl
