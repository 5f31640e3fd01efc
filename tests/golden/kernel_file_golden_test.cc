// Kernel files of every version against their meaning since. attune only reads them, so the golden
// data is the result of reading one: its solver, its space, the program text and the plan.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_figures.h"
#include "attune/kernel/own_kernel.h"
#include "tests/golden/golden_file.h"

namespace attune::kernel {
namespace {

struct GoldenKernel {
  const char* name;  // Stem of NAME.json, and of NAME.LANGUAGE.txt, its meaning.
  KernelLanguage language;
  const char* problem;  // For a user's kernel its sizes.
};

Target TargetFor(KernelLanguage language) {
  if (language == KernelLanguage::kOpenCl) {
    return {"opencl",
            "Golden Processor",
            "golden",
            2,
            {{"max_work_group_size", "4096"}, {"local_memory_bytes", "65536"}}};
  }
  return {"cuda",
          "Golden GPU",
          "sm_90",
          132,
          {{"max_work_group_size", "1024"}, {"local_memory_bytes", "232448"}}};
}

// A line for each figure of a user's kernel.
Result<std::string> FiguresOf(const KernelFile& file, const std::string& sizes) {
  std::string text;
  ATTUNE_ASSIGN_OR_RETURN(const OwnSizes own_sizes, ParseSizes(sizes));
  for (const OwnFigure& figure : file.own->figures) {
    ATTUNE_ASSIGN_OR_RETURN(const FigureSource source, SourceOf(figure, file, own_sizes));
    text +=
        fmt::format("figure {}: {} of {}, unit '{}'\n", figure.objective.name,
                    Name(figure.objective.direction), attune::Text(source), figure.objective.unit);
  }
  return text;
}

Result<std::string> MeaningOf(const GoldenKernel& golden) {
  const auto path = std::filesystem::path(ATTUNE_GOLDEN_DIR) / (std::string(golden.name) + ".json");
  ATTUNE_ASSIGN_OR_RETURN(const KernelFile file, LoadKernelFile(path, golden.language));
  Problem problem;
  if (file.own.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(const OwnSizes sizes, ParseSizes(golden.problem));
    ATTUNE_ASSIGN_OR_RETURN(problem, MakeOwnProblem(file, sizes));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(problem, ParseProblem(golden.problem));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          DeviceLimitsOf(TargetFor(golden.language), golden.language));
  ATTUNE_RETURN_IF_ERROR(CheckApplies(file, problem, limits));
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, MakeSpace(file, problem, limits));
  const Config config = space.At(0);
  ATTUNE_ASSIGN_OR_RETURN(const KernelPlan plan, MakePlan(file, problem, config));
  ATTUNE_ASSIGN_OR_RETURN(const std::string source, MakeSource(file, problem, config));
  std::string figures;
  if (file.own.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(figures, FiguresOf(file, golden.problem));
  }
  // The prelude is the reader's, not the file's.
  const std::string own_source = source.substr(file.prelude.size());
  return fmt::format(
      "solver {}@{}: {}\nformat {}, operator {}, {}\nproblem {}\n{} configs, first {}\nplan "
      "{}\n{}\n{}",
      file.solver_name(), file.version, file.description, file.format_version, file.operator_name,
      file.dynamic() ? "dynamic" : "not dynamic", attune::Text(problem), space.size(),
      attune::Text(config), Text(plan), figures, own_source);
}

class KernelFileGoldenTest : public testing::TestWithParam<GoldenKernel> {};
INSTANTIATE_TEST_SUITE_P(
    All, KernelFileGoldenTest,
    testing::Values(GoldenKernel{"kernel_file_v1", KernelLanguage::kOpenCl,
                                 "gemm@1{m=100,n=7,k=12,beta=other}"},
                    GoldenKernel{"kernel_file_v2", KernelLanguage::kOpenCl,
                                 "conv@1{dir=fwd,n=2,c=3,h=9,w=8,k=4,fh=3,fw=3,ph=1,pw=1}"},
                    GoldenKernel{"kernel_file_v2", KernelLanguage::kCuda,
                                 "conv@1{dir=fwd,n=2,c=3,h=9,w=8,k=4,fh=3,fw=3,ph=1,pw=1}"},
                    GoldenKernel{"kernel_file_v2_cuda", KernelLanguage::kCuda,
                                 "gemm@1{m=500,n=3,k=800}"},
                    GoldenKernel{"kernel_file_v3", KernelLanguage::kOpenCl, "n=96,width=4"},
                    GoldenKernel{"kernel_file_v3", KernelLanguage::kCuda, "n=96,width=4"},
                    GoldenKernel{"kernel_file_v4", KernelLanguage::kOpenCl, "n=96"},
                    GoldenKernel{"kernel_file_v5", KernelLanguage::kOpenCl, "n=96"},
                    GoldenKernel{"kernel_file_v6", KernelLanguage::kCuda, "n=96,by=2"},
                    GoldenKernel{"kernel_file_v7", KernelLanguage::kOpenCl, "n=96"},
                    GoldenKernel{"kernel_file_v8", KernelLanguage::kCuda, "n=4096"},
                    GoldenKernel{"kernel_file_v9", KernelLanguage::kCuda, "n=4096"}));

TEST_P(KernelFileGoldenTest, IsReadAndMeansWhatItEverMeant) {
  const auto meaning = MeaningOf(GetParam());

  ASSERT_TRUE(meaning.ok()) << meaning.status().message();
  EXPECT_TRUE(IsGolden(fmt::format("{}.{}.txt", GetParam().name, Name(GetParam().language)),
                       *meaning, "kernel_file.md"));
}

}  // namespace
}  // namespace attune::kernel
