#include "attune/kernel/t1_file.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json Stencil() { return Json::parse(*ReadFile(ATTUNE_T1_FOLDER "/stencil.json")); }

TEST(T1FileTest, AKernelIsReadWithItsSpaceItsSizesAndItsGeometry) {
  const auto file = LoadKernelFile(ATTUNE_T1_FOLDER "/stencil.json", KernelLanguage::kOpenCl);
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto problem = MakeOwnProblem(*file, file->own->usual_sizes);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const auto own = *OwnKernelOf(*problem);
  EXPECT_EQ(own.name, "stencil");
  EXPECT_EQ(own.buffers[0].extents, (std::vector<int64_t>{4004}));
  EXPECT_EQ(own.buffers[0].fill, (BufferFill{BufferFill::Kind::kUniform, 0, 2}));
  EXPECT_EQ(own.buffers[1].role, OperandRole::kOut);
  const auto space = *MakeSpace(*file, *problem, {});
  EXPECT_EQ(space.size(), 10u);  // All but 16 x 1 and 128 x 4.
  EXPECT_EQ(attune::Text(space.At(0)), "block_size_x=64,tile=1");
  const auto plan =
      MakePlan(*file, *problem, {{"block_size_x", int64_t{64}}, {"tile", int64_t{2}}});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->launches[0].local, (std::vector<int64_t>{64, 1, 1}));
  EXPECT_EQ(plan->launches[0].groups, (std::vector<int64_t>{32, 1, 1}));
  const auto source = *MakeSource(*file, *problem, space.At(0));
  EXPECT_THAT(source, HasSubstr("#define problem_size_x 4000\n"));
  EXPECT_THAT(source, HasSubstr("#define kernel_tuner 1\n"));
}

TEST(T1FileTest, WhatCannotBeExpressedIsRefusedByName) {
  struct Case {
    std::function<void(Json&)> change;
    const char* place;
    const char* reason;
  };
  const auto kernel = [](Json& j) -> Json& { return j["KernelSpecification"]; };
  const Case cases[] = {
      {[&](Json& j) { kernel(j)["Language"] = "HIP"; }, "/KernelSpecification/Language", "'HIP'"},
      {[&](Json& j) { kernel(j)["CompilerOptions"][0] = "-use_fast_math"; },
       "/KernelSpecification/CompilerOptions/0", "'-use_fast_math'"},
      {[&](Json& j) { kernel(j)["Misc"] = 1; }, "/KernelSpecification/Misc", "unknown key"},
      {[&](Json& j) { kernel(j)["Stream"] = 3; }, "/KernelSpecification/Stream", "stream"},
      {[&](Json& j) { kernel(j)["SharedMemory"] = 64; }, "/KernelSpecification/SharedMemory",
       "argument"},
      {[&](Json& j) { kernel(j)["Arguments"][1]["MemType"] = "Constant"; },
       "/KernelSpecification/Arguments/1/MemType", "\"Constant\""},
      {[&](Json& j) { kernel(j)["Arguments"][1]["FillType"] = "BinaryRaw"; },
       "/KernelSpecification/Arguments/1/FillType", "'BinaryRaw'"},
      {[&](Json& j) { kernel(j)["Arguments"][1]["Type"] = "uint64"; },
       "/KernelSpecification/Arguments/1/Type", "'uint64'"},
      {[&](Json& j) { kernel(j)["Arguments"][2].erase("FillValue"); },
       "/KernelSpecification/Arguments/2", "FillValue"},
      {[](Json& j) {
         j["ConfigurationSpace"]["TuningParameters"][0]["Values"] = "[2**i for i in range(4)]";
       },
       "/ConfigurationSpace/TuningParameters/0/Values", "computed"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][0]["Default"] = 7; },
       "/ConfigurationSpace/TuningParameters/0/Default", "7 is not among"},
      {[](Json& j) { j["ConfigurationSpace"]["Conditions"][0] = 1; },
       "/ConfigurationSpace/Conditions/0", "must be an object"}};

  for (const Case& one : cases) {
    Json json = Stencil();
    one.change(json);
    const auto converted = KernelFileOfT1(json);
    ASSERT_FALSE(converted.ok()) << one.place;
    EXPECT_THAT(converted.error().message(), HasSubstr(one.place));
    EXPECT_THAT(converted.error().message(), HasSubstr(one.reason));
  }
}

TEST(T1FileTest, ACudaKernelKeepsItsDynamicSharedMemory) {
  Json json = Stencil();
  json["KernelSpecification"]["Language"] = "CUDA";
  json["KernelSpecification"]["KernelFile"] = "stencil.cu";
  json["KernelSpecification"]["SharedMemory"] = "block_size_x * 4";

  const auto converted = KernelFileOfT1(json);

  ASSERT_TRUE(converted.ok()) << converted.error().message();
  const auto file = ParseKernelFile(converted->dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.error().message();
  const auto problem = *MakeOwnProblem(*file, file->own->usual_sizes);
  const auto plan = MakePlan(*file, problem, {{"block_size_x", int64_t{64}}, {"tile", int64_t{2}}});
  EXPECT_EQ(plan->launches[0].shared_bytes, 256);
}

TEST(T1FileTest, AnInstanceOfATemplateIsCalledSoInCudaAlone) {
  Json json = Stencil();
  json["KernelSpecification"]["KernelName"] = "stencil<tile>";
  const auto opencl = KernelFileOfT1(json);
  json["KernelSpecification"]["Language"] = "CUDA";
  json["KernelSpecification"]["KernelFile"] = "stencil.cu";
  const auto cuda = KernelFileOfT1(json);
  ASSERT_TRUE(opencl.ok() && cuda.ok());

  const auto file = ParseKernelFile(cuda->dump(), KernelLanguage::kCuda);

  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->launches[0].function, "stencil<tile>");
  EXPECT_EQ(file->name, "stencil_tile_");
  EXPECT_THAT(ParseKernelFile(opencl->dump(), KernelLanguage::kOpenCl).status().message(),
              HasSubstr("'stencil<tile>' is a kernel of CUDA C++"));
}

}  // namespace
}  // namespace attune::kernel
