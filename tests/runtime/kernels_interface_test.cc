// A program's own kernel by libattune.so: refused calls and their errors; and on the first OpenCL
// device its agreement with the verbs, and the cost of a config that crashes where it was not
// tuned.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/kernels.hpp"
#include "attune/record/record_store.h"
#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr int64_t kLongNs = std::numeric_limits<int64_t>::max();

KernelDescription Scale() {
  KernelDescription description("scale", "__kernel void scale() {} // \"quoted\" \\ \t\n");
  description.Size("n", 64)
      .CompiledSize("w", 2)
      .Parameter("BLOCK", {8, 4})
      .Constraint("BLOCK >= w")
      .In("x", "f32", {"n", "w"})
      .InOut("y", "f32", {"n"})
      .Scalar("int", "n")
      .Launch("scale", {"BLOCK"}, {"ceil_div(n, BLOCK)"})
      .Tolerance(0.5, 1e-3);
  return description;
}

class KernelsInterfaceTest : public testing::Test {
 protected:
  std::string folder() const { return world_.folder().string(); }

  attune_code Open(const char* file, const attune_kernel_options* options) {
    attune_kernel* kernel = nullptr;
    const attune_code code = attune_kernel_open(file, options, &kernel);
    EXPECT_TRUE(code == ATTUNE_OK || kernel == nullptr);
    attune_kernel_close(kernel);
    return code;
  }

  RuntimeWorld world_;
};

TEST_F(KernelsInterfaceTest, ADescriptionIsTheKernelFileThatItSays) {
  const std::string path = Scale().Write(folder());

  const auto file = kernel::LoadOwnKernel(path, "opencl");

  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->name, "scale");
  EXPECT_EQ(file->compile_time_sizes, std::vector<std::string>{"w"});
  EXPECT_EQ(file->own->usual_sizes.at("n"), 64);
  EXPECT_EQ(file->own->operands.size(), 2u);
  EXPECT_EQ(file->launches[0].arguments.size(), 3u);
  EXPECT_EQ(file->own->absolute_tolerance, 0.5);
  EXPECT_THAT(file->source, HasSubstr("// \"quoted\" \\ \t\n"));
}

TEST_F(KernelsInterfaceTest, ParametersOfADescriptionAreRealNumbersAndNamesToo) {
  KernelDescription description = Scale();
  description.RealParameter("RATIO", {1, 0.1, 1e300}).NameParameter("TYPE", {"float", "double"});

  const auto file = kernel::LoadOwnKernel(description.Write(folder()));

  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->parameters[1].values, (std::vector<ParameterValue>{1.0, 0.1, 1e300}));
  EXPECT_EQ(file->parameters[2].values,
            (std::vector<ParameterValue>{std::string("float"), std::string("double")}));
}

TEST_F(KernelsInterfaceTest, InCudaADescriptionMayNameAnInstanceOfATemplate) {
  KernelDescription description("scale", "template <int kBlock> __global__ void scale(float*);",
                                "cuda");
  description.Size("n", 64)
      .Parameter("BLOCK", {64})
      .InOut("x", "f32", {"n"})
      .Launch("scale<BLOCK>", {"BLOCK"}, {"ceil_div(n, BLOCK)"});

  const auto file = kernel::LoadOwnKernel(description.Write(folder()));

  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->launches[0].function, "scale<BLOCK>");
}

TEST_F(KernelsInterfaceTest, FilesThatSayTheSameAreLeftAlone) {
  const std::string path = Scale().Write(folder());
  const auto written = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, written - std::chrono::hours(1));

  Scale().Write(folder());
  EXPECT_EQ(std::filesystem::last_write_time(path), written - std::chrono::hours(1));

  Scale().Size("m", 3).Write(folder());
  EXPECT_GE(std::filesystem::last_write_time(path), written);
}

TEST_F(KernelsInterfaceTest, AFolderThatIsNotThereIsAnExceptionWithItsPath) {
  EXPECT_THAT([&] { Scale().Write(folder() + "/nowhere"); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("nowhere/scale.cl")));
}

