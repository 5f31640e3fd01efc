// Tests that need a GPU: label `gpu`.
#include "backends/cuda/driver/cuda_device_test.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/steady_time.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/rotating_operands.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/driver/peaks.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/gemm/cublaslt_listing.h"

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::Optional;
using testing::Pair;

// Keeps the device busy for about `clocks` of its cycles; refuses capture if told to.
class Spin final : public Executable {
 public:
  Spin(CudaDevice& device, Module& module, long long clocks, bool capturable = true)
      : device_(device),
        module_(module),
        function_(*module.Function("spin", 0)),
        clocks_(clocks),
        capturable_(capturable) {}

  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments& arguments) override {
    ++runs_;
    void* pointers[] = {&clocks_};
    ATTUNE_RETURN_IF_ERROR(module_.Launch(function_, {}, pointers, device_.StreamOf(arguments)));
    // Captures allow no synchronisation.
    return capturable_ ? Status::Ok() : device_.Synchronize();
  }

  int runs() const { return runs_; }

 private:
  CudaDevice& device_;
  const Module& module_;
  const CUfunction function_;
  long long clocks_;
  const bool capturable_;
  int runs_ = 0;
};

constexpr const char* kSpin = R"(
extern "C" __global__ void spin(long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {}
}
)";

TEST_F(CudaDeviceTest, WhatIsUploadedComesBack) {
  std::vector<std::byte> content(100'003);
  Random random(1);
  for (std::byte& byte : content) byte = static_cast<std::byte>(random.Below(256));
  auto buffer = device_->Allocate(content.size());
  ASSERT_TRUE(buffer.ok());

  ASSERT_TRUE(device_->Upload(content, (*buffer)->View(0)).ok());
  std::vector<std::byte> back(content.size() - 17);
  ASSERT_TRUE(device_->Download((*buffer)->View(17), back).ok());

  EXPECT_EQ(std::memcmp(back.data(), content.data() + 17, back.size()), 0);
}

TEST_F(CudaDeviceTest, MoreMemoryThanThereIsIsRefusedWithTheNumber) {
  const Status status = device_->Allocate(size_t{1} << 45).status();

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("35184372088832"));
}

TEST_F(CudaDeviceTest, TimeIsThatOfOneLaunchWarmAndCold) {
  const auto module = Compile(kSpin);
  constexpr long long kClocks = 200'000;  // 100 us and more at any clock that a GPU has.
  Spin spin(*device_, *module, kClocks);

  for (const CacheState cache : {CacheState::kWarm, CacheState::kCold}) {
    const auto one = device_->TimeNs(spin, {}, {.launches = 1, .cache = cache});
    const auto ten = device_->TimeNs(spin, {}, {.launches = 10, .cache = cache});

    ASSERT_TRUE(one.ok() && ten.ok());
    EXPECT_THAT(*one, Gt(50e3));
    EXPECT_THAT(*one, Lt(1e6));
    // The overhead of graph replay per launch is small against 100 us.
    EXPECT_THAT(*ten, Gt(0.8 * *one));
    EXPECT_THAT(*ten, Lt(1.2 * *one));
  }
}

// Reads one value after the other, each at an address that depends on the value before, so that its
// time is the latency of their memory: a word in every 512 bytes, which no other fetch brings.
class Walk final : public Executable {
 public:
  Walk(CudaDevice& device, Module& module, int steps)
      : device_(device), module_(module), function_(*module.Function("walk", 0)), steps_(steps) {}

  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments& arguments) override {
    void* from = arguments.operands[0].handle;
    void* to = arguments.operands[2].handle;
    void* pointers[] = {&from, &to, &steps_};
    return module_.Launch(function_, {}, pointers, device_.StreamOf(arguments));
  }

 private:
  CudaDevice& device_;
  const Module& module_;
  const CUfunction function_;
  int steps_;
};

constexpr const char* kWalk = R"(
extern "C" __global__ void walk(const unsigned* from, unsigned* to, int steps) {
  unsigned place = 0;
  for (int i = 0; i < steps; ++i) place += from[place] == 0x7f817f81u ? 127 : 128;
  if (place == 1) *to = place;
}
)";

