#include "backends/hip/hip_backend.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "attune/kernel/kernel_library.h"
#include "backends/hip/hipcc.h"
#include "backends/hip/kernel_solver.h"

namespace attune::hip {
namespace {

// One model of each architecture.
struct Model {
  const char* arch;
  const char* name;
  int compute_units;
};

constexpr Model kModels[] = {
    {"gfx906", "AMD Instinct MI50", 60},
    {"gfx908", "AMD Instinct MI100", 120},
    {"gfx90a", "AMD Instinct MI210", 104},
};
// Of every one of them.
constexpr int kMaxWorkGroupSize = 1024;
constexpr int kLocalMemoryBytes = 64 * 1024;

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
  const auto model = std::find_if(std::begin(kModels), std::end(kModels),
                                  [&](const Model& each) { return each.arch == arch; });
  if (model == std::end(kModels)) {
    std::vector<std::string> known;
    for (const Model& each : kModels) known.emplace_back(each.arch);
    return NotFound(
        fmt::format("'{}' is no architecture of AMD GPUs that kernels are built for: {}.", arch,
                    fmt::join(known, ", ")));
  }
  Target target{"hip", model->name, model->arch, model->compute_units, {}};
  target.properties = {{"max_work_group_size", std::to_string(kMaxWorkGroupSize)},
                       {"local_memory_bytes", std::to_string(kLocalMemoryBytes)}};
  return target;
}

}  // namespace attune::hip
