#include "backends/opencl/opencl_backend.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include "attune/kernel/kernel_library.h"
#include "backends/host/execution_environment.h"
#include "backends/opencl/inventory.h"
#include "backends/opencl/kernel_solver.h"
#include "backends/opencl/opencl_device.h"
#include "backends/opencl/peaks.h"
#ifdef ATTUNE_WITH_CLBLAST
#include "backends/opencl/gemm/clblast_solvers.h"
#endif

namespace attune::opencl {
namespace {

class OpenClBackendImpl final : public Backend {
 public:
  explicit OpenClBackendImpl(kernel::KernelLibrary library)
      : kernel_reports_(std::move(library.reports)) {
#ifdef ATTUNE_WITH_CLBLAST
    solvers_.push_back(MakeClblastGemm(clblast_));
#endif
    for (kernel::KernelFile& file : library.files) {
      kernel_contents_[file.name] = file.content.ToHex();
      solvers_.push_back(std::make_unique<KernelSolver>(inventory_, std::move(file)));
    }
    for (auto& solver : library.solvers) solvers_.push_back(std::move(solver));
#ifdef ATTUNE_WITH_CLBLAST
    solvers_.push_back(MakeClblastConvgemm(clblast_));
#endif
  }

  std::string_view name() const override { return "opencl"; }
  const SolverList& solvers() const override { return solvers_; }

  std::vector<DeviceReport> Devices() const override {
    std::vector<DeviceReport> reports;
    for (const DeviceEntry& entry : inventory_.Devices()) {
      reports.push_back({.spec = entry.spec,
                         .target = entry.target,
                         .reason = entry.reason,
                         .cache_bytes = entry.cache_bytes});
    }
    return reports;
  }

  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> reports;
    if (inventory_.Devices().empty()) {
      LibraryReport missing;
      missing.name = "opencl";
      missing.missing = inventory_.missing();
      reports.push_back(std::move(missing));
    }
    for (const DeviceEntry& entry : inventory_.Devices()) {
      LibraryReport found;
      found.name = "opencl";
      found.available = true;
      found.version = entry.driver_version;
      found.build_id = entry.platform_version;
      found.path = entry.platform_name;
      if (reports.empty() || reports.back().build_id != found.build_id)
        reports.push_back(std::move(found));
    }
#ifdef ATTUNE_WITH_CLBLAST
    reports.push_back(clblast_.report);
#endif
    reports.insert(reports.end(), kernel_reports_.begin(), kernel_reports_.end());
    return reports;
  }

  Environment DescribeEnvironment() const override {
    Environment environment;
    for (const DeviceEntry& entry : inventory_.Devices()) {
      const std::string number = entry.spec.substr(entry.spec.find(':') + 1);
      environment[fmt::format("driver.opencl{}", number)] = entry.driver_version;
      environment[fmt::format("driver.opencl{}_platform", number)] =
          fmt::format("{} {}", entry.platform_name, entry.platform_version);
      // An OpenCL processor has the same sources of disturbance as the host.
      if (entry.is_cpu) environment.merge(host::DescribeExecution());
    }
    // An edited kernel file is another environment for its own solver, even with an unchanged
    // version.
    for (const auto& [name, content] : kernel_contents_) {
      environment["library." + name] = content;
    }
#ifdef ATTUNE_WITH_CLBLAST
    if (clblast_.available()) {
      environment["library.clblast"] = clblast_.report.version;
      environment["library.clblast.build_id"] = clblast_.report.build_id;
    }
#endif
    return environment;
  }

  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    ATTUNE_ASSIGN_OR_RETURN(const DeviceEntry* entry, inventory_.Find(spec));
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<OpenClDevice> device, OpenClDevice::Open(*entry));
    return std::unique_ptr<Device>(std::move(device));
  }

  // PoCL needs 0.4 s to load its bitcode library when a process compiles for the first time.
  bool IsCostlyToOpen() const override { return true; }
  bool IsProcessor(std::string_view spec) const override {
    const auto entry = inventory_.Find(spec);
    return entry.ok() && (*entry)->is_cpu;
  }

  Result<Peaks> MeasurePeaks(Device& device) const override {
    auto* opencl = dynamic_cast<OpenClDevice*>(&device);
    if (opencl == nullptr) return InvalidArgument("This device is not of the OpenCL backend.");
    return MeasureOpenClPeaks(inventory_, *opencl);
  }

 private:
  const Inventory inventory_;  // Solvers borrow it.
#ifdef ATTUNE_WITH_CLBLAST
  const ClblastLibrary clblast_ = LoadClblast();  // Solvers borrow it, too.
#endif
  const std::vector<LibraryReport> kernel_reports_;
  std::map<std::string, std::string> kernel_contents_;  // Hash of each file in use, by name.
  SolverList solvers_;
};

}  // namespace

std::unique_ptr<const Backend> OpenClBackend(
    const std::vector<std::filesystem::path>& kernel_folders) {
  kernel::KernelLibrary library =
      kernel::LoadKernelLibrary(kernel_folders, kernel::KernelLanguage::kOpenCl);
  const auto missing = kernel::MissingKernelFolders();
  library.reports.insert(library.reports.begin(), missing.begin(), missing.end());
  return std::make_unique<OpenClBackendImpl>(std::move(library));
}

}  // namespace attune::opencl
