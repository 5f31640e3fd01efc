// Kernel files built for AMD GPUs that are not here; skipped without hipcc. Nothing is run.
#include "backends/hip/kernel_solver.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/kernel/covering_problems.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"
#include "attune/kernel/shipped_files_test.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/hip/hip_backend.h"

namespace attune::hip {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
// ELF: the offsets of the machine and its flags, and their values.
constexpr size_t kMachineOffset = 18;
constexpr size_t kFlagsOffset = 48;
constexpr uint16_t kAmdGpuMachine = 224;
const std::map<std::string, uint32_t> kMachineFlags = {{"gfx906", 0x2f}, {"gfx90a", 0x3f}};

template <class T>
T ValueAt(std::string_view bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The code for `arch` in the output of --genco: a table of (offset, size, length of name, name)
// behind the magic and a count. Empty if there is none.
std::string_view CodeFor(std::string_view bundle, const std::string& arch) {
  if (!bundle.starts_with(kBundleMagic)) return "";
  size_t at = kBundleMagic.size();
  const auto next = [&] {
    at += sizeof(uint64_t);
    return ValueAt<uint64_t>(bundle, at - sizeof(uint64_t));
  };
  for (uint64_t left = next(); left > 0 && at < bundle.size(); --left) {
    const uint64_t offset = next();
    const uint64_t size = next();
    const uint64_t length = next();
    const std::string_view name = bundle.substr(at, length);
    at += length;
    if (name.ends_with("--" + arch)) return bundle.substr(offset, size);
  }
  return "";
}

class HipKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!hipcc_.available()) GTEST_SKIP() << hipcc_.report.missing;
    kernel::KernelLibrary library =
        kernel::LoadKernelLibrary({ATTUNE_SOURCE_KERNEL_DIR}, kernel::KernelLanguage::kCuda);
    for (const LibraryReport& report : library.reports) {
      EXPECT_TRUE(report.available) << report.missing;
    }
    files_ = std::move(library.files);
  }

  // The error in the code of this config, as a sentence; empty if there is none.
  std::string MistakeOf(const kernel::KernelFile& file, const Problem& problem,
                        const Config& config, const std::string& arch) const {
    const KernelSolver solver(hipcc_, file);
    const std::string place =
        fmt::format("{} for {} on {}", Text(Candidate{solver.id(), config}), Text(problem), arch);
    const auto recipe = solver.Recipe(problem, config, *TargetOf(arch));
    if (!recipe.ok()) return fmt::format("{}: {}", place, recipe.error().message());
    const auto artifact = solver.Build(*recipe);
    if (!artifact.ok()) return fmt::format("{}: {}", place, artifact.error().message());
    const std::string_view code = CodeFor(artifact->bytes, arch);
    if (!code.starts_with("\177ELF")) return fmt::format("{}: no code object.", place);
    const auto machine = ValueAt<uint16_t>(code, kMachineOffset);
    const uint32_t flags = ValueAt<uint32_t>(code, kFlagsOffset) & 0xff;
    if (machine != kAmdGpuMachine || flags != kMachineFlags.at(arch)) {
      return fmt::format("{}: machine {}, flags {:x}.", place, machine, flags);
    }
    const auto plan = kernel::MakePlan(file, problem, config);
    if (!plan.ok()) return fmt::format("{}: {}", place, plan.error().message());
    for (const kernel::PlannedLaunch& launch : plan->launches) {
      if (code.find(launch.function + ".kd") == std::string_view::npos) {
        return fmt::format("{}: no kernel '{}'.", place, launch.function);
      }
    }
    return "";
  }

  std::vector<Problem> ProblemsOf(const kernel::KernelFile& file, const Target& target) const {
    const KernelSolver solver(hipcc_, file);
    std::vector<Problem> problems;
    for (const Problem& problem : kernel::CoveringProblems(file.operator_name)) {
      if (solver.IsApplicable(problem, target).ok()) problems.push_back(problem);
    }
    return problems;
  }

  const Hipcc hipcc_;
  std::vector<kernel::KernelFile> files_;
};

// One program of each file, because hipcc takes a second for each; of every file another of its
// problems, so that types and directions are among them.
TEST_F(HipKernelTest, TheDefaultOfEveryFileBuildsExceptThoseOfTensorCores) {
  const Target target = *TargetOf("gfx90a");
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::vector<Problem> problems = ProblemsOf(files_[i], target);
    if (problems.empty()) continue;
    const Problem& problem = problems[i % problems.size()];

    const auto config = KernelSolver(hipcc_, files_[i]).DefaultConfig(problem, target);

    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(MistakeOf(files_[i], problem, *config, "gfx90a"), "");
  }
}

// Counted in the folder, so that a new file, or one that leaves itself out, changes the sentence.
TEST_F(HipKernelTest, TheReadmeSaysHowManyFilesBuildAndNamesTheOthers) {
  const Target target = *TargetOf("gfx90a");
  std::vector<std::string> built;
  for (const kernel::KernelFile& file : files_) {
    if (!ProblemsOf(file, target).empty()) built.push_back(file.name);
  }
  std::set<std::string> names;
  for (const auto language : {kernel::KernelLanguage::kCuda, kernel::KernelLanguage::kOpenCl}) {
    const auto library = kernel::LoadKernelLibrary({ATTUNE_SOURCE_KERNEL_DIR}, language);
    for (const kernel::KernelFile& file : library.files) names.insert(file.name);
  }
  ASSERT_EQ(names.size(), kernel::ShippedFiles(".json").size());

  const Result<std::string> readme = ReadFile(ATTUNE_README);

  ASSERT_TRUE(readme.ok()) << readme.status().ToString();
  EXPECT_THAT(*readme, HasSubstr(fmt::format("Of the {} kernel files {} build for `gfx90a`",
                                             names.size(), built.size())));
  for (const std::string& name : built) names.erase(name);
  for (const std::string& name : names) EXPECT_THAT(*readme, HasSubstr(fmt::format("`{}`", name)));
}