TEST_F(KernelsInterfaceTest, NullsAndOptionsOfAnotherSizeAreRefused) {
  attune_kernel_options options = ATTUNE_KERNEL_OPTIONS_INIT;
  options.struct_size = 4;
  const std::string path = Scale().Write(folder());

  EXPECT_EQ(attune_kernel_open(nullptr, nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_kernel_tune(nullptr, nullptr, 0), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_kernel_choose(nullptr, nullptr, 0, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_kernel_constrain(nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(Open(path.c_str(), &options), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("ATTUNE_KERNEL_OPTIONS_INIT"));
  attune_kernel_close(nullptr);
}

TEST_F(KernelsInterfaceTest, AFileThatIsNoKernelIsRefusedByPathAndLine) {
  const std::string path = folder() + "/broken.json";
  std::ofstream(path) << "{\n\"attune_kernel_file\" 3}\n";

  EXPECT_EQ(Open(path.c_str(), nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("broken.json"));
  EXPECT_NE(Open((folder() + "/none.json").c_str(), nullptr), ATTUNE_OK);
  EXPECT_THAT(attune_last_message(), HasSubstr("none.json"));
}

TEST_F(KernelsInterfaceTest, ADeviceThatIsNotThereIsNamed) {
  attune_kernel_options options = ATTUNE_KERNEL_OPTIONS_INIT;
  options.device = "opencl:99";

  EXPECT_EQ(Open(Scale().Write(folder()).c_str(), &options), ATTUNE_NOT_FOUND);
  EXPECT_THAT(attune_last_message(), HasSubstr("opencl:99"));
}

TEST_F(KernelsInterfaceTest, ADeviceThatRunsNoKernelsIsRefusedWhenItIsOpened) {
  attune_kernel_options options = ATTUNE_KERNEL_OPTIONS_INIT;
  const std::string path = Scale().Write(folder());

  for (const char* device : {"cpu", "fake", "cpu:0"}) {
    options.device = device;
    EXPECT_EQ(Open(path.c_str(), &options), ATTUNE_UNSUPPORTED) << device;
    EXPECT_THAT(attune_last_message(), HasSubstr("OpenCL and CUDA devices do (opencl:0, cuda:0)"));
  }
}

// Right wherever it is tuned; with BLOCK=64, the better config, it does `harm` for few elements.
KernelDescription HarmfulWhereItIsSmall(const std::string& harm) {
  KernelDescription description("harmful", "#define HARM " + harm + R"(
__kernel void scale(__global const float* x, __global float* y, int n) {
  const int i = get_global_id(0);
  float sum = 0;
#if BLOCK == 1
  for (int k = 0; k < 2000; ++k) sum += x[(i + k) % n] * 1e-20f;
#else
  if (n < 1000) { HARM; }
#endif
  if (i < n) y[i] = 3 * x[i] + sum;
})");
  description.Size("n", 4096)
      .Parameter("BLOCK", {1, 64})
      .In("x", "f32", {"n"})
      .Out("y", "f32", {"n"})
      .Scalar("int", "n")
      .Launch("scale", {"BLOCK"}, {"ceil_div(n, BLOCK)"});
  return description;
}

class KernelsOnOpenClTest : public KernelsInterfaceTest {
 protected:
  void SetUp() override {
    for (const char* name : {"OMP_WAIT_POLICY", "OMP_PROC_BIND", "OPENBLAS_THREAD_TIMEOUT"}) {
      world_.Set(name, std::nullopt);
    }
    world_.Set("ATTUNE_KERNEL_PATH", std::nullopt);
    path_ = HarmfulWhereItIsSmall("*(volatile __global int*)0 = 1").Write(folder());
    if (Open(path_.c_str(), nullptr) == ATTUNE_NOT_FOUND) GTEST_SKIP() << attune_last_message();
  }

  // The environment of the only set in the test's database.
  Environment RecordedEnvironment() const {
    Environment recorded;
    const auto store = OpenSqlStore(world_.database());
    EXPECT_TRUE((*store)
                    ->Visit({},
                            [&](const RecordedSet& set) {
                              recorded = set.set.environment;
                              return Status::Ok();
                            })
                    .ok());
    return recorded;
  }

  // Stores the result of tuning 4096 elements on an undisturbed machine: BLOCK=64.
  void TuneAsOnAnIdleMachine() {
    Kernel(path_, options_).Tune({{"n", 4096}});
    const auto store = OpenSqlStore(world_.database());
    MeasurementSet set;
    SolverId solver;
    const Status visited = (*store)->Visit({}, [&](const RecordedSet& recorded) {
      set = recorded.set;
      solver = recorded.records.front().trial.candidate.solver;
      return Status::Ok();
    });
    ASSERT_TRUE(visited.ok());
    set.id = NewSetId();
    set.started_unix_ns += 1;
    const Trial trials[] = {Final({solver, {{"BLOCK", int64_t{1}}}}, 2e6),
                            Final({solver, {{"BLOCK", int64_t{64}}}}, 1e6)};
    ASSERT_TRUE((*store)->BeginSet(set).ok());
    ASSERT_TRUE((*store)->Append(set.id, trials).ok());
    ASSERT_TRUE((*store)->FinishSet(set.id).ok());
    ASSERT_STREQ(Kernel(path_, options_).Choose({{"n", 4096}}).config, "BLOCK=64");
  }

  static Trial Final(Candidate candidate, double time_ns) {
    Measurement measurement;
    for (int i = 0; i < 40; ++i) measurement.samples_ns.push_back(time_ns + i);
    measurement.median_ns = time_ns + 20;
    measurement.low_ns = time_ns + 10;
    measurement.high_ns = time_ns + 30;
    measurement.confidence = 0.99;
    Trial trial;
    trial.role = TrialRole::kFinal;
    trial.is_default = IntegerAt(candidate.config, "BLOCK") == 1;
    trial.candidate = std::move(candidate);
    trial.outcome = std::move(measurement);
    return trial;
  }

  attune_kernel_options options_ = ATTUNE_KERNEL_OPTIONS_INIT;
  std::string path_;
};

TEST_F(KernelsOnOpenClTest, WhatIsTunedIsRecordedWithThePoliciesOfTheVerbs) {
  Kernel kernel(path_, options_);

  kernel.Tune({{"n", 4096}});

  Environment recorded = RecordedEnvironment();
  EXPECT_EQ(recorded["policy.omp_wait"], "passive");
  EXPECT_EQ(recorded["policy.omp_proc_bind"], "false");
  EXPECT_EQ(recorded["policy.openblas_thread_timeout"], "20");
  EXPECT_EQ(Kernel(path_, options_).Choose({{"n", 4096}}).served_by, ATTUNE_KERNEL_EXACT);
}

TEST_F(KernelsOnOpenClTest, AConfigThatCrashesWhereItWasNotTunedIsPassedOver) {
  options_.check_wait_ns = kLongNs;
  ASSERT_NO_FATAL_FAILURE(TuneAsOnAnIdleMachine());
  Kernel kernel(path_, options_);

  EXPECT_EQ(kernel.Choose({{"n", 2048}}).served_by, ATTUNE_KERNEL_NEAREST);
  EXPECT_EQ(kernel.Choose({{"n", 100}}).served_by, ATTUNE_KERNEL_DEFAULT);
}

TEST_F(KernelsOnOpenClTest, WhileOneThatHangsIsCheckedTheDefaultServes) {
  path_ = HarmfulWhereItIsSmall("for (volatile int k = 1; k != 0; k = 1) y[0] = k").Write(folder());
  ASSERT_NO_FATAL_FAILURE(TuneAsOnAnIdleMachine());
  {
    options_.check_wait_ns = -1;
    Kernel hurried(path_, options_);

    const KernelChoice& meanwhile = hurried.Choose({{"n", 100}});

    EXPECT_EQ(meanwhile.served_by, ATTUNE_KERNEL_DEFAULT);
    EXPECT_EQ(meanwhile.pending, 1);
    EXPECT_STREQ(meanwhile.config, "BLOCK=1");
  }
  options_.check_wait_ns = kLongNs;
  Kernel patient(path_, options_);

  const KernelChoice& found_out = patient.Choose({{"n", 100}});

  EXPECT_EQ(found_out.served_by, ATTUNE_KERNEL_DEFAULT);
  EXPECT_EQ(found_out.pending, 0);
}

TEST_F(KernelsOnOpenClTest, AProgramOfTheFirstInterfaceHasNoFieldForWaiting) {
  options_.struct_size = offsetof(attune_kernel_options, check_wait_ns);
  options_.check_wait_ns = -1;

  Kernel kernel(path_, options_);

  EXPECT_EQ(kernel.Choose({{"n", 100}}).pending, 0);
}

TEST_F(KernelsOnOpenClTest, WhatAFunctionOfTheProgramRefusesIsNeitherTriedNorServed) {
  ASSERT_NO_FATAL_FAILURE(TuneAsOnAnIdleMachine());
  Kernel kernel(path_, options_);
  kernel.Constrain({"BLOCK", "n"}, "large blocks only where there is little",
                   [](std::int64_t block, std::int64_t n) { return block == 1 || n < 3000; });

  EXPECT_STREQ(kernel.Choose({{"n", 4096}}).config, "BLOCK=1");
  EXPECT_STREQ(kernel.Choose({{"n", 5000}}).config, "BLOCK=1");
  kernel.Tune({{"n", 4096}});
  EXPECT_EQ(kernel.Choose({{"n", 4096}}).served_by, ATTUNE_KERNEL_EXACT);
  EXPECT_STREQ(kernel.Choose({{"n", 4096}}).config, "BLOCK=1");
}

TEST_F(KernelsOnOpenClTest, TheDefaultIsTheFirstConfigThatTheProgramAllows) {
  Kernel kernel(path_, options_);

  kernel.Constrain({"BLOCK"}, "", [](double block) { return block > 1.5; });

  EXPECT_STREQ(kernel.Choose({{"n", 4096}}).config, "BLOCK=64");
}

TEST_F(KernelsOnOpenClTest, AFunctionThatLeavesNothingIsToldByItsText) {
  Kernel kernel(path_, options_);
  kernel.Constrain({"BLOCK"}, "no block pleases me", [](std::int64_t) { return false; });

  EXPECT_THAT(
      [&] {
        kernel.Tune({{"n", 4096}});
      },
      testing::ThrowsMessage<Error>(HasSubstr("no block pleases me")));
  EXPECT_THAT(
      [&] {
        kernel.Choose({{"n", 4096}});
      },
      testing::ThrowsMessage<Error>(HasSubstr("no block pleases me")));
}

TEST_F(KernelsOnOpenClTest, WhatAFunctionThrowsComesOutOfTheCall) {
  Kernel kernel(path_, options_);
  kernel.Constrain({"BLOCK"}, "throws",
                   [](const std::string& block) -> bool { throw std::out_of_range(block); });

  EXPECT_THROW(kernel.Tune({{"n", 4096}}), std::out_of_range);
  EXPECT_THROW(kernel.Choose({{"n", 4096}}), std::out_of_range);
}

TEST_F(KernelsOnOpenClTest, AFunctionReadsSizesAndParametersAlone) {
  Kernel kernel(path_, options_);
  const auto any = [](std::int64_t) { return true; };

  EXPECT_THAT([&] { kernel.Constrain({"WARP"}, "of warps", any); },
              testing::ThrowsMessage<Error>(HasSubstr("reads 'WARP', which is neither")));
  EXPECT_THAT(
      [&] {
        kernel.Constrain({"BLOCK", "n"}, "of both", any);
      },
      testing::ThrowsMessage<std::invalid_argument>(HasSubstr("2 names")));
}

}  // namespace
}  // namespace attune
