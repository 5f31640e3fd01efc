// Tests without a device: building for a named architecture, and reporting missing libraries.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/driver/cuda_memory.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/reference_product.h"
#include "backends/cuda/layout/realign.h"
#include "backends/cuda/layout/tensor_layout.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kKernel = R"(
extern "C" __global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor * SCALE;
}
)";

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_.available()) GTEST_SKIP() << nvrtc_.report.missing;
  }

  Result<Artifact> Build(const std::string& source, const std::string& options,
                         const std::string& arch) {
    const Result<BuildRecipe> recipe = MakeRecipe(nvrtc_, source, options, arch);
    if (!recipe.ok()) return recipe.error();
    return BuildCubin(nvrtc_, *recipe);
  }

  const Nvrtc nvrtc_;
};

TEST_F(NvrtcTest, BuildsForNamedArchitecturesWithoutADevice) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Result<Artifact> cubin = Build(kKernel, "-DSCALE=2", arch);

    ASSERT_TRUE(cubin.ok()) << cubin.status().ToString();
    EXPECT_THAT(cubin->bytes, StartsWith("\x7f"
                                         "ELF"));
    EXPECT_THAT(cubin->bytes, HasSubstr("scale"));
  }
}

TEST_F(NvrtcTest, OneRecipeGivesOneArtifact) {
  const Result<Artifact> first = Build(kKernel, "-DSCALE=2", "sm_90");
  const Result<Artifact> second = Build(kKernel, "-DSCALE=2", "sm_90");

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->bytes, second->bytes);
}

TEST_F(NvrtcTest, ASourceThatDoesNotCompileIsRefusedWithThePlace) {
  const Status status = Build("__global__ void k() {\n  undeclared = 1;\n}", "", "sm_90").status();

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("kernel.cu(2)"));
  EXPECT_THAT(status.message(), HasSubstr("undeclared"));
}

TEST_F(NvrtcTest, WarningsComeWithTheCodeAndNotOnTheTerminal) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Result<Artifact> cubin =
      Build("#warning this kernel is noisy\n" + std::string(kKernel), "-DSCALE=2", "sm_90");
  const std::string printed =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();

  ASSERT_TRUE(cubin.ok()) << cubin.status().ToString();
  EXPECT_THAT(cubin->log, HasSubstr("this kernel is noisy"));
  EXPECT_EQ(printed, "");
}

TEST_F(NvrtcTest, AnUnknownArchitectureIsUnsupportedByName) {
  const Status status = Build(kKernel, "-DSCALE=2", "sm_12345").status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("sm_12345"));
}

TEST_F(NvrtcTest, RecipeNamesTheCompilerAndItsBuild) {
  const Result<BuildRecipe> recipe = MakeRecipe(nvrtc_, kKernel, "", "sm_90");

  ASSERT_TRUE(recipe.ok());
  EXPECT_THAT(recipe->compiler, HasSubstr(nvrtc_.report.version));
  EXPECT_THAT(recipe->compiler, HasSubstr(nvrtc_.report.build_id));
  EXPECT_EQ(recipe->target, "sm_90");
}

TEST_F(NvrtcTest, TheKernelThatRealignsIsBuiltForEveryElementAndArchitecture) {
  for (const int element_bytes : {1, 2, 4, 8}) {
    for (const char* arch : {"sm_80", "sm_90"}) {
      const Result<BuildRecipe> recipe = RealignRecipe(nvrtc_, element_bytes, arch);
      ASSERT_TRUE(recipe.ok()) << recipe.status().message();
      const Result<Artifact> cubin = BuildCubin(nvrtc_, *recipe);
      ASSERT_TRUE(cubin.ok()) << cubin.status().message();
      EXPECT_TRUE(cubin->bytes.starts_with("\177ELF")) << element_bytes << arch;
    }
  }
}

TEST_F(NvrtcTest, TheKernelsThatLayTensorsOutAnewAreBuiltForEveryTypeAndArchitecture) {
  for (const DataType type : {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBf16}) {
    for (const char* arch : {"sm_80", "sm_90"}) {
      const Result<BuildRecipe> recipe = TensorLayoutRecipe(nvrtc_, type, arch);
      ASSERT_TRUE(recipe.ok()) << recipe.status().message();
      const Result<Artifact> cubin = BuildCubin(nvrtc_, *recipe);
      ASSERT_TRUE(cubin.ok()) << cubin.status().message();
      for (const char* name : {"relayout", "unfold", "unfold_wide", "fold", "add_parts"}) {
        EXPECT_THAT(cubin->bytes, HasSubstr(name)) << Name(type) << " on " << arch;
      }
      const auto has_split = HasSubstr(".text.split");
      if (type == DataType::kF32) {
        EXPECT_THAT(cubin->bytes, has_split) << arch;
      } else {
        EXPECT_THAT(cubin->bytes, testing::Not(has_split)) << Name(type) << " on " << arch;
      }
    }
  }
}

