// The backend on a real device: buffers, time, and that nothing is compiled twice.
#include "backends/opencl/opencl_backend.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/compile/builder.h"
#include "attune/compile/kernel_cache.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/shipped_files_test.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/opencl/opencl_device.h"
#include "backends/opencl/program_builder.h"

namespace attune::opencl {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

// Names the part that this program plays when a test starts it again, and the folder they share.
constexpr const char* kRoleVariable = "ATTUNE_OPENCL_TEST_ROLE";
constexpr const char* kFolderVariable = "ATTUNE_OPENCL_TEST_FOLDER";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class OpenClBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = OpenClBackend(kernel::KernelFolders());
    if (backend_->Devices().empty()) GTEST_SKIP() << backend_->Libraries()[0].missing;
    auto device = backend_->Open("opencl:0");
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = *std::move(device);
  }

  const Solver& SolverCalled(const std::string& name) const {
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == name) return *solver;
    }
    ADD_FAILURE() << "There is no solver " << name;
    return *backend_->solvers()[0];
  }

  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
};

TEST_F(OpenClBackendTest, UnknownDeviceIsAnErrorThatListsTheKnownOnes) {
  const auto device = backend_->Open("opencl:99");

  EXPECT_EQ(device.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(device.status().message(), HasSubstr("opencl:0"));
}

TEST_F(OpenClBackendTest, TargetNamesTheDeviceAndItsLimits) {
  const Target target = device_->target();

  EXPECT_EQ(target.backend, "opencl");
  EXPECT_FALSE(target.device.empty());
  EXPECT_FALSE(target.arch.empty());
  EXPECT_GT(target.compute_units, 0);
  EXPECT_EQ(*ParseTarget(Text(target)), target);
  EXPECT_TRUE(backend_->DescribeEnvironment().contains("driver.opencl0"));
  EXPECT_GT(backend_->Devices().front().cache_bytes, 0u);
}

TEST_F(OpenClBackendTest, KernelThatDoesNotFitIntoTheDeviceIsRefusedWhenItIsLoaded) {
  const Solver& solver = SolverCalled("opencl.gemm-tiled");
  const Problem problem = *ParseProblem("gemm@1{m=64,n=64,k=64}");
  // A compiler may remove the local memory that stages data for a single work-item.
  const Config config{{"WG_U", int64_t{4}},  {"WG_V", int64_t{4}}, {"REG_U", int64_t{1}},
                      {"REG_V", int64_t{4}}, {"VEC", int64_t{4}},  {"TILE_K", int64_t{32}}};
  MemoryKernelCache cache;
  const BuildOutcome built = Builder(cache).Build({&solver, problem, config}, device_->target());
  ASSERT_EQ(built.failure(), nullptr);
  const auto refusal_at = [&](const char* limit, const char* value) {
    DeviceEntry entry = dynamic_cast<OpenClDevice&>(*device_).entry();
    entry.target.properties[limit] = value;
    const auto small = OpenClDevice::Open(entry);
    return solver.Load(*built.artifact(), problem, config, **small).status();
  };

  const Status too_little_memory = refusal_at("local_memory_bytes", "64");
  const Status too_few_items = refusal_at("max_work_group_size", "0");

  EXPECT_TRUE(solver.Load(*built.artifact(), problem, config, *device_).ok());
  EXPECT_EQ(too_little_memory.code(), StatusCode::kUnsupported);
  EXPECT_THAT(too_little_memory.message(), HasSubstr("bytes of local memory, and opencl:0 has 64"));
  EXPECT_EQ(too_few_items.code(), StatusCode::kUnsupported);
  EXPECT_THAT(too_few_items.message(), HasSubstr("work-items, and opencl:0 has at most 0"));
}

TEST_F(OpenClBackendTest, EveryKernelFileAndThePoliciesOfAProcessorAreInTheEnvironment) {
  const Environment environment = backend_->DescribeEnvironment();

  for (const auto& solver : backend_->solvers()) {
    const std::string name = solver->id().name.substr(std::string("opencl.").size());
    if (name.starts_with("clblast")) continue;
    EXPECT_TRUE(environment.contains("library." + name)) << name;
  }
  // The device of these tests is PoCL's, which is this processor.
  for (const char* field : {"policy.frequency", "policy.omp_wait", "host.kernel", "host.name"}) {
    EXPECT_TRUE(environment.contains(field)) << field;
  }
}

TEST_F(OpenClBackendTest, TheVersionAndTheBuildOfClblastAreInTheEnvironment) {
  const auto reports = backend_->Libraries();
  const auto clblast = std::find_if(reports.begin(), reports.end(),
                                    [](const auto& report) { return report.name == "clblast"; });
  if (clblast == reports.end() || !clblast->available) GTEST_SKIP() << "There is no CLBlast here.";

  const Environment environment = backend_->DescribeEnvironment();

  EXPECT_FALSE(clblast->build_id.empty());
  EXPECT_THAT(environment, Contains(Pair("library.clblast", clblast->version)));
  EXPECT_THAT(environment, Contains(Pair("library.clblast.build_id", clblast->build_id)));
}

TEST_F(OpenClBackendTest, BytesComeBackFromAnyOffset) {
  const auto buffer = *device_->Allocate(1000);
  const std::vector<std::byte> sent(100, std::byte{0x5A});
  std::vector<std::byte> received(100);

  ASSERT_TRUE(device_->Upload(sent, buffer->View(333)).ok());
  ASSERT_TRUE(device_->Download(buffer->View(333), received).ok());

  EXPECT_EQ(received, sent);
}

TEST_F(OpenClBackendTest, TransferBeyondTheBufferIsAnError) {
  const auto buffer = *device_->Allocate(100);
  const std::vector<std::byte> sent(200);

  EXPECT_FALSE(device_->Upload(sent, buffer->View(0)).ok());
}

TEST_F(OpenClBackendTest, WorkersAreAsleepAfterALaunch) {
  const auto buffer = *device_->Allocate(1 << 20);
  const std::vector<std::byte> sent(1 << 20);
  ASSERT_TRUE(device_->Upload(sent, buffer->View(0)).ok());

  EXPECT_TRUE(device_->AwaitQuiescence(5'000'000'000).ok());
}

// Counts launches instead of computing.
class CountingExecutable final : public Executable {
 public:
  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments&) override {
    ++runs;
    return Status::Ok();
  }
  int runs = 0;
};

TEST_F(OpenClBackendTest, TimingLaunchesAsOftenAsAsked) {
  CountingExecutable executable;

  const auto warm_ns = device_->TimeNs(executable, {}, {.launches = 7, .cache = CacheState::kWarm});
  const auto cold_ns = device_->TimeNs(executable, {}, {.launches = 2, .cache = CacheState::kCold});

  EXPECT_EQ(executable.runs, 9);
  EXPECT_GT(*warm_ns, 0);
  // Displacing megabytes of cache takes longer than an empty launch, and is not part of its time.
  EXPECT_LT(*cold_ns, 1e6);
}

TEST_F(OpenClBackendTest, SourceThatDoesNotCompileIsAFailureWithTheLog) {
  const Solver& solver = SolverCalled("opencl.gemm-tiled");
  const auto space = *solver.Space(PackedGemm(8, 8, 8), device_->target());
  BuildRecipe recipe = *solver.Recipe(PackedGemm(8, 8, 8), space.At(0), device_->target());
  recipe.source += "\n__kernel void broken() { no_such_function(); }\n";

  const auto artifact = solver.Build(recipe);

  EXPECT_EQ(artifact.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(artifact.status().message(), HasSubstr("no_such_function"));
}

TEST_F(OpenClBackendTest, OtherCompilersRecipeIsRefusedAndDamagedBinaryToo) {
  const Solver& solver = SolverCalled("opencl.gemm-tiled");
  const auto space = *solver.Space(PackedGemm(8, 8, 8), device_->target());
  BuildRecipe recipe = *solver.Recipe(PackedGemm(8, 8, 8), space.At(0), device_->target());
  recipe.compiler += " of tomorrow";

  EXPECT_EQ(solver.Build(recipe).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(
      solver.Load(Artifact{"not a binary"}, PackedGemm(8, 8, 8), space.At(0), *device_).ok());
}

TEST_F(OpenClBackendTest, ADraftIsTheSourceUntilSomethingBetterIsThere) {
  const Solver& solver = SolverCalled("opencl.gemm-tiled");
  const Problem problem = PackedGemm(8, 8, 8);
  const Config config = solver.Space(problem, device_->target())->At(0);
  MemoryKernelCache cache;
  Builder builder(cache);

  const BuildOutcome draft = builder.Build({&solver, problem, config, true}, device_->target());
  const BuildOutcome code = builder.Build({&solver, problem, config}, device_->target());
  const BuildOutcome again = builder.Build({&solver, problem, config, true}, device_->target());

  ASSERT_NE(draft.artifact(), nullptr) << draft.failure()->message;
  ASSERT_NE(code.artifact(), nullptr) << code.failure()->message;
  ASSERT_NE(again.artifact(), nullptr);
  if (device_->target().device.find("pthread") == std::string::npos) {
    EXPECT_EQ(draft.artifact()->bytes, code.artifact()->bytes);  // Only PoCL has drafts.
    return;
  }
  EXPECT_THAT(draft.artifact()->bytes, HasSubstr("__kernel"));
  EXPECT_NE(code.artifact()->bytes, draft.artifact()->bytes);
  EXPECT_FALSE(code.from_cache);
  EXPECT_EQ(again.artifact()->bytes, code.artifact()->bytes);
  EXPECT_TRUE(solver.Load(*draft.artifact(), problem, config, *device_).ok());
  EXPECT_TRUE(solver.Load(*code.artifact(), problem, config, *device_).ok());
}

TEST_F(OpenClBackendTest, ADraftThatDoesNotCompileIsAFailureWithTheLog) {
  const Solver& solver = SolverCalled("opencl.gemm-tiled");
  const Config config = solver.Space(PackedGemm(8, 8, 8), device_->target())->At(0);
  BuildRecipe recipe = *solver.Recipe(PackedGemm(8, 8, 8), config, device_->target());
  recipe.source += "\n__kernel void broken() { no_such_function(); }\n";

  const auto artifact = solver.Build(DraftOf(recipe));

  EXPECT_EQ(artifact.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(artifact.status().message(), HasSubstr("no_such_function"));
}

// Problems of an operator that differ only in size from those for another `size`.
std::vector<Problem> ProblemsOfSize(std::string_view operator_name, int64_t size) {
  if (operator_name == "gemm") return {PackedGemm(size, 2 * size, size + 5)};
  std::vector<Problem> problems;
  if (operator_name == "conv") {
    Conv conv;
    conv.batch = 1 + size % 7;
    conv.in_channels = conv.out_channels = 8;
    conv.in = {1, size + 4, 2 * size + 3};
    conv.filter = {1, 3, 3};
    conv.pad = {0, 1, 1};
    for (ConvDirection direction :
         {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
      conv.direction = direction;
      problems.emplace_back(conv);
    }
    return problems;
  }
  const std::vector<std::string> texts =
      operator_name == "softmax"
          ? std::vector{fmt::format("softmax@2{{outer={},length={}}}", size, 3 * size),
                        fmt::format("softmax@2{{outer={},length=7,inner={}}}", size, size + 1)}
          : std::vector{fmt::format("batch_norm@1{{n={},c=9,h={}}}", size, size + 1),
                        fmt::format("batch_norm@1{{n=3,c={},h={},layout=nhwc}}", size, size)};
  for (const std::string& text : texts) problems.push_back(*ParseProblem(text));
  return problems;
}

TEST_F(OpenClBackendTest, DynamicKernelsHaveOneRecipeForAllSizes) {
  for (const auto& solver : backend_->solvers()) {
    if (!solver->traits().dynamic || !solver->traits().compiles) continue;
    std::set<Fingerprint> recipes;
    for (int64_t size = 1; size <= 100; ++size) {
      for (const Problem& problem : ProblemsOfSize(solver->traits().operator_name, size)) {
        if (!solver->IsApplicable(problem, device_->target()).ok()) continue;
        const auto space = *solver->Space(problem, device_->target());
        const auto recipe = solver->Recipe(problem, space.At(0), device_->target());
        ASSERT_TRUE(recipe.ok()) << recipe.status().ToString();
        recipes.insert(KernelCacheKey(*recipe));
      }
    }
    EXPECT_EQ(recipes.size(), 1u) << solver->id().name;
  }
}

TEST_F(OpenClBackendTest, StaticKernelHasARecipeForEachSize) {
  const Solver& solver = SolverCalled("opencl.conv-implicit-gemm-static");
  Conv conv;
  conv.in = {1, 5, 5};
  const auto space = *solver.Space(conv, device_->target());
  const auto first = *solver.Recipe(conv, space.At(0), device_->target());
  conv.batch = 2;

  EXPECT_FALSE(solver.traits().dynamic);
  EXPECT_NE(*solver.Recipe(conv, space.At(0), device_->target()), first);
}

// A user's kernel that is whole and binds the wrong operand.
TEST_F(OpenClBackendTest, WrongBindingIsCaughtByItsResult) {
  const fs::path folder = fs::path(::testing::TempDir()) / "attune_wrong_binding_test";
  fs::create_directories(folder);
  std::string json = *ReadFile(kernel::ShippedFile("gemm_tiled.json"));
  const std::string right = "{\"operand\": \"b\"}, {\"offset_of\": \"b\"}";
  ASSERT_NE(json.find(right), std::string::npos);
  json.replace(json.find(right), right.size(), "{\"operand\": \"a\"}, {\"offset_of\": \"a\"}");
  ASSERT_TRUE(WriteFileAtomically(folder / "gemm_tiled.json", json).ok());
  for (const char* source : {"gemm_operands.cl", "tiled_product.cl"}) {
    fs::copy_file(kernel::ShippedFile(source), folder / source,
                  fs::copy_options::overwrite_existing);
  }
  const auto wrong_backend = OpenClBackend({folder});
  fs::remove_all(folder);
  const Solver* wrong = FindSolver(wrong_backend->solvers(), {"opencl.gemm-tiled", 1});
  ASSERT_NE(wrong, nullptr);
  const Gemm gemm = PackedGemm(8, 8, 8);
  const auto run = [&](const Solver& solver) {
    MemoryKernelCache cache;
    const Config config = solver.Space(gemm, device_->target())->At(0);
    const BuildOutcome built = Builder(cache).Build({&solver, gemm, config}, device_->target());
    EXPECT_NE(built.artifact(), nullptr);
    auto executable = *solver.Load(*built.artifact(), gemm, config, *device_);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<BufferView> views;
    for (int operand = 0; operand < 3; ++operand) {
      const std::vector<float> values(64, static_cast<float>(operand + 2));
      buffers.push_back(*device_->Allocate(256));
      views.push_back(buffers.back()->View(0));
      EXPECT_TRUE(device_->Upload(std::as_bytes(std::span(values)), views.back()).ok());
    }
    EXPECT_TRUE(executable->Run({.operands = views, .workspace = {}}).ok());
    std::vector<float> result(64);
    EXPECT_TRUE(device_->Download(views[2], std::as_writable_bytes(std::span(result))).ok());
    return result[0];
  };

  EXPECT_EQ(run(SolverCalled("opencl.gemm-tiled")), 8 * 2 * 3);
  EXPECT_EQ(run(*wrong), 8 * 2 * 2);
}

// ------------------------------------------------------------------------------------------------------------------
// Two processes with nothing in common but attune's kernel cache. PoCL's own cache is in a new
// folder for each, and PoCL's translations become files there.

Conv LayerWith(int64_t batch, int64_t height, int64_t width) {
  Conv conv;
  conv.batch = batch;
  conv.in_channels = 4;
  conv.out_channels = 6;
  conv.in = {1, height, width};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  return conv;
}

std::set<std::string> SharedObjectsIn(const fs::path& folder) {
  std::set<std::string> objects;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".so") objects.insert(entry.path().string());
  }
  return objects;
}

constexpr int kFirstSizes = 2;  // In the first process.
constexpr int kSizes = 100;     // In the second one, all different.

struct LayerSolver {
  const char* name;
  ConvDirection direction;
};
constexpr LayerSolver kLayerSolvers[] = {
    {"opencl.conv-implicit-gemm", ConvDirection::kForward},
    {"opencl.conv-im2col-gemm", ConvDirection::kForward},
    {"opencl.conv-direct", ConvDirection::kForward},
    {"opencl.conv-implicit-gemm-backward-data", ConvDirection::kBackwardData},
    {"opencl.conv-im2col-gemm-backward-data", ConvDirection::kBackwardData},
    {"opencl.conv-implicit-gemm-backward-weights", ConvDirection::kBackwardWeights},
    {"opencl.conv-im2col-gemm-backward-weights", ConvDirection::kBackwardWeights},
};

void RunOnce(const Conv& conv, Executable& executable, Device& device) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<BufferView> views;
  for (const Operand& operand : Operands(conv)) {
    buffers.push_back(*device.Allocate(SpanBytes(operand.tensor)));
    views.push_back(buffers.back()->View(0));
  }
  const auto workspace = *device.Allocate(executable.workspace_bytes());
  EXPECT_TRUE(executable.Run({.operands = views, .workspace = workspace->View(0)}).ok());
  EXPECT_TRUE(device.Synchronize().ok());
}

// The work of both processes: one layer by every dynamic solver at the sizes from `first` on, no
// two sizes the same. Returns the number of calls of a compiler.
int RunLayer(const Backend& backend, Device& device, KernelCache& cache, int first, int count) {
  Builder builder(cache);
  int compiled = 0;
  for (const auto& [name, direction] : kLayerSolvers) {
    const Solver* solver = FindSolver(backend.solvers(), {name, 1});
    EXPECT_TRUE(solver->traits().dynamic) << name;
    std::set<Fingerprint> keys;
    for (int i = first; i < first + count; ++i) {
      Conv conv = LayerWith(1 + i % 4, 5 + i % 17, 3 + i);
      conv.direction = direction;
      const Config config = solver->Space(conv, device.target())->At(0);
      keys.insert(KernelCacheKey(*solver->Recipe(conv, config, device.target())));
      const BuildOutcome built = builder.Build({solver, conv, config}, device.target());
      EXPECT_NE(built.artifact(), nullptr);
      compiled += built.from_cache ? 0 : 1;
      RunOnce(conv, **solver->Load(*built.artifact(), conv, config, device), device);
    }
    EXPECT_EQ(keys.size(), 1u) << name;
  }
  return compiled;
}

TEST_F(OpenClBackendTest, RoleOfTheFirstProcess) {
  if (FromEnvironment(kRoleVariable) != "first")
    GTEST_SKIP() << "Started by SecondProcessCompilesNothing.";
  auto cache = *FolderKernelCache::Open(FromEnvironment(kFolderVariable));

  EXPECT_EQ(RunLayer(*backend_, *device_, *cache, 0, kFirstSizes),
            static_cast<int>(std::size(kLayerSolvers)));
}

TEST_F(OpenClBackendTest, RoleOfTheSecondProcess) {
  if (FromEnvironment(kRoleVariable) != "second")
    GTEST_SKIP() << "Started by SecondProcessCompilesNothing.";
  auto cache = *FolderKernelCache::Open(FromEnvironment(kFolderVariable));

  EXPECT_EQ(RunLayer(*backend_, *device_, *cache, kFirstSizes, kSizes), 0);
  EXPECT_EQ(cache->counters().misses, 0);
  EXPECT_EQ(cache->counters().hits, kSizes * std::size(kLayerSolvers));
}

// Starts this program again, with one test and a PoCL cache of its own. Returns its exit code.
int StartAs(const std::string& role, const fs::path& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Nothing but exec is safe here: PoCL's threads did not come along.
    const std::string test = role == "first" ? "First" : "Second";
    ::setenv(kRoleVariable, role.c_str(), 1);
    ::setenv(kFolderVariable, (folder / "kernels").c_str(), 1);
    ::setenv("POCL_CACHE_DIR", (folder / ("pocl_" + role)).c_str(), 1);
    // The speed of the compiled code does not matter here, the time of the compilation does.
    ::setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);
    const std::string filter = "--gtest_filter=*RoleOfThe" + test + "Process";
    ::execl("/proc/self/exe", "test", filter.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(OpenClBackendTest, SecondProcessCompilesNothingForAHundredOtherSizesInAnyDirection) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / fmt::format("attune_opencl_{}", ::getpid());
  fs::create_directories(folder / "pocl_first");
  fs::create_directories(folder / "pocl_second");

  ASSERT_EQ(StartAs("first", folder), 0);
  ASSERT_EQ(StartAs("second", folder), 0);

  // Relative to their folders, the second process has only files unpacked from its binaries: the
  // same as the first one's.
  const auto relative = [&](const char* sub) {
    std::set<std::string> names;
    for (const std::string& object : SharedObjectsIn(folder / sub)) {
      names.insert(fs::path(object).lexically_relative(folder / sub).string());
    }
    return names;
  };
  EXPECT_EQ(relative("pocl_second"), relative("pocl_first"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attune::opencl
