// Driver queries of a call on a stream of the program, counted by a stand-in: each query costs the
// calling thread 10 to 40 ns of a product that is launched in some microseconds.
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cublaslt/stand_in_cublaslt_test.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A driver with one context and one device, which records the queries.
class CountingDriver {
 public:
  CountingDriver() {
    current_ = this;
    driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
      *context = Context();
      return CUDA_SUCCESS;
    };
    driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
    driver.cuStreamCreate = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
    driver.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
    driver.cuGetErrorName = [](CUresult, const char** text) {
      *text = "CUDA_ERROR";
      return CUDA_SUCCESS;
    };
    driver.cuGetErrorString = driver.cuGetErrorName;
    driver.cuCtxGetCurrent = [](CUcontext* context) {
      Count("cuCtxGetCurrent");
      *context = current_->entered;
      return CUDA_SUCCESS;
    };
    driver.cuCtxSetCurrent = [](CUcontext context) {
      Count("cuCtxSetCurrent");
      current_->entered = context;
      return CUDA_SUCCESS;
    };
    driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
      Count("cuStreamIsCapturing");
      if (current_->needs_context && current_->entered == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
      *status = current_->capture;
      return CUDA_SUCCESS;
    };
    driver.cuStreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                       CUgraph*, const CUgraphNode**, const CUgraphEdgeData**,
                                       size_t*) {
      Count("cuStreamGetCaptureInfo");
      *status = current_->capture;
      *id = 7;
      return CUDA_SUCCESS;
    };
    driver.cuStreamGetId = [](CUstream, unsigned long long* id) {
      Count("cuStreamGetId");
      *id = 3;
      return CUDA_SUCCESS;
    };
  }
  CountingDriver(const CountingDriver&) = delete;
  CountingDriver& operator=(const CountingDriver&) = delete;
  ~CountingDriver() { current_ = nullptr; }

  Driver driver;
  std::map<std::string, int> asked;
  CUcontext entered = nullptr;
  bool needs_context = false;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

 private:
  static void Count(const char* name) { ++current_->asked[name]; }
  static CUcontext Context() { return reinterpret_cast<CUcontext>(current_); }

  static inline CountingDriver* current_ = nullptr;
};

class QueueCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = CudaDevice::Open(driver_.driver, entry_, nvrtc_, nvml_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    device_ = *std::move(opened);
    driver_.asked.clear();
  }

  void* stream() { return &stream_; }

  CountingDriver driver_;
  const DeviceEntry entry_ = {};
  const Lazy<Nvrtc> nvrtc_;
  const Lazy<Nvml> nvml_;
  std::unique_ptr<CudaDevice> device_;
  int stream_ = 0;  // Only its address matters.
};

TEST_F(QueueCallsTest, WhetherAStreamIsCapturedIsOneQuestion) {
  const auto recording = device_->RecordingOf(stream());

  ASSERT_TRUE(recording.ok()) << recording.status().ToString();
  EXPECT_EQ(*recording, 0U);
  EXPECT_THAT(driver_.asked, ElementsAre(Pair("cuStreamIsCapturing", 1)));
}

TEST_F(QueueCallsTest, WhoNeedsMemoryOfAStreamAsksForItsIdAsWell) {
  const auto state = device_->StateOf(stream());

  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->id, 3U);
  EXPECT_EQ(state->recording, 0U);
  EXPECT_THAT(driver_.asked, ElementsAre(Pair("cuStreamGetId", 1), Pair("cuStreamIsCapturing", 1)));
}

TEST_F(QueueCallsTest, OnlyWhatIsCapturedIsAskedForItsGraph) {
  driver_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

  const auto state = device_->StateOf(stream());

  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->id, 0U);
  EXPECT_EQ(state->recording, 7U);
  EXPECT_EQ(driver_.asked.count("cuStreamGetId"), 0U);
  EXPECT_EQ(driver_.asked["cuStreamGetCaptureInfo"], 1);
}

TEST_F(QueueCallsTest, AVoidCaptureIsSaid) {
  driver_.capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;

  const auto recording = device_->RecordingOf(stream());

  EXPECT_EQ(recording.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(recording.status().message(), HasSubstr("is void"));
}

TEST_F(QueueCallsTest, TheLegacyStreamIsNeverAskedWhetherItIsCaptured) {
  driver_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

  const auto recording = device_->RecordingOf(CU_STREAM_LEGACY);

  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(*recording, 0U);
  EXPECT_THAT(driver_.asked, IsEmpty());
}

TEST_F(QueueCallsTest, TheStreamOfAThreadIsThatOfTheDevicesContext) {
  driver_.entered = nullptr;

  ASSERT_TRUE(device_->RecordingOf(CU_STREAM_PER_THREAD).ok());

  EXPECT_EQ(driver_.entered, device_->context());
}

TEST_F(QueueCallsTest, WhereADriverWantsAContextForAStreamItIsEntered) {
  driver_.entered = nullptr;
  driver_.needs_context = true;

  const auto recording = device_->RecordingOf(stream());

  ASSERT_TRUE(recording.ok()) << recording.status().ToString();
  EXPECT_EQ(driver_.entered, device_->context());
  EXPECT_EQ(driver_.asked["cuStreamIsCapturing"], 2);
}

TEST_F(QueueCallsTest, AProductOfCublasLtAsksForTheContextOnce) {
  StandInCublasLt library;
  library.algorithms = {{.id = 7}};
  library.lt.cublasLtMatmul = [](auto...) { return CUBLAS_STATUS_SUCCESS; };
  const CublasLtProduct product =
      *CublasLtProduct::Create(library.lt, nullptr, GemmOf("gemm@1{m=64,n=64,k=64,type=bf16}"));
  const Config fields = *product.FieldsOf(StandInCublasLt::Initialised(7));
  const auto executable = MakeCublasLtExecutable(*device_, {product, *product.Algorithm(fields)});
  const BufferView operands[3] = {{stream()}, {stream()}, {stream()}};
  Arguments arguments;
  arguments.operands = operands;
  arguments.queue = stream();

  ASSERT_TRUE(executable->Run(arguments).ok());

  EXPECT_FALSE(executable->is_needed_by_graphs());
  EXPECT_THAT(driver_.asked, ElementsAre(Pair("cuCtxGetCurrent", 1)));
}

}  // namespace
}  // namespace attune::cuda
