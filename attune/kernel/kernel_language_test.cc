// Version 2 of the format: kernels in more than one language.
#include <filesystem>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/opencl_on_cuda.h"
#include "attune/kernel/shipped_files_test.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::kernel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

Json FileInBoth() {
  return Json::parse(R"json({
    "attune_kernel_file": 2, "language": ["opencl", "cuda"], "name": "test-gemm", "version": 1,
    "description": "A test.", "operator": "gemm", "sources": ["test.cl"],
    "sizes": {"run_time": ["m", "n", "k", "lda", "ldb", "ldc", "batch_count", "stride_a", "stride_b",
                           "stride_c"], "compile_time": []},
    "applies": ["language == 'cuda' or m <= 4"],
    "parameters": [{"name": "WG", "values": {"opencl": [8, 16], "cuda": [128, 32, 64]}},
                   {"name": "DEPTH", "values": [1, 2]}],
    "launches": [{"function": "f", "local": ["WG"], "groups": ["m"], "arguments": [{"int": "m"}]}]
})json");
}

Json FileInCuda() {
  Json file = FileInBoth();
  file["language"] = "cuda";
  file["sources"][0] = "test.cu";
  file["parameters"][0]["values"] = {128, 32};
  file["applies"][0] = "arch >= 80 and dynamic_shared_bytes >= 65536";
  file["launches"][0]["shared_bytes"] = "WG * 512";
  return file;
}

TEST(KernelLanguageTest, ValuesAndNameAreThoseOfTheLanguageThatIsAskedFor) {
  const std::string text = FileInBoth().dump();

  const auto opencl = ParseKernelFile(text, KernelLanguage::kOpenCl);
  const auto cuda = ParseKernelFile(text, KernelLanguage::kCuda);

  ASSERT_TRUE(opencl.ok()) << opencl.status().ToString();
  ASSERT_TRUE(cuda.ok()) << cuda.status().ToString();
  EXPECT_EQ(opencl->solver_name(), "opencl.test-gemm");
  EXPECT_EQ(cuda->solver_name(), "cuda.test-gemm");
  EXPECT_EQ(opencl->parameters[0].values.size(), 2u);
  EXPECT_EQ(cuda->parameters[0].values.front(), ParameterValue(int64_t{128}));
  EXPECT_EQ(opencl->parameters[1].values, cuda->parameters[1].values);
}

