#include "backends/cuda/cuda_backend.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attune/kernel/gpu_models.h"
#include "attune/kernel/kernel_library.h"
#include "backends/cuda/conv/pointwise_conv.h"
#include "backends/cuda/conv/unfolded_conv.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/cudnn/cudnn_solvers.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/cupti_report.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/inventory.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvml.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/driver/peaks.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/gemm/folded_product_gemm.h"
#include "backends/cuda/gemm/padded_gemm.h"
#include "backends/cuda/gemm/reference_solver.h"
#include "backends/cuda/gemm/split_gemm.h"
#include "backends/cuda/gemm/transposed_gemm.h"
#include "backends/cuda/kernel/kernel_solver.h"

namespace attune::cuda {
namespace {

constexpr kernel::GpuModel kModels[] = {
    {"sm_80", "NVIDIA A100", 108, 1024, 166912},
    {"sm_90", "NVIDIA H200", 132, 1024, 232448},
};

class CudaBackendImpl final : public Backend {
 public:
  explicit CudaBackendImpl(kernel::KernelLibrary library)
      : kernel_reports_(std::move(library.reports)) {
    // Made first, because others borrow them.
    std::unique_ptr<const Solver> split = MakeSplitGemm(lt_, nvrtc_);
    std::vector<std::unique_ptr<const Solver>> kernels;
    for (kernel::KernelFile& file : library.files) {
      kernel_contents_[file.name] = file.content.ToHex();
      kernels.push_back(std::make_unique<KernelSolver>(nvrtc_, std::move(file)));
    }
    solvers_.push_back(MakeCublasLtGemm(lt_));
    // The other solvers of products for convolutions and folded batches.
    std::vector<const Solver*> products = {split.get()};
    solvers_.push_back(MakeFoldedGemm(lt_));
    products.push_back(solvers_.back().get());
    for (auto make : {MakePaddedGemm, MakeTransposedGemm}) {
      solvers_.push_back(make(lt_, nvrtc_));
      products.push_back(solvers_.back().get());
    }
    for (const auto& kernel : kernels) {
      if (kernel->traits().operator_name == "gemm") products.push_back(kernel.get());
    }
    solvers_.push_back(MakeFoldedProductGemm(products, nvrtc_));
    cudnn_.AddConvsTo(solvers_, nvrtc_);
    solvers_.push_back(MakePointwiseConv(lt_, nvrtc_));
    solvers_.push_back(MakePointwiseWeightsConv(lt_, nvrtc_));
    solvers_.push_back(MakeUnfoldedConv(lt_, nvrtc_));
    for (auto make :
         {MakePointwiseProductConv, MakePointwiseWeightsProductConv, MakeUnfoldedProductConv}) {
      solvers_.push_back(make(products, nvrtc_));
    }
    for (auto& kernel : kernels) solvers_.push_back(std::move(kernel));
    // Kernels of attune come first: without saved statistics they are about ten times faster.
    cudnn_.AddBatchNormsTo(solvers_);
    for (auto& solver : library.solvers) solvers_.push_back(std::move(solver));
    // It has epilogues that cuBLASLt lacks. There the kernels stay the default: theirs fits more of
    // such problems.
    solvers_.push_back(std::move(split));
  }

  std::string_view name() const override { return "cuda"; }
  const SolverList& solvers() const override { return solvers_; }

  std::vector<DeviceReport> Devices() const override {
    std::vector<DeviceReport> reports;
    for (const DeviceEntry& entry : inventory_.Devices()) {
      reports.push_back({entry.spec, entry.target, entry.reason, entry.pci_bus_id, entry.l2_bytes});
    }
    return reports;
  }

  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> reports = {driver_.report,  nvrtc_.Get().report,  lt_.Get().report(),
                                          cudnn_.report(), nvml_.Get().report(), CuptiReport()};
    reports.insert(reports.end(), kernel_reports_.begin(), kernel_reports_.end());
    return reports;
  }

  Environment DescribeEnvironment() const override {
    Environment environment;
    // Without a device the libraries have no effect on measurements.
    if (inventory_.Devices().empty()) return environment;
    environment["driver.cuda"] = driver_.report.version;
    for (const LibraryReport& report : {nvrtc_.Get().report, lt_.Get().report(), cudnn_.report()}) {
      if (!report.available) continue;
      environment["library." + report.name] = report.version;
      environment["library." + report.name + ".build_id"] = report.build_id;
    }
    // An edited kernel file is another environment for its own solver, even with an unchanged
    // version.
    for (const auto& [name, content] : kernel_contents_) environment["library." + name] = content;
    return environment;
  }

  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    ATTUNE_ASSIGN_OR_RETURN(const DeviceEntry* entry, inventory_.Find(spec));
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device,
                            CudaDevice::Open(driver_, *entry, nvrtc_, nvml_));
    return std::unique_ptr<Device>(std::move(device));
  }

  bool IsCostlyToOpen() const override { return true; }

  const Solver* reference_solver() const override { return reference_solver_.get(); }

  Result<Peaks> MeasurePeaks(Device& device) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    return MeasureCudaPeaks(nvrtc_.Get(), *cuda);
  }

 private:
  const Driver driver_ = LoadDriver();
  const Inventory inventory_{driver_};  // Borrows the driver, as devices do.
  const Lazy<Nvrtc> nvrtc_;
  const Lazy<Nvml> nvml_;
  const Lazy<CublasLt> lt_;  // Solvers borrow it, and the next.
  const CudnnSolvers cudnn_;
  const std::vector<LibraryReport> kernel_reports_;
  std::map<std::string, std::string> kernel_contents_;  // Hash of each file in use, by name.
  SolverList solvers_;
  const std::unique_ptr<const Solver> reference_solver_ = MakeReferenceSolver(nvrtc_);
};

}  // namespace

std::unique_ptr<const Backend> CudaBackend(
    const std::vector<std::filesystem::path>& kernel_folders) {
  kernel::KernelLibrary library =
      kernel::LoadKernelLibrary(kernel_folders, kernel::KernelLanguage::kCuda);
  const auto missing = kernel::MissingKernelFolders();
  library.reports.insert(library.reports.begin(), missing.begin(), missing.end());
  return std::make_unique<CudaBackendImpl>(std::move(library));
}

Result<Target> TargetOf(const std::string& arch) {
  return kernel::TargetOfModel("cuda", "NVIDIA", kModels, arch);
}

}  // namespace attune::cuda