TEST_F(HipKernelTest, ASampledConfigOfEachLanguageBuildsForAnOlderArchitecture) {
  Random random(5);
  const Target target = *TargetOf("gfx906");
  for (const kernel::KernelFile& file : files_) {
    if (file.name != "gemm-tiled" && file.name != "conv-window") continue;
    const std::vector<Problem> problems = ProblemsOf(file, target);
    ASSERT_FALSE(problems.empty()) << file.name;
    const auto space = KernelSolver(hipcc_, file).Space(problems.back(), target);
    ASSERT_TRUE(space.ok()) << space.status().ToString();

    EXPECT_EQ(MistakeOf(file, problems.back(), space->At(space->Sample(random)), "gfx906"), "");
  }
}

TEST_F(HipKernelTest, WhatIsLeftOutIsLeftOutByARuleOfItsOwnAboutTheArchitecture) {
  const Target target = *TargetOf("gfx90a");
  std::vector<std::string> left_out;
  for (const kernel::KernelFile& file : files_) {
    if (!ProblemsOf(file, target).empty()) continue;
    left_out.push_back(file.name);
    bool by_architecture = false;
    for (const Problem& problem : kernel::CoveringProblems(file.operator_name)) {
      const Status applies = KernelSolver(hipcc_, file).IsApplicable(problem, target);
      EXPECT_EQ(applies.code(), StatusCode::kUnsupported);
      by_architecture = by_architecture || applies.message().find("arch ") != std::string::npos;
    }
    EXPECT_TRUE(by_architecture) << file.name;
  }

  EXPECT_THAT(left_out,
              UnorderedElementsAre("batch-norm-grid", "batch-norm-images", "batch-norm-inference",
                                   "batch-norm-planes", "batch-norm-rows", "conv-tensor",
                                   "conv-tensor-weights", "conv-tensor-weights-any", "gemm-group",
                                   "gemm-tensor", "softmax-columns", "softmax-rows"));
}

TEST_F(HipKernelTest, AUsersKernelInCudaBuildsAsItStands) {
  const auto file = kernel::LoadKernelFile(
      std::filesystem::path(ATTUNE_EXAMPLE_KERNEL_DIR) / "acme_naive_gemm.json",
      kernel::KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Problem problem = PackedGemm(70, 30, 20);
  const auto config = KernelSolver(hipcc_, *file).DefaultConfig(problem, *TargetOf("gfx90a"));
  ASSERT_TRUE(config.ok()) << config.status().ToString();

  EXPECT_EQ(MistakeOf(*file, problem, *config, "gfx90a"), "");
}

TEST_F(HipKernelTest, InstancesOfTemplatesAreLeftOutByName) {
  const kernel::KernelFile file =
      *kernel::LoadOwnKernel(std::filesystem::path(ATTUNE_OWN_KERNEL_DIR) / "blur.json");
  const Problem problem = *kernel::MakeOwnProblem(file, file.own->usual_sizes);

  EXPECT_EQ(KernelSolver(hipcc_, file).IsApplicable(problem, *TargetOf("gfx90a")).message(),
            "hip.blur has kernels that NVRTC alone is asked for by name "
            "(image::blur<TYPE, RADIUS, LINES>).");
}

TEST_F(HipKernelTest, AMistakeIsNamedByFileAndLineOfItsOwnSource) {
  auto file = kernel::LoadKernelFile(
      std::filesystem::path(ATTUNE_EXAMPLE_KERNEL_DIR) / "acme_naive_gemm.json",
      kernel::KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok());
  file->source = "#line 1 \"mine.cu\"\n\nthis is no C++;\n";
  const Problem problem = PackedGemm(70, 30, 20);
  const auto config = KernelSolver(hipcc_, *file).DefaultConfig(problem, *TargetOf("gfx90a"));

  EXPECT_THAT(MistakeOf(*file, problem, *config, "gfx90a"), HasSubstr("mine.cu:2:"));
}

TEST_F(HipKernelTest, TheSameRecipeGivesTheSameCodeWhereverItIsCompiled) {
  const auto file = std::find_if(files_.begin(), files_.end(), [](const kernel::KernelFile& each) {
    return each.name == "gemm-tiled";
  });
  ASSERT_NE(file, files_.end());
  const Target target = *TargetOf("gfx90a");
  const KernelSolver solver(hipcc_, *file);
  const Problem problem = PackedGemm(70, 30, 20);
  const auto recipe = solver.Recipe(problem, *solver.DefaultConfig(problem, target), target);
  ASSERT_TRUE(recipe.ok());

  const auto first = solver.Build(*recipe);
  const auto second = solver.Build(*recipe);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(*first == *second);
}

}  // namespace
}  // namespace attune::hip
