// Replays of cuDNN's launches on a GPU: label `gpu`.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/steady_time.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "attune/problem/tensor.h"
#include "backends/cuda/cudnn/cudnn_executable.h"
#include "backends/cuda/driver/captured_graph.h"
#include "backends/cuda/driver/cuda_device_test.h"

namespace attune::cuda {
namespace {

constexpr const char* kReplayedProblem =
    "conv@1{dir=fwd,n=1,c=256,h=40,w=49,k=256,fh=3,fw=3,ph=1,pw=1,type=f16}";

class CudnnReplayDeviceTest : public CudaDeviceTest {
 protected:
  // Operands of the problem, and the arguments of one launch on them.
  struct Call {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::unique_ptr<Buffer> workspace;
    std::vector<BufferView> views;
    Arguments arguments;
  };

  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!cudnn_.Get().available()) GTEST_SKIP() << cudnn_.Get().report().missing;
    ASSERT_TRUE(device_->Enter().ok());
    ASSERT_EQ(driver_.cuStreamCreate(&queue_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    const auto handle = cudnn_.Get().HandleOf(device_->stream());
    ASSERT_TRUE(handle.ok()) << handle.status().ToString();
    const auto product =
        CudnnProduct::Create(cudnn_.Get(), *handle, problem_.Get<Conv>(), "tensor");
    ASSERT_TRUE(product.ok()) << product.status().ToString();
    const auto algorithm = product->FirstAnswer();
    ASSERT_TRUE(algorithm.ok()) << algorithm.status().ToString();
    executable_ = MakeCudnnExecutable(*device_, *product, *algorithm);
  }
  void TearDown() override {
    if (queue_ != nullptr) driver_.cuStreamDestroy(queue_);
  }

  Call MakeCall() {
    Call call;
    for (const Operand& operand : Operands(problem_)) {
      auto buffer = device_->Allocate(SpanBytes(operand.tensor));
      EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
      call.buffers.push_back(std::move(*buffer));
      call.views.push_back(call.buffers.back()->View(0));
    }
    call.workspace = std::move(*device_->Allocate(executable_->workspace_bytes()));
    call.arguments.operands = call.views;
    call.arguments.workspace = call.workspace->View(0);
    call.arguments.queue = queue_;
    return call;
  }

  // Halves between 0.5 and 1 for all inputs, and bits that no result has for the output.
  void Fill(const Call& call, uint64_t seed) {
    Random random(seed);
    for (const auto& buffer : call.buffers) {
      std::vector<uint16_t> halves(buffer->size_bytes() / sizeof(uint16_t), 0xFFFF);
      if (buffer != call.buffers.back()) {
        for (auto& half : halves) half = static_cast<uint16_t>(0x3800 | random.Below(0x400));
      }
      ASSERT_TRUE(device_->Upload(std::as_bytes(std::span(halves)), buffer->View(0)).ok());
    }
  }

  std::vector<std::byte> OutputOf(const Call& call) {
    EXPECT_EQ(driver_.cuStreamSynchronize(queue_), CUDA_SUCCESS);
    std::vector<std::byte> output(call.buffers.back()->size_bytes());
    EXPECT_TRUE(device_->Download(call.buffers.back()->View(0), output).ok());
    return output;
  }

  // A launch on `queue` computes the same as one on the device's own queue, which is never
  // replayed.
  void ExpectRight(const Call& call, CUstream queue, uint64_t seed) {
    Fill(call, seed);
    Arguments arguments = call.arguments;
    arguments.queue = nullptr;
    ASSERT_TRUE(executable_->Run(arguments).ok());
    ASSERT_TRUE(device_->Synchronize().ok());
    const auto expected = OutputOf(call);
    Fill(call, seed);
    arguments.queue = queue;

    const Status launched = executable_->Run(arguments);

    ASSERT_TRUE(launched.ok()) << launched.ToString();
    ASSERT_EQ(driver_.cuStreamSynchronize(queue), CUDA_SUCCESS);
    EXPECT_TRUE(OutputOf(call) == expected) << "launch " << seed;
  }

  const Lazy<Cudnn> cudnn_;
  const Problem problem_ = *ParseProblem(kReplayedProblem);
  CUstream queue_ = nullptr;
  std::unique_ptr<Executable> executable_;
};

TEST_F(CudnnReplayDeviceTest, ReplaysComputeWhatLaunchesDoOnWhateverStandsThere) {
  const Call here = MakeCall();
  const Call there = MakeCall();
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    for (const Call* call : {&here, &there}) ExpectRight(*call, queue_, seed);
  }
}

TEST_F(CudnnReplayDeviceTest, StreamsThatEveryContextHasAreReplayedOn) {
  const Call call = MakeCall();
  for (const CUstream queue : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) ExpectRight(call, queue, seed);
  }
}

// The third launch is captured, later ones are replayed.
TEST_F(CudnnReplayDeviceTest, ALaunchKeepsTheCallerForLessOnceItIsReplayed) {
  const Call call = MakeCall();
  Fill(call, 1);
  std::vector<double> us;
  for (int i = 0; i < 8; ++i) {
    const int64_t begin_ns = SteadyNowNs();
    ASSERT_TRUE(executable_->Run(call.arguments).ok());
    us.push_back(static_cast<double>(SteadyNowNs() - begin_ns) / 1e3);
    ASSERT_EQ(driver_.cuStreamSynchronize(queue_), CUDA_SUCCESS);
    fmt::print("launch {}: {:.1f} us\n", i + 1, us.back());
  }
  EXPECT_LT(*std::min_element(us.begin() + 3, us.end()), us[1] / 4);
}

TEST_F(CudnnReplayDeviceTest, AProgramMayCaptureWhatIsReplayedOtherwise) {
  const Call call = MakeCall();
  Fill(call, 1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(executable_->Run(call.arguments).ok());
  const auto expected = OutputOf(call);
  Fill(call, 1);
  CapturedGraph captured(driver_);
  const Status status = captured.Capture(queue_, [&] { return executable_->Run(call.arguments); });
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(OutputOf(call) == expected);
  ExecutableGraph graph(driver_);
  ASSERT_TRUE(graph.Make(captured.graph()).ok());

  ASSERT_TRUE(graph.Replay(queue_).ok());

  EXPECT_TRUE(OutputOf(call) == expected);
}

}  // namespace
}  // namespace attune::cuda
