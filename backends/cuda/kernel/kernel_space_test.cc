// Every config of every kernel file builds: label `long`.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/kernel/covering_problems.h"
#include "attune/kernel/shipped_files_test.h"
#include "backends/cuda/kernel/kernel_building_test.h"

namespace attune::cuda {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FileNames() {
  std::vector<std::string> names;
  for (const fs::path& path : kernel::ShippedFiles(".json")) names.push_back(path.stem().string());
  return names;
}

struct Program {
  Problem problem;
  Config config;
  std::string arch;
};

class KernelSpaceTest : public KernelBuildingTest, public testing::WithParamInterface<std::string> {
 protected:
  // All configs for the plainest problem, or a sample of a large space; the default for every other
  // problem. For two architectures.
  static std::vector<Program> ProgramsOf(const KernelSolver& solver) {
    std::vector<Program> programs;
    for (const char* arch : {"sm_80", "sm_90"}) {
      bool is_first = true;
      for (const Problem& problem : kernel::CoveringProblems(solver.traits().operator_name)) {
        if (!solver.IsApplicable(problem, *TargetOf(arch)).ok()) continue;
        const auto space = solver.Space(problem, *TargetOf(arch));
        EXPECT_TRUE(space.ok()) << space.status().ToString();
        constexpr uint64_t kMost = 1000;
        const uint64_t count = is_first ? std::min(space->size(), kMost) : 1;
        Random random(space->size());
        for (uint64_t i = 0; i < count; ++i) {
          const bool is_sampled = space->size() > kMost && i > 0;
          programs.push_back({problem, space->At(is_sampled ? space->Sample(random) : i), arch});
        }
        is_first = false;
      }
    }
    return programs;
  }
};

TEST_P(KernelSpaceTest, EveryConfigBuilds) {
  const fs::path path = kernel::ShippedFile(GetParam() + ".json");
  auto file = kernel::LoadKernelFile(path, kernel::KernelLanguage::kCuda);
  if (file.status().code() == StatusCode::kUnsupported) GTEST_SKIP() << file.status().message();
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const KernelSolver solver(nvrtc_, *std::move(file));
  const std::vector<Program> programs = ProgramsOf(solver);
  std::vector<std::string> mistakes(programs.size());

  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < programs.size(); at = next++) {
        mistakes[at] =
            MistakeOf(solver, programs[at].problem, programs[at].config, programs[at].arch);
      }
    });
  }
  threads.clear();

  for (const std::string& mistake : mistakes) EXPECT_EQ(mistake, "");
  RecordProperty("programs", std::to_string(programs.size()));
}

INSTANTIATE_TEST_SUITE_P(Shipped, KernelSpaceTest, testing::ValuesIn(FileNames()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace attune::cuda
