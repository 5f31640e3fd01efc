// Finding, querying and calling hipcc: with stand-ins, so that no hipcc is needed.
#include "backends/hip/hipcc.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune::hip {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kShortNs = 300'000'000;
constexpr const char* kArch = "gfx90a";
constexpr const char* kVersionLine =
    "if [ \"$1\" = --version ]; then echo 'HIP version: 9.8.7-6'; echo 'clang version 77'; exit; "
    "fi\n";

// Puts shell scripts where hipcc is looked for.
class HipccTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "attune-hipcc-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    ::setenv(kHipccVariable, Program().c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv(kHipccVariable);
    fs::remove_all(folder_);
  }

  fs::path Program() const { return folder_ / "hipcc"; }
  void Write(const std::string& script) const {
    ASSERT_TRUE(WriteFileAtomically(Program(), "#!/bin/sh\n" + script).ok());
    fs::permissions(Program(), fs::perms::owner_all);
  }
  // A stand-in that prints its version and then runs `script`.
  void WriteCompiler(const std::string& script) const { Write(kVersionLine + script); }

  static Result<Artifact> Build(const Hipcc& hipcc, const std::string& source) {
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe, MakeRecipe(hipcc, source, kArch));
    return BuildCodeObject(hipcc, recipe);
  }

  fs::path folder_;
};

TEST_F(HipccTest, VersionAndPathAreReported) {
  WriteCompiler("");

  const Hipcc hipcc;

  EXPECT_TRUE(hipcc.available()) << hipcc.report.missing;
  EXPECT_EQ(hipcc.report.version, "9.8.7-6");
  EXPECT_EQ(hipcc.report.path, Program());
  EXPECT_EQ(hipcc.report.chosen_by, kHipccVariable);
}

TEST_F(HipccTest, AVariableThatNamesNoProgramIsNeverReplacedByAnother) {
  const Hipcc hipcc;

  EXPECT_FALSE(hipcc.available());
  EXPECT_THAT(hipcc.report.missing, HasSubstr(Program().string()));
  EXPECT_EQ(MakeRecipe(hipcc, "source", kArch).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(BuildCodeObject(hipcc, {}).status().code(), StatusCode::kUnavailable);
}

TEST_F(HipccTest, AProgramThatIsNoHipccIsRefusedWithWhatItSaid) {
  Write("echo I am a teapot");

  const Hipcc hipcc;

  EXPECT_FALSE(hipcc.available());
  EXPECT_THAT(hipcc.report.missing, HasSubstr("I am a teapot"));
}

TEST_F(HipccTest, RecipesOfTwoClangsDiffer) {
  WriteCompiler("");
  const auto first = MakeRecipe(Hipcc(), "source", kArch);
  Write("echo 'HIP version: 9.8.7-6'; echo 'clang version 78'");

  const auto second = MakeRecipe(Hipcc(), "source", kArch);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(first->compiler, StartsWith("hipcc 9.8.7-6 "));
  EXPECT_EQ(first->target, kArch);
  EXPECT_NE(first->compiler, second->compiler);
}

TEST_F(HipccTest, TheCodeIsWhatTheCompilerWroteForTheArchitecture) {
  WriteCompiler("echo \"$@\" | cat kernel.hip - > kernel.co");

  const auto artifact = Build(Hipcc(), "the source\n");

  ASSERT_TRUE(artifact.ok()) << artifact.status().ToString();
  EXPECT_THAT(artifact->bytes, StartsWith("the source\n--genco --offload-arch=gfx90a "));
}

TEST_F(HipccTest, NothingOfACompilationStaysBehind) {
  WriteCompiler("pwd > " + (folder_ / "where").string() + "; echo code > kernel.co");

  ASSERT_TRUE(Build(Hipcc(), "source").ok());

  std::string where = *ReadFile(folder_ / "where");
  ASSERT_THAT(where, EndsWith("\n"));
  where.pop_back();
  EXPECT_FALSE(fs::exists(where)) << where;
}

TEST_F(HipccTest, AFailureHoldsTheLog) {
  WriteCompiler("echo 'kernel.hip:3: error: no such thing' >&2; exit 1");

  const auto artifact = Build(Hipcc(), "source");

  EXPECT_EQ(artifact.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(artifact.status().message(), HasSubstr("kernel.hip:3: error: no such thing"));
  EXPECT_THAT(artifact.status().message(), HasSubstr(kArch));
}

TEST_F(HipccTest, WarningsComeWithTheCode) {
  WriteCompiler("echo 'kernel.hip:3: warning: no such thing' >&2; echo code > kernel.co");

  const auto artifact = Build(Hipcc(), "source");

  ASSERT_TRUE(artifact.ok()) << artifact.status().ToString();
  EXPECT_THAT(artifact->log, HasSubstr("kernel.hip:3: warning: no such thing"));
}

// Debian's package hipcc has all parts for this.
TEST(RealHipccTest, WarningsComeWithTheCodeAndNotOnTheTerminal) {
  const Hipcc hipcc;
  if (!hipcc.available()) GTEST_SKIP() << hipcc.report.missing;
  const auto recipe = MakeRecipe(hipcc,
                                 "#warning this kernel is noisy\n"
                                 "extern \"C\" __attribute__((global)) void empty() {}\n",
                                 kArch);
  ASSERT_TRUE(recipe.ok()) << recipe.status().ToString();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto artifact = BuildCodeObject(hipcc, *recipe);
  const std::string printed =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();

  ASSERT_TRUE(artifact.ok()) << artifact.status().ToString();
  EXPECT_THAT(artifact->log, HasSubstr("this kernel is noisy"));
  EXPECT_EQ(printed, "");
}

TEST_F(HipccTest, ACompilerThatWritesNothingIsAFailure) {
  WriteCompiler("exit 0");

  EXPECT_EQ(Build(Hipcc(), "source").status().code(), StatusCode::kUnavailable);
}

TEST_F(HipccTest, ACompilerThatHangsIsGivenUp) {
  WriteCompiler("tail -f /dev/null");

  EXPECT_EQ(Build(Hipcc(kShortNs), "source").status().code(), StatusCode::kDeadlineExceeded);
}

TEST(CodeObjectTest, AKernelThatIsNotInTheCodeIsNamed) {
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__ code";
  bundle += std::string_view("\0my_scale.kd\0scale\0", 19);

  EXPECT_TRUE(CheckHasKernel(bundle, "my_scale").ok());
  const Status missing = CheckHasKernel(bundle, "scale");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("has no kernel 'scale'"));
  EXPECT_TRUE(CheckHasKernel("CCOB compressed", "scale").ok());
}

}  // namespace
}  // namespace attune::hip
