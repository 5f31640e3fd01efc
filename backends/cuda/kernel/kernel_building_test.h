// Shipped kernel files as solvers, built for GPUs that need not be here; tests are skipped without
// a compiler.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/kernel/kernel_library.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/kernel/kernel_solver.h"

namespace attune::cuda {

// Folders of the source tree: kernels that attune brings, and one that documentation shows.
extern const char* const kShippedKernels;
extern const char* const kExampleKernels;

class KernelBuildingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_.Get().available()) GTEST_SKIP() << nvrtc_.Get().report.missing;
    kernel::KernelLibrary library =
        kernel::LoadKernelLibrary({kShippedKernels}, kernel::KernelLanguage::kCuda);
    for (const LibraryReport& report : library.reports) {
      EXPECT_TRUE(report.available) << report.missing;
    }
    for (kernel::KernelFile& file : library.files) {
      solvers_.push_back(std::make_unique<KernelSolver>(nvrtc_, std::move(file)));
    }
  }

  // The kernel that documentation shows to users.
  KernelSolver Example() const {
    return KernelSolver(nvrtc_, *kernel::LoadKernelFile(
                                    std::filesystem::path(kExampleKernels) / "acme_naive_gemm.json",
                                    kernel::KernelLanguage::kCuda));
  }

  // The error of this config on that device, as a sentence; empty if it builds and fits.
  std::string MistakeOf(const KernelSolver& solver, const Problem& problem, const Config& config,
                        const std::string& arch) const {
    const auto recipe = solver.Recipe(problem, config, *TargetOf(arch));
    Status status = recipe.status();
    if (recipe.ok()) {
      const auto built = solver.Build(*recipe);
      status = built.ok()
                   ? solver.BlocksThatFit({*built, problem, config}, *TargetOf(arch)).status()
                   : built.status();
    }
    if (status.ok()) return "";
    return Text(Candidate{solver.id(), config}) + " for " + Text(problem) + " on " + arch + ": " +
           status.message();
  }

  const Lazy<Nvrtc> nvrtc_;
  std::vector<std::unique_ptr<const KernelSolver>> solvers_;
};

}  // namespace attune::cuda