TEST(KernelLanguageTest, FileOfVersion1IsOpenClAlone) {
  Json file = FileInBoth();
  file["attune_kernel_file"] = 1;
  file.erase("language");
  file["applies"][0] = "m <= 4";
  file["parameters"][0]["values"] = {8, 16};

  const auto opencl = ParseKernelFile(file.dump(), KernelLanguage::kOpenCl);
  const auto cuda = ParseKernelFile(file.dump(), KernelLanguage::kCuda);

  EXPECT_TRUE(opencl.ok()) << opencl.status().ToString();
  EXPECT_EQ(cuda.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(cuda.status().message(), HasSubstr("not written in cuda"));
}

TEST(KernelLanguageTest, EveryDamagedByteOfACudaFileIsReportedWithItsPlaceOrLeavesAReadableFile) {
  const std::string original = *ReadFile(ShippedFile("gemm_tensor.json"));
  Random random(22);
  int refused = 0;

  for (int i = 0; i < 1000; ++i) {
    std::string changed = original;
    changed[random.Below(changed.size())] = static_cast<char>(random.Below(256));
    const auto file = ParseKernelFile(changed, KernelLanguage::kCuda);
    if (file.ok()) continue;
    ++refused;
    EXPECT_THAT(file.status().message(), AnyOf(StartsWith("/"), StartsWith("(the whole file): "),
                                               MatchesRegex("line [0-9]+, column .*")));
  }

  EXPECT_GT(refused, 100);
}

struct Mistake {
  const char* what;
  std::function<void(Json&)> change;
  const char* place;
  const char* reason;
};

const Mistake kMistakesInBoth[] = {
    {"key of version 2", [](Json& f) { f["attune_kernel_file"] = 1; }, "/language", "version 2"},
    {"unknown language", [](Json& f) { f["language"][1] = "metal"; }, "/language/1",
     "opencl, cuda"},
    {"language twice", [](Json& f) { f["language"][1] = "opencl"; }, "/language/1", "twice"},
    {"no language", [](Json& f) { f["language"] = Json::array(); }, "/language", "0 elements"},
    {"list of a language missing",
     [](Json& f) {
       f["parameters"][0]["values"] = {{"opencl", {1}}};
     },
     "/parameters/0/values", "one list for each"},
    {"list of another language",
     [](Json& f) {
       f["parameters"][0]["values"] = {{"opencl", {1}}, {"metal", {1}}};
     },
     "/parameters/0/values", "no list for 'cuda'"},
    {"mistake in the other language's list",
     [](Json& f) { f["parameters"][0]["values"]["cuda"][1] = 128; }, "/parameters/0/values/cuda/1",
     "twice"},
    {"CUDA source for OpenCL", [](Json& f) { f["sources"][0] = "test.cu"; }, "/sources/0",
     "of a .cl file"},
    {"limit of CUDA alone", [](Json& f) { f["applies"][0] = "arch >= 80"; }, "/applies/0", "arch"},
    {"shared memory in OpenCL", [](Json& f) { f["launches"][0]["shared_bytes"] = 64; },
     "/launches/0/shared_bytes", "local_bytes"},
    {"local memory in CUDA",
     [](Json& f) {
       f["launches"][0]["arguments"][0] = {{"local_bytes", 64}};
     },
     "/launches/0/arguments/0/local_bytes", "shared_bytes"},
    {"language where it is compiled in",
     [](Json& f) {
       f["definitions"] = {{{"name", "X"}, {"value", "language == 'cuda' ? 1 : 0"}}};
     },
     "/definitions/0/value", "not known where"},
};

TEST(KernelLanguageTest, EveryMistakeIsReportedWithItsPlaceInBothLanguages) {
  for (const Mistake& mistake : kMistakesInBoth) {
    Json file = FileInBoth();
    mistake.change(file);
    const Status status = ParseKernelFile(file.dump(), KernelLanguage::kOpenCl).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << mistake.what;
    EXPECT_THAT(status.message(), StartsWith(std::string(mistake.place) + ": ")) << mistake.what;
    EXPECT_THAT(status.message(), HasSubstr(mistake.reason)) << mistake.what;
    if (std::string_view(mistake.place) == "/language/1") continue;  // No word of CUDA there.
    EXPECT_EQ(ParseKernelFile(file.dump(), KernelLanguage::kCuda).status(), status) << mistake.what;
  }
}

TEST(KernelLanguageTest, DynamicSharedMemoryIsPartOfThePlanAndOfItsText) {
  const auto file = ParseKernelFile(FileInCuda().dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.status().ToString();

  const auto plan =
      MakePlan(*file, PackedGemm(3, 4, 5), {{"WG", int64_t{128}}, {"DEPTH", int64_t{1}}});

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->launches[0].shared_bytes, 65536);
  EXPECT_EQ(*ParseKernelPlan(Text(*plan)), *plan);
}

Json FileWithClusters() {
  Json file = FileInCuda();
  file["attune_kernel_file"] = 9;
  file["parameters"][1]["run_time"] = 1;
  file["launches"][0]["cluster"] = {"DEPTH"};
  file["launches"][0]["arguments"].push_back({{"int", "DEPTH"}});
  return file;
}

TEST(KernelLanguageTest, ConfigsThatDifferInRunTimeParametersShareASource) {
  const auto file = ParseKernelFile(FileWithClusters().dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Problem problem = PackedGemm(4, 4, 5);
  const Config one = {{"WG", int64_t{128}}, {"DEPTH", int64_t{1}}};
  const Config two = {{"WG", int64_t{128}}, {"DEPTH", int64_t{2}}};
  const Config narrow = {{"WG", int64_t{32}}, {"DEPTH", int64_t{1}}};

  EXPECT_EQ(*MakeSource(*file, problem, one), *MakeSource(*file, problem, two));
  EXPECT_THAT(*MakeSource(*file, problem, one), Not(HasSubstr("#define DEPTH")));
  EXPECT_NE(*MakeSource(*file, problem, one), *MakeSource(*file, problem, narrow));
  EXPECT_NE(*MakePlan(*file, problem, one), *MakePlan(*file, problem, two));
}

TEST(KernelLanguageTest, ClustersArePartOfThePlanAndDivideTheGroups) {
  const auto file = ParseKernelFile(FileWithClusters().dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const auto plan_for = [&](int64_t rows, int64_t depth) {
    return MakePlan(*file, PackedGemm(rows, 4, 5), {{"WG", int64_t{128}}, {"DEPTH", depth}});
  };

  EXPECT_THAT(plan_for(4, 1)->launches[0].cluster, IsEmpty());
  EXPECT_THAT(plan_for(4, 2)->launches[0].cluster, ElementsAre(2));
  EXPECT_EQ(*ParseKernelPlan(Text(*plan_for(4, 2))), *plan_for(4, 2));
  EXPECT_EQ(plan_for(3, 2).status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(plan_for(3, 2).status().message(),
              HasSubstr("3 work-groups are not a multiple of 'DEPTH', which is 2"));
  EXPECT_THAT(plan_for(34, 17).status().message(), HasSubstr("1 to 16 are possible"));
}

TEST(KernelLanguageTest, ClustersHaveTheDimensionsOfTheGroupsAndAreNotCooperative) {
  Json flat = FileWithClusters();
  flat["launches"][0]["cluster"] = {"DEPTH", 1};
  Json waiting = FileWithClusters();
  waiting["launches"][0]["cooperative"] = 1;

  EXPECT_THAT(ParseKernelFile(flat.dump(), KernelLanguage::kCuda).status().message(),
              HasSubstr("/launches/0/cluster: has 2 dimensions but 'groups' has 1."));
  EXPECT_THAT(ParseKernelFile(waiting.dump(), KernelLanguage::kCuda).status().message(),
              HasSubstr("/launches/0/cluster: does not go with 'cooperative'"));
}

TEST(KernelLanguageTest, LimitsOfADeviceAreNumbersOfItsLanguage) {
  const Target gpu = {"cuda",
                      "NVIDIA",
                      "sm_90",
                      132,
                      {{"max_work_group_size", "1024"}, {"local_memory_bytes", "232448"}}};

  const auto cuda = DeviceLimitsOf(gpu, KernelLanguage::kCuda);
  const auto opencl = DeviceLimitsOf(gpu, KernelLanguage::kOpenCl);

  ASSERT_TRUE(cuda.ok() && opencl.ok());
  EXPECT_EQ(attune::Text(*cuda),
            "arch=90,compute_units=132,dynamic_shared_bytes=232448,language=cuda,"
            "local_memory_bytes=49152,max_work_group_size=1024");
  EXPECT_EQ(attune::Text(*opencl),
            "compute_units=132,language=opencl,local_memory_bytes=232448,max_work_group_size=1024");
  EXPECT_THAT(
      LimitNamesOf(kKernelLanguages),
      ElementsAre("language", "compute_units", "max_work_group_size", "local_memory_bytes"));
}

TEST(KernelLanguageTest, AGpuOfAmdHasNoArchitectureOfNvidias) {
  const Target gpu = {"hip",
                      "AMD",
                      "gfx90a",
                      104,
                      {{"max_work_group_size", "1024"}, {"local_memory_bytes", "65536"}}};

  const auto limits = DeviceLimitsOf(gpu, KernelLanguage::kCuda);

  ASSERT_TRUE(limits.ok()) << limits.status().ToString();
  EXPECT_EQ(attune::Text(*limits),
            "arch=0,compute_units=104,dynamic_shared_bytes=65536,language=cuda,"
            "local_memory_bytes=49152,max_work_group_size=1024");
}

TEST(KernelLanguageTest, ATargetThatDoesNotSayItsArchitectureIsUnsupported) {
  const Target gpu = {
      "cuda", "NVIDIA", "", 1, {{"max_work_group_size", "1"}, {"local_memory_bytes", "1"}}};

  const Status status = DeviceLimitsOf(gpu, KernelLanguage::kCuda).status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("arch"));
}

class KernelLanguageFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    Json both = FileInBoth();
    Json cuda = FileInCuda();
    cuda["name"] = "only-cuda";
    ASSERT_TRUE(WriteFileAtomically(folder_ / "both.json", both.dump()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder_ / "cuda.json", cuda.dump()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder_ / "test.cl", "// Nothing.").ok());
    ASSERT_TRUE(WriteFileAtomically(folder_ / "test.cu", "// Nothing.").ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "attune_kernel_language_test";
};

TEST_F(KernelLanguageFolderTest, ABackendSeesTheFilesOfItsLanguageAndNoComplaintAboutOthers) {
  const KernelLibrary opencl = LoadKernelLibrary({folder_}, KernelLanguage::kOpenCl);
  const KernelLibrary cuda = LoadKernelLibrary({folder_}, KernelLanguage::kCuda);

  ASSERT_EQ(opencl.files.size(), 1u);
  EXPECT_EQ(opencl.reports.size(), 1u);
  ASSERT_EQ(cuda.files.size(), 2u);
  EXPECT_EQ(cuda.reports.size(), 2u);
}

TEST_F(KernelLanguageFolderTest, OpenClSourcesBeginWithThePreludeOnCudaAndOnlyThere) {
  const KernelLibrary opencl = LoadKernelLibrary({folder_}, KernelLanguage::kOpenCl);
  const KernelLibrary cuda = LoadKernelLibrary({folder_}, KernelLanguage::kCuda);
  const Config config = {{"WG", int64_t{128}}, {"DEPTH", int64_t{1}}};
  const auto source = [&](const KernelFile& file) {
    return *MakeSource(file, PackedGemm(1, 1, 1), config);
  };

  // Before the macros of the file, so that none of them changes it.
  EXPECT_THAT(source(cuda.files[0]), StartsWith(std::string(OpenClOnCuda()) + "#define M m\n"));
  EXPECT_THAT(source(cuda.files[1]), StartsWith("#define M m\n"));
  EXPECT_THAT(source(opencl.files[0]), StartsWith("#define M m\n"));
  EXPECT_NE(opencl.files[0].content, cuda.files[0].content);
}

}  // namespace
}  // namespace attune::kernel
