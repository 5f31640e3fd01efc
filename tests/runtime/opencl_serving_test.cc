// Programs on an OpenCL device with nothing compiled: no call waits for its compiler.
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

class OpenClServing : public ::testing::Test {
 protected:
  void SetUp() override {
    // PoCL's own cache has to be as empty as ours.
    world_.Set("POCL_CACHE_DIR", (world_.folder() / "pocl").string());
    std::filesystem::create_directory(world_.folder() / "pocl");
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "opencl:0";
    if (MakeRuntime(options) == nullptr) GTEST_SKIP() << attune_last_message();
  }

  static std::map<std::string, int64_t> Run(const std::string& ending, const std::string& what) {
    const ScopedVariable policy("ATTUNE_POLICY", "never");
    return CallerProcess({ATTUNE_OPENCL_CALLER, ending, what}).Wait();
  }

  RuntimeWorld world_;
};

TEST_F(OpenClServing, WithAnEmptyCacheNoCallWaitsForTheCompilerInTheFirstProcessNorInTheSecond) {
  auto first = Run("wait", "conv");
  auto second = Run("wait", "conv");

  ASSERT_FALSE(first.empty());
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(first["builds_in_caller"], 0);
  EXPECT_GE(first["builds_in_background"], 1);
  EXPECT_EQ(first["misses"], 2);
  EXPECT_EQ(first["none"], 0);
  EXPECT_GE(first["swaps"], 1);
  EXPECT_EQ(second["builds_in_caller"], 0);
  EXPECT_EQ(second["builds_in_background"], 0);
  EXPECT_EQ(second["none"], 0);
}

TEST_F(OpenClServing, ALibraryThatCompilesWhenItIsCalledIsNotCalledByTheCaller) {
  // Long before it has compiled, the program has its results and leaves.
  for (int process = 0; process < 2; ++process) {
    auto counters = Run("leave", "gemm");

    ASSERT_FALSE(counters.empty());
    EXPECT_EQ(counters["builds_in_caller"], 0);
    EXPECT_EQ(counters["none"], 0);
  }
}

}  // namespace
}  // namespace attune