TEST_F(CudaDeviceTest, ColdSamplesAndThoseThatRotateReadWhatNoCacheHas) {
  // Its A is a megabyte.
  const Problem problem = *ParseProblem("gemm@1{m=1024,n=1,k=512,type=bf16}");
  constexpr int kSteps = 2000;
  const auto module = Compile(kWalk);
  Walk walk(*device_, *module, kSteps);
  const auto data = ProblemData::Create(problem, 1);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  auto bound = BoundOperands::Create(*device_, problem, *data);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  // Reads one line in four of each copy, so that twice the L2 is read before a copy comes again.
  const auto budget_bytes = static_cast<int64_t>(8 * device_->entry().l2_bytes);
  auto copies = RotatingOperands::Create(*device_, problem, *bound, budget_bytes, size_t{1} << 34);
  ASSERT_TRUE(copies.ok()) << copies.status().ToString();
  RotatingExecutable rotating(walk, *copies);
  const auto launches = static_cast<int>(2 * copies->copies());

  const auto warm = device_->TimeNs(walk, bound->arguments(), {.launches = 20});
  const auto cold =
      device_->TimeNs(walk, bound->arguments(), {.launches = 20, .cache = CacheState::kCold});
  const auto rotated = device_->TimeNs(rotating, bound->arguments(), {.launches = launches});

  ASSERT_TRUE(warm.ok() && cold.ok() && rotated.ok());
  EXPECT_THAT(*cold, Gt(1.3 * *warm));
  EXPECT_THAT(*rotated, Gt(1.3 * *warm));
}

TEST_F(CudaDeviceTest, ABlockThatIsReadyTakesAsLongAsOneThatIsMadeAnew) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000);
  for (const CacheState cache : {CacheState::kWarm, CacheState::kCold}) {
    const TimingRequest ten = {.launches = 10, .cache = cache};
    const auto anew = device_->TimeNs(spin, {}, ten);
    const int before = spin.runs();
    const auto block = device_->MakeBlock(spin, {}, ten);
    ASSERT_TRUE(block.ok() && *block != nullptr) << block.status().ToString();

    for (int i = 0; i < 5; ++i) {
      const auto time_ns = (*block)->TimeNs();

      ASSERT_TRUE(anew.ok() && time_ns.ok());
      EXPECT_THAT(*time_ns, Gt(0.8 * *anew));
      EXPECT_THAT(*time_ns, Lt(1.2 * *anew));
    }
    // Recorded once, replayed ever since.
    EXPECT_EQ(spin.runs(), before + 10);
  }
}

TEST_F(CudaDeviceTest, WhatCannotBeCapturedIsNeverReady) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000, false);

  const auto block = device_->MakeBlock(spin, {}, {.launches = 3});

  ASSERT_TRUE(block.ok()) << block.status().ToString();
  EXPECT_EQ(*block, nullptr);
  // The stream is as it was.
  EXPECT_TRUE(device_->TimeNs(spin, {}, {.launches = 3}).ok());
}

// Host time per block beyond device time: recorded by RecordProperty for docs/performance.md.
TEST_F(CudaDeviceTest, AReadyBlockOfShortLaunchesCostsTheHostLittle) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 2'000);
  const TimingRequest many = {.launches = 700};
  constexpr int kBlocks = 20;
  ASSERT_TRUE(device_->TimeNs(spin, {}, many).ok());

  int64_t begin_ns = SteadyNowNs();
  double anew_ns = 0;
  for (int i = 0; i < kBlocks; ++i) anew_ns += 700 * *device_->TimeNs(spin, {}, many);
  const double anew_share = anew_ns / static_cast<double>(SteadyNowNs() - begin_ns);
  const auto block = device_->MakeBlock(spin, {}, many);
  ASSERT_TRUE(block.ok() && *block != nullptr);
  begin_ns = SteadyNowNs();
  double ready_ns = 0;
  for (int i = 0; i < kBlocks; ++i) ready_ns += 700 * *(*block)->TimeNs();
  const double ready_share = ready_ns / static_cast<double>(SteadyNowNs() - begin_ns);

  EXPECT_GT(ready_share, anew_share);
  EXPECT_LE(ready_share, 1.01);
  RecordProperty("device_share_anew", std::to_string(anew_share));
  RecordProperty("device_share_ready", std::to_string(ready_share));
}

TEST_F(CudaDeviceTest, WhatCannotBeCapturedIsTimedDirectly) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000, false);

  const auto time_ns = device_->TimeNs(spin, {}, {.launches = 3});

  ASSERT_TRUE(time_ns.ok()) << time_ns.status().ToString();
  EXPECT_THAT(*time_ns, Gt(50e3));
  // One launch ended the attempt to capture.
  EXPECT_EQ(spin.runs(), 4);
}