TEST_F(NvrtcTest, ElementsOfOneByteAreMovedOnly) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Result<BuildRecipe> recipe = TensorLayoutRecipe(nvrtc_, DataType::kI8, arch);
    ASSERT_TRUE(recipe.ok()) << recipe.status().message();
    EXPECT_EQ(*recipe, *TensorLayoutRecipe(nvrtc_, DataType::kF8E4M3, arch));
    const Result<Artifact> cubin = BuildCubin(nvrtc_, *recipe);
    ASSERT_TRUE(cubin.ok()) << cubin.status().message();
    EXPECT_THAT(cubin->bytes, HasSubstr("relayout"));
    EXPECT_THAT(cubin->bytes, testing::Not(HasSubstr("add_parts")));
  }
}

TEST_F(NvrtcTest, TheKernelsThatVerifyAreBuiltForEveryArchitecture) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Result<BuildRecipe> recipe = CudaMemoryRecipe(nvrtc_, arch);
    ASSERT_TRUE(recipe.ok()) << recipe.status().message();
    const Result<Artifact> cubin = BuildCubin(nvrtc_, *recipe);
    ASSERT_TRUE(cubin.ok()) << cubin.status().message();
    EXPECT_TRUE(cubin->bytes.starts_with("\177ELF")) << arch;
  }
}

TEST_F(NvrtcTest, TheKernelsThatComputeReferencesAreBuiltForEveryArchitecture) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Result<BuildRecipe> recipe = ReferenceProductRecipe(nvrtc_, arch);
    ASSERT_TRUE(recipe.ok()) << recipe.status().message();
    const Result<Artifact> cubin = BuildCubin(nvrtc_, *recipe);
    ASSERT_TRUE(cubin.ok()) << cubin.status().message();
    EXPECT_THAT(cubin->bytes, HasSubstr("exact_reference_product")) << arch;
  }
}

TEST(CudaBackend, AnArchitectureIsATargetThatNeedsNoDevice) {
  const Result<Target> target = TargetOf("sm_90");

  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->backend, "cuda");
  EXPECT_EQ(target->arch, "sm_90");
  EXPECT_EQ(TargetOf("sm_9").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(TargetOf("sm_9").status().message(), HasSubstr("sm_80, sm_90"));
}

TEST(CudaBackend, IsCompleteOrSaysWhatIsMissing) {
  const std::unique_ptr<const Backend> backend = CudaBackend({});

  for (const LibraryReport& library : backend->Libraries()) {
    EXPECT_EQ(library.available, library.missing.empty()) << library.name;
  }
  const auto libraries = backend->Libraries();
  const auto driver = std::find_if(libraries.begin(), libraries.end(),
                                   [](const auto& l) { return l.name == "cuda-driver"; });
  ASSERT_NE(driver, libraries.end());
  for (const DeviceReport& device : backend->Devices()) EXPECT_GT(device.cache_bytes, 0u);
  if (driver->available) return;
  EXPECT_TRUE(backend->Devices().empty());
  EXPECT_THAT(driver->missing, HasSubstr("driver"));
  const Status status = backend->Open("cuda:0").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(driver->missing));
}

// With the other solvers a config that was tried on better aligned operands could end the context
// of a program.
TEST(CudaBackend, SolversWhoseLibrariesKnowTheAlignmentSayThatTheyCheckIt) {
  const std::unique_ptr<const Backend> backend = CudaBackend({});
  const std::set<std::string> kUnchecked = {"cuda.cudnn-conv", "cuda.cudnn-instant-conv",
                                            "cuda.cudnn-implicit-conv", "cuda.cudnn-batch-norm"};

  for (const auto& solver : backend->solvers()) {
    const std::string& name = solver->id().name;
    const bool is_of_library = name.find("cublaslt") != name.npos || name.starts_with("cuda.cudnn");
    const bool is_expected = is_of_library && !kUnchecked.contains(name);
    EXPECT_EQ(solver->traits().checks_alignment, is_expected) << name;
  }
}

TEST(CudaBackend, KernelFilesAreSolversAndBrokenOnesAreReported) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "attune_cuda_backend_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "broken.json") << "{}";

  const auto backend = CudaBackend({ATTUNE_EXAMPLE_KERNEL_DIR, folder});
  std::filesystem::remove_all(folder);

  EXPECT_NE(FindSolver(backend->solvers(), {"cuda.acme-naive-gemm", 1}), nullptr);
  std::map<std::string, std::string> missing;
  for (const LibraryReport& library : backend->Libraries()) missing[library.name] = library.missing;
  EXPECT_EQ(missing.at("kernel acme_naive_gemm"), "");
  EXPECT_THAT(missing.at("kernel broken"), HasSubstr("'attune_kernel_file' is missing"));
}

