// Calls on streams of the program, captured ones too, on the first GPU; label `gpu`. It only calls
// functions of cuda.h that the backend has loaded, so that this program starts without a driver.
#include <cuda.h>
#include <stdlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "attune/observe.h"
#include "backends/cuda/driver/driver.h"
#include "tests/runtime/runtime_world.h"

namespace attune::cuda {
namespace {

using testing::Each;
using testing::HasSubstr;

struct Destroy {
  void operator()(attune_runtime* runtime) const { attune_runtime_destroy(runtime); }
};
using RuntimeHandle = std::unique_ptr<attune_runtime, Destroy>;

// One product of ones on the device; columns start where no wide load can read them.
struct Product {
  static constexpr int64_t kSize = 65;
  static constexpr size_t kCount = kSize * kSize;
  CUdeviceptr a = 0, b = 0, c = 0;
};

class CudaServing : public testing::Test {
 protected:
  void SetUp() override {
    if (!driver_.available()) GTEST_SKIP() << "No CUDA device here: " << driver_.report.missing;
    CUdevice device = 0;
    ASSERT_EQ(driver_.cuDeviceGet(&device, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override { ::unsetenv("ATTUNE_FORCE"); }

  static RuntimeHandle MakeRuntime(const std::string& forced, bool known_only = false) {
    ::setenv("ATTUNE_FORCE", forced.c_str(), 1);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "cuda:0";
    options.database = "";
    options.policy = ATTUNE_NEVER;
    options.known_only = known_only ? 1 : 0;
    attune_runtime* runtime = nullptr;
    (void)attune_runtime_create(&options, &runtime);
    return RuntimeHandle(runtime);
  }

  // Tunes into a database of its own, which is not there yet.
  RuntimeHandle MakeTuningRuntime(attune_policy policy) {
    world_.emplace();
    world_->Set("ATTUNE_PLUGINS", std::nullopt);
    const std::string path = world_->database();
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "cuda:0";
    options.database = path.c_str();
    options.policy = policy;
    options.per_problem_ms = 4000;
    attune_runtime* runtime = nullptr;
    (void)attune_runtime_create(&options, &runtime);
    return RuntimeHandle(runtime);
  }
  static uint64_t TuningsOf(attune_runtime* runtime) {
    attune_counters counters = ATTUNE_COUNTERS_INIT;
    (void)attune_get_counters(runtime, &counters);
    return counters.tunings + counters.tuning_failures;
  }
  static std::string MetricsOf(attune_runtime* runtime) {
    char* text = nullptr;
    if (attune_metrics(runtime, &text) != ATTUNE_OK) return "";
    const std::string metrics = text;
    attune_free(text);
    return metrics;
  }

  CUdeviceptr Filled(float value) const {
    CUdeviceptr address = 0;
    (void)driver_.cuMemAlloc(&address, Product::kCount * sizeof(float));
    Fill(address, value);
    return address;
  }
  void Fill(CUdeviceptr address, float value) const {
    const std::vector<float> values(Product::kCount, value);
    (void)driver_.cuMemcpyHtoDAsync(address, values.data(), values.size() * sizeof(float), stream_);
    (void)driver_.cuStreamSynchronize(stream_);
  }
  std::vector<float> Read(CUdeviceptr address) const {
    std::vector<float> values(Product::kCount);
    (void)driver_.cuMemcpyDtoHAsync(values.data(), address, values.size() * sizeof(float), stream_);
    (void)driver_.cuStreamSynchronize(stream_);
    return values;
  }
  Product Ones() const { return {Filled(1), Filled(1), Filled(-1)}; }

  static attune_code Multiply(attune_runtime* runtime, const Product& product, CUstream stream) {
    attune_gemm gemm{};
    gemm.m = gemm.n = gemm.k = Product::kSize;
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = reinterpret_cast<const void*>(product.a);
    arguments.b = reinterpret_cast<const void*>(product.b);
    arguments.c = reinterpret_cast<void*>(product.c);
    arguments.queue = stream;
    return attune_run_gemm(runtime, &gemm, &arguments);
  }

  // Captured in the mode that forbids most calls of the driver, to every thread of the process.
  CUgraphExec Captured(attune_runtime* runtime, const Product& product) const {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(Multiply(runtime, product, stream_), ATTUNE_OK) << attune_last_message();
    EXPECT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    return executable;
  }

  const Driver driver_ = LoadDriver();
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::optional<RuntimeWorld> world_;  // For tests that tune.
};

TEST_F(CudaServing, AProductOnTheProgramsStreamIsDoneWhenTheStreamIs) {
  const RuntimeHandle runtime = MakeRuntime("cuda.cublaslt-gemm");
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  ASSERT_EQ(Multiply(runtime.get(), product, stream_), ATTUNE_OK) << attune_last_message();

  EXPECT_THAT(Read(product.c), Each(float{Product::kSize}));
}

TEST_F(CudaServing, TheLegacyDefaultStreamIsAStream) {
  const RuntimeHandle runtime = MakeRuntime("cuda.cublaslt-gemm");
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  ASSERT_EQ(Multiply(runtime.get(), product, CU_STREAM_LEGACY), ATTUNE_OK) << attune_last_message();
  ASSERT_EQ(driver_.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);

  EXPECT_THAT(Read(product.c), Each(float{Product::kSize}));
}

class CapturedServing : public CudaServing, public testing::WithParamInterface<const char*> {};

// The first call is the captured one. Its kernel is found, loaded and allocated meanwhile, and the
// copies of the padded and of the transposed one lie in a workspace.
TEST_P(CapturedServing, AFirstCallUnderCaptureBecomesPartOfTheGraph) {
  const RuntimeHandle runtime = MakeRuntime(GetParam());
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  CUgraphExec graph = Captured(runtime.get(), product);
  ASSERT_NE(graph, nullptr);
  const std::vector<float> before = Read(product.c);
  ASSERT_EQ(driver_.cuGraphLaunch(graph, stream_), CUDA_SUCCESS);
  const std::vector<float> after = Read(product.c);
  Fill(product.a, 3);
  ASSERT_EQ(driver_.cuGraphLaunch(graph, stream_), CUDA_SUCCESS);

  EXPECT_THAT(before, Each(-1.0F));
  EXPECT_THAT(after, Each(float{Product::kSize}));
  EXPECT_THAT(Read(product.c), Each(3.0F * Product::kSize));
}

INSTANTIATE_TEST_SUITE_P(Candidates, CapturedServing,
                         testing::Values("cuda.cublaslt-gemm", "cuda.padded-cublaslt-gemm",
                                         "cuda.transposed-cublaslt-gemm", "cuda.gemm-tiled"));

TEST_F(CudaServing, WhatAGraphUsesIsItsOwnWhateverTheStreamDoesNext) {
  const RuntimeHandle runtime = MakeRuntime("cuda.padded-cublaslt-gemm");
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product recorded = Ones();
  CUgraphExec graph = Captured(runtime.get(), recorded);
  ASSERT_NE(graph, nullptr);
  CUstream other = nullptr;
  ASSERT_EQ(driver_.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const Product twos = {Filled(2), Filled(2), Filled(-1)};

  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(driver_.cuGraphLaunch(graph, other), CUDA_SUCCESS);
    ASSERT_EQ(Multiply(runtime.get(), twos, stream_), ATTUNE_OK) << attune_last_message();
  }
  ASSERT_EQ(driver_.cuStreamSynchronize(other), CUDA_SUCCESS);

  EXPECT_THAT(Read(twos.c), Each(4.0F * Product::kSize));
  EXPECT_THAT(Read(recorded.c), Each(float{Product::kSize}));
}

TEST_F(CudaServing, InlineServesAFirstCallUnderCaptureUntunedAndTunesTheNextOneOutsideOfIt) {
  const RuntimeHandle runtime = MakeTuningRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  CUgraphExec graph = Captured(runtime.get(), product);
  ASSERT_NE(graph, nullptr);
  const uint64_t tunings_in_capture = TuningsOf(runtime.get());
  const std::string metrics = MetricsOf(runtime.get());
  ASSERT_EQ(driver_.cuGraphLaunch(graph, stream_), CUDA_SUCCESS);
  const std::vector<float> replayed = Read(product.c);
  ASSERT_EQ(Multiply(runtime.get(), product, stream_), ATTUNE_OK) << attune_last_message();

  EXPECT_EQ(tunings_in_capture, 0U);
  EXPECT_THAT(metrics, HasSubstr("\nattune_tunings_put_off_total 1\n"));
  EXPECT_THAT(replayed, Each(float{Product::kSize}));
  EXPECT_EQ(TuningsOf(runtime.get()), 1U);
  EXPECT_THAT(Read(product.c), Each(float{Product::kSize}));
}

TEST_F(CudaServing, DeferredQueuesNoTuningForAFirstCallUnderCapture) {
  const RuntimeHandle runtime = MakeTuningRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  CUgraphExec graph = Captured(runtime.get(), product);
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(attune_wait_idle(runtime.get(), 60'000), ATTUNE_OK) << attune_last_message();
  const uint64_t tunings_of_capture = TuningsOf(runtime.get());
  ASSERT_EQ(Multiply(runtime.get(), product, stream_), ATTUNE_OK) << attune_last_message();
  ASSERT_EQ(attune_wait_idle(runtime.get(), 60'000), ATTUNE_OK) << attune_last_message();

  EXPECT_EQ(tunings_of_capture, 0U);
  EXPECT_EQ(TuningsOf(runtime.get()), 1U);
}

TEST_F(CudaServing, AGraphThatIsCapturedAgainAndAgainIsRightWhateverBecameOfThoseBefore) {
  const RuntimeHandle runtime = MakeRuntime("cuda.padded-cublaslt-gemm");
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  for (int round = 0; round < 50; ++round) {
    CUgraph graph = nullptr;
    ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    ASSERT_EQ(Multiply(runtime.get(), product, stream_), ATTUNE_OK) << attune_last_message();
    ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    CUgraphExec executable = nullptr;
    ASSERT_EQ(driver_.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
    Fill(product.c, -1);
    ASSERT_EQ(driver_.cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
    // Gone while it may still be executed.
    ASSERT_EQ(driver_.cuGraphExecDestroy(executable), CUDA_SUCCESS);

    ASSERT_THAT(Read(product.c), Each(float{Product::kSize})) << round;
  }
}

TEST_F(CudaServing, WhatNobodyMeasuredIsLeftToACallerWithAnImplementationOfItsOwn) {
  const RuntimeHandle runtime = MakeRuntime("", true);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const Product product = Ones();

  EXPECT_EQ(Multiply(runtime.get(), product, stream_), ATTUNE_NOT_FOUND);

  EXPECT_THAT(attune_last_message(), HasSubstr("serves only what is known"));
  EXPECT_THAT(Read(product.c), Each(-1.0F));
}

}  // namespace
}  // namespace attune::cuda