TEST_F(CudaDeviceTest, WhatCannotBeCapturedSaysWhyAndTheStreamIsAsItWas) {
  const auto module = Compile(kSpin);
  Spin refused(*device_, *module, 200'000, false);
  Spin captured(*device_, *module, 200'000);

  const Status why = device_->TryCapture(refused, {});

  EXPECT_THAT(why.message(), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
  EXPECT_EQ(device_->TryCapture(captured, {}), Status::Ok());
  EXPECT_EQ(refused.runs(), 1);
  EXPECT_EQ(captured.runs(), 1);
  EXPECT_EQ(device_->Synchronize(), Status::Ok());
}

TEST_F(CudaDeviceTest, ADryRunTellsWhatWouldBeLaunchedAndLaunchesNothing) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000);
  Spin refused(*device_, *module, 200'000, false);

  const auto launches = device_->DryRun(spin, {});

  ASSERT_TRUE(launches.ok()) << launches.status().ToString();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ((*launches)[0].name, "spin");
  EXPECT_EQ((*launches)[0].blocks, 1);
  EXPECT_GE((*launches)[0].threads, 1);
  EXPECT_GE((*launches)[0].blocks_per_multiprocessor, 1);
  EXPECT_GT((*launches)[0].registers, 0);
  EXPECT_GT(device_->multiprocessors(), 0);
  EXPECT_FALSE(device_->DryRun(refused, {}).ok());
  EXPECT_EQ(device_->Synchronize(), Status::Ok());
}

TEST_F(CudaDeviceTest, CountersOfEachKernelAreReadOrRefusedWithAReason) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000);
  ASSERT_TRUE(device_->DryRun(spin, {}).ok());

  const auto counted =
      device_->Count(spin, {}, {"gpu__time_duration.sum", "dram__sectors_read.sum"});

  if (!counted.ok()) GTEST_SKIP() << counted.status().message();
  ASSERT_EQ(counted->size(), 1u);
  ASSERT_EQ((*counted)[0].size(), 2u);
  EXPECT_THAT((*counted)[0][0], Gt(50e3));
  EXPECT_GE((*counted)[0][1], 0);
  EXPECT_EQ(device_->Count(spin, {}, {"of__nobody.sum"}).status().code(), StatusCode::kNotFound);
}

// True if `over` is set within the time that a driver may need to notice.
bool IsSoon(const std::atomic<bool>& over) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!over && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return over;
}