TEST(CublasLtProducts, TypesAndEpiloguesWithoutWordsAreRefusedByName) {
  Gemm gemm = PackedGemm(8, 8, 8);
  EXPECT_TRUE(CheckCublasLtTakes(gemm).ok());

  gemm.activation = Activation::kGelu;
  EXPECT_EQ(CheckCublasLtTakes(gemm).code(), StatusCode::kUnsupported);

  gemm.activation = Activation::kRelu;
  gemm.bias = Bias::kPerColumn;
  EXPECT_EQ(CheckCublasLtTakes(gemm).code(), StatusCode::kUnsupported);

  gemm = PackedGemm(16, 16, 16, DataType::kF8E4M3);
  EXPECT_EQ(CheckCublasLtTakes(gemm).code(), StatusCode::kUnsupported);
  for (const DataType c_type : {DataType::kBf16, DataType::kF16, DataType::kF32}) {
    gemm.c_type = c_type;
    gemm.bias = Bias::kNone;
    EXPECT_TRUE(CheckCublasLtTakes(gemm).ok()) << Name(c_type);
    gemm.bias = Bias::kPerRow;
    EXPECT_EQ(CheckCublasLtTakes(gemm).ok(), c_type != DataType::kF32) << Name(c_type);
  }
  gemm.type = DataType::kF8E5M2;
  EXPECT_EQ(CheckCublasLtTakes(gemm).code(), StatusCode::kUnsupported);

  gemm = PackedGemm(8, 8, 8, DataType::kI8);
  gemm.c_type = DataType::kI8;
  EXPECT_EQ(CheckCublasLtTakes(gemm).code(), StatusCode::kUnsupported);
  gemm.c_type = DataType::kF64;
  const Status status = CheckCublasLtTakes(gemm);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("i8"));
  EXPECT_THAT(status.message(), HasSubstr("f64"));
}

TEST(CublasLtProducts, ReluMayLoseNanWhereCublasLtComputesIt) {
  const auto backend = CudaBackend({});
  const Problem plain = *ParseProblem("gemm@1{m=8,n=8,k=8,batch=2,sa=0,bias=row}");
  const Problem relu = *ParseProblem("gemm@1{m=8,n=8,k=8,batch=2,sa=0,bias=row,act=relu}");
  for (const auto& solver : backend->solvers()) {
    if (solver->traits().operator_name != "gemm") continue;
    const std::string& name = solver->id().name;
    const bool is_library = name == "cuda.cublaslt-gemm" || name == "cuda.folded-cublaslt-gemm" ||
                            name == "cuda.padded-cublaslt-gemm" ||
                            name == "cuda.transposed-cublaslt-gemm" ||
                            name == "cuda.folded-product-gemm";

    EXPECT_TRUE(solver->KeepsSpecialValues(plain)) << name;
    EXPECT_EQ(solver->KeepsSpecialValues(relu), !is_library) << name;
  }
}

TEST(CublasLtProducts, IntegersAreMultipliedAsWordsOfFourWithoutAnEpilogue) {
  const auto check = [](const std::string& terms) {
    return CheckCublasLtTakes(GemmOf("gemm@1{" + terms + ",type=i8,ctype=i32}"));
  };
  EXPECT_TRUE(check("m=36,n=20,k=44,ta=t").ok());
  EXPECT_TRUE(check("m=33,n=17,k=65,lda=36,ldb=68,ldc=36,alpha=other,beta=other").ok());
  EXPECT_TRUE(check("m=36,n=20,k=44,batch=3,sa=0").ok());

  // The strides of a single matrix are ignored: copies leave stale values there.
  Gemm copied = GemmOf("gemm@1{m=36,n=20,k=44,type=i8,ctype=i32}");
  copied.stride_a = copied.stride_b = copied.stride_c = 33;
  EXPECT_TRUE(CheckCublasLtTakes(copied).ok());

  EXPECT_THAT(check("m=36,n=20,k=44,bias=row").message(), HasSubstr("no epilogue"));
  EXPECT_THAT(check("m=36,n=20,k=44,act=relu").message(), HasSubstr("no epilogue"));
  EXPECT_THAT(check("m=36,n=20,k=46,ta=t").message(), HasSubstr("46 is none"));
  EXPECT_THAT(check("m=36,n=20,k=44,ldc=37").message(), HasSubstr("37 is none"));
  EXPECT_THAT(check("m=36,n=20,k=44,batch=3,sa=1586").message(), HasSubstr("1586 is none"));
}

}  // namespace
}  // namespace attune::cuda
