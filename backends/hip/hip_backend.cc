#include "backends/hip/hip_backend.h"

#include <utility>

#include "attune/kernel/gpu_models.h"
#include "attune/kernel/kernel_library.h"
#include "backends/hip/hipcc.h"
#include "backends/hip/kernel_solver.h"

namespace attune::hip {
namespace {

constexpr kernel::GpuModel kModels[] = {
    {"gfx906", "AMD Instinct MI50", 60, 1024, 65536},
    {"gfx908", "AMD Instinct MI100", 120, 1024, 65536},
    {"gfx90a", "AMD Instinct MI210", 104, 1024, 65536},
};

Status NoDevice() { return NotFound("Kernels are built for AMD GPUs; no AMD GPU is opened."); }

class HipBackendImpl final : public Backend {
 public:
  explicit HipBackendImpl(kernel::KernelLibrary library)
      : kernel_reports_(std::move(library.reports)) {
    for (kernel::KernelFile& file : library.files) {
      solvers_.push_back(std::make_unique<KernelSolver>(hipcc_, std::move(file)));
    }
  }

  std::string_view name() const override { return "hip"; }
  const SolverList& solvers() const override { return solvers_; }
  std::vector<DeviceReport> Devices() const override { return {}; }

  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> reports = {hipcc_.report};
    reports.insert(reports.end(), kernel_reports_.begin(), kernel_reports_.end());
    return reports;
  }

  // Nothing is measured.
  Environment DescribeEnvironment() const override { return {}; }
  Result<std::unique_ptr<Device>> Open(std::string_view) const override { return NoDevice(); }
  Result<Peaks> MeasurePeaks(Device&) const override { return NoDevice(); }

 private:
  const Hipcc hipcc_;  // Solvers borrow it.
  const std::vector<LibraryReport> kernel_reports_;
  SolverList solvers_;
};

}  // namespace

std::unique_ptr<const Backend> HipBackend(
    const std::vector<std::filesystem::path>& kernel_folders) {
  kernel::KernelLibrary library =
      kernel::LoadKernelLibrary(kernel_folders, kernel::KernelLanguage::kCuda);
  const auto missing = kernel::MissingKernelFolders();
  library.reports.insert(library.reports.begin(), missing.begin(), missing.end());
  return std::make_unique<HipBackendImpl>(std::move(library));
}

Result<Target> TargetOf(const std::string& arch) {
  return kernel::TargetOfModel("hip", "AMD", kModels, arch);
}

}  // namespace attune::hip