TEST_F(CudaDeviceTest, AGraphIsOverWhenNothingCanExecuteItAnyMore) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000);
  const auto over = std::make_shared<std::atomic<bool>>(false);
  CUstream stream = device_->stream();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;

  ASSERT_EQ(driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(device_->TellWhenOver(stream, over), Status::Ok());
  ASSERT_EQ(spin.Run({}), Status::Ok());
  ASSERT_EQ(driver_.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  ASSERT_EQ(device_->Synchronize(), Status::Ok());
  const bool was_over_before = *over;
  ASSERT_EQ(driver_.cuGraphExecDestroy(executable), CUDA_SUCCESS);

  EXPECT_FALSE(was_over_before);
  EXPECT_TRUE(IsSoon(*over));
}

TEST_F(CudaDeviceTest, AStreamThatIsNotCapturedHasNoGraphThatCouldEnd) {
  const auto over = std::make_shared<std::atomic<bool>>(false);

  EXPECT_EQ(device_->TellWhenOver(device_->stream(), over).code(), StatusCode::kFailedPrecondition);
}

TEST_F(CudaDeviceTest, TheSameCodeIsLoadedOnceWhileSomebodyHasIt) {
  const std::shared_ptr<Module> first = Compile(kSpin);
  const std::shared_ptr<Module> again = Compile(kSpin);
  const std::shared_ptr<Module> other =
      Compile(std::string(kSpin) + "// Other text, other code?\n" +
              "extern \"C\" __global__ void idle() {}\n");

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  // A limit that one user raised stays raised for the others.
  const auto large = first->Function("spin", 100 << 10);
  const auto small = again->Function("spin", 60 << 10);
  ASSERT_TRUE(large.ok() && small.ok());
  LaunchShape shape;
  shape.shared_bytes = 100 << 10;
  long long clocks = 1;
  void* pointers[] = {&clocks};
  EXPECT_TRUE(first->Launch(*large, shape, pointers, device_->stream()).ok());
  EXPECT_TRUE(device_->Synchronize().ok());
}

TEST_F(CudaDeviceTest, TheEnvironmentHasVersionAndBuildOfEachLibrary) {
  const auto backend = CudaBackend({});

  const Environment environment = backend->DescribeEnvironment();

  for (const LibraryReport& report : backend->Libraries()) {
    const bool is_measured = environment.contains("library." + report.name);
    const std::set<std::string> measured = {"nvrtc", "cublaslt", "cudnn"};
    EXPECT_EQ(is_measured, report.available && measured.contains(report.name)) << report.name;
    if (!is_measured) continue;
    EXPECT_FALSE(report.build_id.empty()) << report.name;
    EXPECT_THAT(environment, Contains(Pair("library." + report.name, report.version)));
    EXPECT_THAT(environment,
                Contains(Pair("library." + report.name + ".build_id", report.build_id)));
  }
}

TEST_F(CudaDeviceTest, PeaksAreThoseOfAGpu) {
  const auto peaks = MeasureCudaPeaks(nvrtc_.Get(), *device_);

  ASSERT_TRUE(peaks.ok()) << peaks.status().ToString();
  EXPECT_THAT(peaks->f32_flops, Gt(1e12));
  EXPECT_THAT(peaks->bytes_per_second, Gt(1e11));
  RecordProperty("f32_tflops", std::to_string(peaks->f32_flops / 1e12));
  RecordProperty("f64_tflops", std::to_string(peaks->f64_flops / 1e12));
  RecordProperty("gb_per_second", std::to_string(peaks->bytes_per_second / 1e9));
}

TEST_F(CudaDeviceTest, ConditionsAreThoseOfAGpu) {
  const auto module = Compile(kSpin);
  Spin spin(*device_, *module, 200'000'000);  // 0.1 s, so that the clocks are up.
  ASSERT_TRUE(device_->TimeNs(spin, {}, {.launches = 1}).ok());

  const auto conditions = device_->Conditions();

  if (!nvml_.Get().available()) {
    EXPECT_FALSE(conditions.has_value());
    GTEST_SKIP() << "No NVML beside this driver: " << nvml_.Get().report().missing;
  }
  ASSERT_TRUE(conditions.has_value())
      << nvml_.Get().Read(device_->entry().pci_bus_id).status().ToString();
  ASSERT_TRUE(Validate(*conditions).ok()) << Validate(*conditions).message();
  EXPECT_THAT(conditions->compute_clock_mhz, Optional(AllOf(Gt(100), Lt(5000))));
  EXPECT_THAT(conditions->memory_clock_mhz, Optional(AllOf(Gt(100), Lt(20'000))));
  EXPECT_THAT(conditions->power_w, Optional(AllOf(Gt(5.0), Lt(3000.0))));
  EXPECT_THAT(conditions->power_limit_w, Optional(AllOf(Gt(20.0), Lt(3000.0))));
  EXPECT_THAT(conditions->temperature_c, Optional(AllOf(Gt(5), Lt(120))));
  ASSERT_TRUE(conditions->clock_reasons.has_value());
  RecordProperty("compute_clock_mhz", std::to_string(*conditions->compute_clock_mhz));
  RecordProperty("memory_clock_mhz", std::to_string(*conditions->memory_clock_mhz));
  RecordProperty("power_w", std::to_string(*conditions->power_w));
  RecordProperty("power_limit_w", std::to_string(*conditions->power_limit_w));
  RecordProperty("temperature_c", std::to_string(*conditions->temperature_c));
  RecordProperty("clock_reasons", testing::PrintToString(*conditions->clock_reasons));
}

TEST_F(CudaDeviceTest, EveryAnswerOfCublasLtIsFoundAgainByItsFields) {
  const CublasLt lt;
  ASSERT_TRUE(lt.available()) << lt.report().missing;
  const auto handle = lt.HandleOf(device_->context());
  ASSERT_TRUE(handle.ok()) << handle.status().ToString();
  for (const DataType type : {DataType::kF32, DataType::kBf16}) {
    Gemm gemm = PackedGemm(512, 384, 1024, type);
    gemm.c_type = type;
    const auto product = CublasLtProduct::Create(lt, *handle, gemm);
    ASSERT_TRUE(product.ok()) << product.status().ToString();
    const auto answers = product->Heuristics(8);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();

    for (const auto& answer : *answers) {
      const auto fields = product->FieldsOf(answer.algo);
      ASSERT_TRUE(fields.ok());
      const auto again = product->Algorithm(*fields);
      ASSERT_TRUE(again.ok()) << again.status().ToString();
      // Not the bytes: some of them are unused and differ from process to process.
      const auto its_fields = product->FieldsOf(again->algo);
      ASSERT_TRUE(its_fields.ok());
      EXPECT_EQ(*its_fields, *fields);
      EXPECT_EQ(again->workspaceSize, answer.workspaceSize) << Text(*fields);
    }
  }
}

TEST_F(CudaDeviceTest, TheListOfCublasLtBeginsWithItsAnswersAndHasTheSpaceBehindThem) {
  const Lazy<CublasLt> library;
  const CublasLt& lt = library.Get();
  const auto solver = MakeCublasLtGemm(library);
  const Problem problem = *ParseProblem("gemm@1{m=512,n=384,k=1024,type=bf16,ctype=bf16}");

  const auto configs = solver->ListOn(*device_, problem);

  ASSERT_TRUE(configs.ok()) << configs.status().ToString();
  EXPECT_THAT(configs->size(), Gt(100u));
  const auto product =
      CublasLtProduct::Create(lt, *lt.HandleOf(device_->context()), problem.Get<Gemm>());
  const auto answers = product->Heuristics(1);
  EXPECT_EQ(configs->front(), *product->FieldsOf(answers->front().algo));
  RecordProperty("algorithms", std::to_string(configs->size()));
}

}  // namespace
}  // namespace attune::cuda
