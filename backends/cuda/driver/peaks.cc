#include "backends/cuda/driver/peaks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/driver/module.h"

namespace attune::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerUnit = 8;
constexpr int64_t kSteps = 4096;
constexpr int64_t kChains = 8;
// On each side of a copy: many times any L2.
constexpr int64_t kCopyBytes = int64_t{512} << 20;
constexpr int kSamples = 9;

// Eight independent chains hide the latency of the multiply-add; the factor comes out of memory, so
// that nothing is computed when compiling.
constexpr std::string_view kSource = R"(
extern "C" __global__ void multiply_add(REAL* out, const REAL* in) {
  const REAL factor = in[0] + (REAL)0.5;
  REAL sum[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sum[i] = in[0] + (REAL)i;
  for (int step = 0; step < STEPS; ++step) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum[i] = sum[i] * factor + factor;
  }
  REAL total = (REAL)0;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) total += sum[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
extern "C" __global__ void copy(uint4* out, const uint4* in) {
  const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
)";

// A launch of one function on two buffers.
class PeakKernel final : public Executable {
 public:
  PeakKernel(const CudaDevice& device, const Module& module, CUfunction function, unsigned blocks)
      : device_(device), module_(module), function_(function) {
    shape_.grid[0] = blocks;
    shape_.block[0] = kThreads;
  }

  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments& arguments) override {
    void* out = arguments.operands[0].handle;
    void* in = arguments.operands[1].handle;
    void* pointers[] = {&out, &in};
    return module_.Launch(function_, shape_, pointers, device_.StreamOf(arguments));
  }

 private:
  const CudaDevice& device_;
  const Module& module_;
  const CUfunction function_;
  LaunchShape shape_;
};

Result<double> BestNs(CudaDevice& device, Module& module, const std::string& function,
                      unsigned blocks, std::span<const BufferView> operands) {
  ATTUNE_ASSIGN_OR_RETURN(const CUfunction code, module.Function(function, 0));
  PeakKernel kernel(device, module, code, blocks);
  double best_ns = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        const double ns,
        device.TimeNs(kernel, Arguments{.operands = operands, .workspace = {}}, {.launches = 3}));
    best_ns = std::min(best_ns, ns);
  }
  return best_ns;
}

Result<std::shared_ptr<Module>> Build(const Nvrtc& nvrtc, CudaDevice& device,
                                      std::string_view real) {
  ATTUNE_ASSIGN_OR_RETURN(
      const BuildRecipe recipe,
      MakeRecipe(nvrtc, std::string(kSource),
                 fmt::format("-DREAL={} -DCHAINS={} -DSTEPS={}", real, kChains, kSteps),
                 device.target().arch));
  ATTUNE_ASSIGN_OR_RETURN(const Artifact cubin, BuildCubin(nvrtc, recipe));
  return Module::Load(device, cubin);
}

}  // namespace

Result<Peaks> MeasureCudaPeaks(const Nvrtc& nvrtc, CudaDevice& device) {
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> out, device.Allocate(kCopyBytes));
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> in, device.Allocate(kCopyBytes));
  // A normal number in either precision, and no zeros: they can be faster.
  const std::vector<std::byte> content(static_cast<size_t>(kCopyBytes), std::byte{0x3E});
  ATTUNE_RETURN_IF_ERROR(device.Upload(content, in->View(0)));
  const BufferView operands[] = {out->View(0), in->View(0)};
  const unsigned blocks =
      kBlocksPerUnit * static_cast<unsigned>(std::max(1, device.target().compute_units));
  const double operations =
      2.0 * static_cast<double>(kChains * kSteps) * static_cast<double>(blocks * kThreads);
  Peaks peaks;
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<Module> single, Build(nvrtc, device, "float"));
  ATTUNE_ASSIGN_OR_RETURN(const double f32_ns,
                          BestNs(device, *single, "multiply_add", blocks, operands));
  peaks.f32_flops = operations / f32_ns * 1e9;
  const auto copy_blocks = static_cast<unsigned>(kCopyBytes / (kThreads * int64_t{16}));
  ATTUNE_ASSIGN_OR_RETURN(const double copy_ns,
                          BestNs(device, *single, "copy", copy_blocks, operands));
  peaks.bytes_per_second = 2.0 * static_cast<double>(kCopyBytes) / copy_ns * 1e9;
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<Module> twice, Build(nvrtc, device, "double"));
  ATTUNE_ASSIGN_OR_RETURN(const double f64_ns,
                          BestNs(device, *twice, "multiply_add", blocks, operands));
  peaks.f64_flops = operations / f64_ns * 1e9;
  return peaks;
}

}  // namespace attune::cuda
