// Kernels that are instances of templates, compiled for GPUs that are not here.
#include "backends/cuda/kernel/instances.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/own_kernel.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/kernel/cubin.h"
#include "backends/cuda/kernel/elf_file_test.h"
#include "backends/cuda/kernel/kernel_solver.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(InstancesTest, OptionsAndNameExpressionsAreDividedAsTheyWereJoined) {
  const InstanceOptions kCases[] = {{"", {}},
                                    {"-DN=4 --std=c++20", {}},
                                    {"", {"scale<float, 16>"}},
                                    {"-DN=4", {"scale<unsigned int, 16>", "two::sum<N>"}}};
  for (const InstanceOptions& options : kCases) {
    EXPECT_EQ(Divided(Joined(options)), options);
  }
  EXPECT_EQ(Joined({"-DN=4", {}}), "-DN=4");
}

TEST(InstancesTest, SymbolsAreFoundBehindTheCode) {
  const std::string code = WithSymbols("code", {{"scale<3>", "_Z5scale3"}, {"a::b", "_Z1a1b"}});

  EXPECT_THAT(code, StartsWith("code"));
  EXPECT_EQ(SymbolOf(code, "scale<3>"), "_Z5scale3");
  EXPECT_EQ(SymbolOf(code, "a::b"), "_Z1a1b");
  EXPECT_EQ(SymbolOf(code, "plain"), "plain");
  EXPECT_EQ(SymbolOf("code", "plain"), "plain");
  EXPECT_EQ(WithSymbols("code", {}), "code");
}

TEST(InstancesTest, DamagedTablesAreNone) {
  const std::string code = WithSymbols("code", {{"scale<3>", "_Z5scale3"}});
  for (size_t size = 0; size < code.size(); ++size) {
    EXPECT_EQ(SymbolOf(code.substr(0, size), "scale<3>"), "scale<3>");
    std::string flipped = code;
    flipped[size] = static_cast<char>(~flipped[size]);
    SymbolOf(flipped, "scale<3>");
  }
}

TEST(InstancesTest, AKernelThatIsNotInTheCodeIsNamedWithThoseThatAre) {
  const std::string code =
      WithSymbols(ElfFileOf({{".text.first", "1"}, {".text._Z5scale3", "2"}, {".symtab", ""}}),
                  {{"scale<3>", "_Z5scale3"}});

  EXPECT_TRUE(CheckHasKernels(code, {"first", "scale<3>"}).ok());
  const Status missing = CheckHasKernels(code, {"first", "other"});
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("has no kernel 'other'"));
  EXPECT_THAT(missing.message(), HasSubstr("it has first, _Z5scale3."));
  EXPECT_TRUE(CheckHasKernels("code that is no ELF", {"other"}).ok());
}

class TemplateKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_.Get().available()) GTEST_SKIP() << nvrtc_.Get().report.missing;
  }

  // The example with this kernel in its launch.
  Result<kernel::KernelFile> FileWith(const std::string& function) {
    ATTUNE_ASSIGN_OR_RETURN(std::string json, ReadFile(kFolder / "blur.json"));
    const std::string written = "image::blur<TYPE, RADIUS, LINES>";
    json.replace(json.find(written), written.size(), function);
    ATTUNE_ASSIGN_OR_RETURN(const std::string source, ReadFile(kFolder / "blur.cu"));
    ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder_->path() / "blur.json", json));
    ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder_->path() / "blur.cu", source));
    return kernel::LoadOwnKernel(folder_->path() / "blur.json");
  }

  const std::filesystem::path kFolder = ATTUNE_OWN_KERNEL_DIR;
  const std::unique_ptr<ScratchFolder> folder_ = *ScratchFolder::Make("attune-instances-test");
  const Lazy<Nvrtc> nvrtc_;
  const Target target_ = *TargetOf("sm_90");
};

TEST_F(TemplateKernelTest, EveryConfigIsAnInstanceWhoseRoomIsKnown) {
  auto file = kernel::LoadOwnKernel(kFolder / "blur.json");
  ASSERT_TRUE(file.ok()) << file.error().message();
  const Problem problem = *kernel::MakeOwnProblem(*file, file->own->usual_sizes);
  const KernelSolver solver(nvrtc_, *file);
  const auto space = solver.Space(problem, target_);
  ASSERT_TRUE(space.ok()) << space.error().message();

  for (uint64_t i = 0; i < space->size(); i += 7) {
    const Config config = space->At(i);
    const auto recipe = solver.Recipe(problem, config, target_);
    ASSERT_TRUE(recipe.ok()) << recipe.error().message();
    const auto built = solver.Build(*recipe);
    ASSERT_TRUE(built.ok()) << built.error().message();

    const std::string symbol = SymbolOf(built->bytes, file->launches[0].function);
    EXPECT_THAT(symbol, HasSubstr("blurI"));
    EXPECT_TRUE(FindKernel(built->bytes, symbol).has_value()) << symbol;
    const auto blocks = solver.BlocksThatFit({*built, problem, config}, target_);
    ASSERT_TRUE(blocks.ok()) << blocks.error().message();
    EXPECT_TRUE(blocks->has_value());
  }
}

TEST_F(TemplateKernelTest, AKernelThatTheSourceHasNotIsNamed) {
  const auto file = FileWith("blurred");
  ASSERT_TRUE(file.ok()) << file.error().message();
  const Problem problem = *kernel::MakeOwnProblem(*file, file->own->usual_sizes);
  const KernelSolver solver(nvrtc_, *file);
  const Config config = *solver.DefaultConfig(problem, target_);
  const auto built = solver.Build(*solver.Recipe(problem, config, target_));
  ASSERT_TRUE(built.ok()) << built.error().message();

  const auto blocks = solver.BlocksThatFit({*built, problem, config}, target_);

  EXPECT_EQ(blocks.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(blocks.status().message(), HasSubstr("no kernel 'blurred', which a launch names"));
}

TEST_F(TemplateKernelTest, AnInstanceThatThereIsNotFailsToBuildWithWhatTheCompilerSays) {
  const std::pair<const char*, const char*> kMistakes[] = {
      {"blurr<TYPE, RADIUS, LINES>", "identifier \"blurr\" is undefined"},
      {"image::blur<TYPE, rows, LINES>", "identifier \"rows\" is undefined"},
      {"image::blur<TYPE, RADIUS>", "name expression"}};
  for (const auto& [function, mistake] : kMistakes) {
    const auto file = FileWith(function);
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Problem problem = *kernel::MakeOwnProblem(*file, file->own->usual_sizes);
    const KernelSolver solver(nvrtc_, *file);

    const auto built =
        solver.Build(*solver.Recipe(problem, *solver.DefaultConfig(problem, target_), target_));

    ASSERT_FALSE(built.ok()) << function;
    EXPECT_EQ(built.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(built.error().message(), HasSubstr(mistake));
  }
}

}  // namespace
}  // namespace attune::cuda
