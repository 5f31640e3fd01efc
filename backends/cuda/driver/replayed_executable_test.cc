// When a launch is direct, captured or replayed, with a driver that only records calls.
#include "backends/cuda/driver/replayed_executable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int64_t kAlways = 0;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

template <class Handle>
Handle HandleAt(uintptr_t number) {
  return reinterpret_cast<Handle>(number);  // NOLINT: only its bits count.
}

// A driver that captures and replays nothing, and notes it.
class NotingDriver {
 public:
  NotingDriver() {
    current_ = this;
    driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
      *context = HandleAt<CUcontext>(1);
      return CUDA_SUCCESS;
    };
    driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
    driver.cuCtxGetCurrent = [](CUcontext* context) {
      *context = HandleAt<CUcontext>(1);
      return CUDA_SUCCESS;
    };
    driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
    driver.cuGetErrorName = [](CUresult, const char** text) {
      *text = "CUDA_ERROR";
      return CUDA_SUCCESS;
    };
    driver.cuGetErrorString = driver.cuGetErrorName;
    driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
      std::swap(*mode, current_->mode_);
      return CUDA_SUCCESS;
    };
    FillStreams();
    FillGraphs();
  }
  NotingDriver(const NotingDriver&) = delete;
  NotingDriver& operator=(const NotingDriver&) = delete;
  ~NotingDriver() { current_ = nullptr; }

  Driver driver;
  std::map<CUstream, CUstreamCaptureStatus> captured_by_program;
  CUresult end_of_capture = CUDA_SUCCESS;
  CUresult answer_of_replays = CUDA_SUCCESS;
  CUresult answer_of_graphs = CUDA_SUCCESS;                          // When a graph is made.
  std::vector<CUgraphNodeType> nodes = {CU_GRAPH_NODE_TYPE_KERNEL};  // In captured graphs.
  std::vector<CUstreamCaptureMode> modes;                            // One for each capture.
  bool is_capturing = false;
  std::vector<CUstream> captures;                         // Streams of the captures.
  std::vector<std::pair<CUgraphExec, CUstream>> replays;  // Graph and stream of each.
  std::set<CUgraphExec> graphs;                           // Existing ones.

 private:
  void FillStreams() {
    driver.cuStreamCreate = [](CUstream* stream, unsigned) {
      *stream = HandleAt<CUstream>(current_->next_++);
      return CUDA_SUCCESS;
    };
    driver.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
    driver.cuStreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
      *status = current_->captured_by_program[stream];
      return CUDA_SUCCESS;
    };
    driver.cuStreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                       CUgraph*, const CUgraphNode**, const CUgraphEdgeData**,
                                       size_t*) {
      *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
      *id = 7;
      return CUDA_SUCCESS;
    };
  }
  void FillGraphs() {
    driver.cuStreamBeginCapture = [](CUstream stream, CUstreamCaptureMode) {
      current_->captures.push_back(stream);
      current_->modes.push_back(current_->mode_);
      current_->is_capturing = true;
      return CUDA_SUCCESS;
    };
    driver.cuStreamEndCapture = [](CUstream, CUgraph* graph) {
      *graph = HandleAt<CUgraph>(3);
      current_->is_capturing = false;
      return current_->end_of_capture;
    };
    driver.cuGraphInstantiate = [](CUgraphExec* executable, CUgraph, unsigned long long) {
      if (current_->answer_of_graphs != CUDA_SUCCESS) return current_->answer_of_graphs;
      *executable = HandleAt<CUgraphExec>(current_->next_++);
      current_->graphs.insert(*executable);
      return CUDA_SUCCESS;
    };
    driver.cuGraphExecDestroy = [](CUgraphExec executable) {
      current_->graphs.erase(executable);
      return CUDA_SUCCESS;
    };
    driver.cuGraphDestroy = [](CUgraph) { return CUDA_SUCCESS; };
    driver.cuGraphUpload = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
    driver.cuGraphGetNodes = [](CUgraph, CUgraphNode* listed, size_t* count) {
      *count = current_->nodes.size();
      for (size_t i = 0; listed != nullptr && i < *count; ++i) {
        listed[i] = HandleAt<CUgraphNode>(i);
      }
      return CUDA_SUCCESS;
    };
    driver.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) {
      *type = current_->nodes[reinterpret_cast<uintptr_t>(node)];
      return CUDA_SUCCESS;
    };
    driver.cuGraphLaunch = [](CUgraphExec executable, CUstream stream) {
      if (current_->answer_of_replays != CUDA_SUCCESS) return current_->answer_of_replays;
      current_->replays.emplace_back(executable, stream);
      return CUDA_SUCCESS;
    };
  }

  uintptr_t next_ = 100;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_GLOBAL;  // For the only thread.
  static inline NotingDriver* current_ = nullptr;
};

// Notes on which queues it was launched.
class NotedExecutable final : public Executable {
 public:
  NotedExecutable(std::vector<void*>& queues, const std::function<Status()>& answer)
      : queues_(queues), answer_(answer) {}
  size_t workspace_bytes() const override { return 256; }
  Status Run(const Arguments& arguments) override {
    queues_.push_back(arguments.queue);
    return answer_();
  }

 private:
  std::vector<void*>& queues_;
  const std::function<Status()>& answer_;
};

class ReplayedExecutableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    Make(kAlways);
  }

  void Open() {
    executable_.reset();
    auto opened = CudaDevice::Open(driver_.driver, entry_, nvrtc_, nvml_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    device_ = *std::move(opened);
  }

  void Make(int64_t least_ns) {
    executable_ = ReplayIfSlow(*device_, std::make_unique<NotedExecutable>(queues_, answer_),
                               {.least_ns = least_ns, .library = &library_});
  }

  // A launch on operands from `address` on.
  Status Run(uintptr_t address, void* queue, double beta = 0) {
    const std::array<BufferView, 3> operands = {BufferView{HandleAt<void*>(address), 0},
                                                {HandleAt<void*>(address), 64},
                                                {HandleAt<void*>(address), 128}};
    Arguments arguments;
    arguments.operands = operands;
    arguments.queue = queue;
    arguments.beta = beta;
    return executable_->Run(arguments);
  }
  void RunTimes(int times, uintptr_t address, void* queue) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(Run(address, queue).ok());
  }

  static constexpr uintptr_t kHere = 4096;
  void* const queue_ = HandleAt<void*>(50);
  void* const other_queue_ = HandleAt<void*>(51);
  NotingDriver driver_;
  const DeviceEntry entry_ = {};
  const Lazy<Nvrtc> nvrtc_;
  const Lazy<Nvml> nvml_;
  std::unique_ptr<CudaDevice> device_;
  std::vector<void*> queues_;  // Per direct or captured launch.
  std::function<Status()> answer_ = [] { return Status::Ok(); };
  std::recursive_mutex library_;
  std::unique_ptr<Executable> executable_;
};

TEST_F(ReplayedExecutableTest, TheThirdLaunchIsCapturedElsewhereAndReplayedFromThenOn) {
  RunTimes(5, kHere, queue_);

  ASSERT_THAT(driver_.captures, SizeIs(1));
  EXPECT_NE(driver_.captures[0], queue_);
  EXPECT_THAT(queues_, ElementsAre(queue_, queue_, driver_.captures[0]));
  ASSERT_THAT(driver_.graphs, SizeIs(1));
  EXPECT_THAT(driver_.replays, SizeIs(3));
  EXPECT_THAT(driver_.replays,
              Each(std::pair(*driver_.graphs.begin(), static_cast<CUstream>(queue_))));
  EXPECT_EQ(executable_->workspace_bytes(), 256U);
}

TEST_F(ReplayedExecutableTest, WhatIsQuickIsNeitherCapturedNorAskedFor) {
  Make(kNever);
  RunTimes(kDirectLaunches, kHere, queue_);
  driver_.driver.cuStreamIsCapturing = nullptr;

  RunTimes(5, kHere, queue_);

  EXPECT_THAT(driver_.captures, IsEmpty());
  EXPECT_THAT(queues_, SizeIs(kDirectLaunches + 5));
}

TEST_F(ReplayedExecutableTest, OtherAddressesAndQueuesHaveGraphsOfTheirOwn) {
  RunTimes(4, kHere, queue_);
  RunTimes(4, kHere + 512, queue_);
  RunTimes(4, kHere, other_queue_);
  RunTimes(1, kHere, queue_);

  EXPECT_THAT(driver_.captures, SizeIs(3));
  ASSERT_THAT(driver_.replays, SizeIs(7));
  EXPECT_EQ(driver_.replays[6], driver_.replays[0]);
  EXPECT_NE(driver_.replays[2].first, driver_.replays[0].first);
  EXPECT_EQ(driver_.replays[4].second, other_queue_);
}

TEST_F(ReplayedExecutableTest, FactorsAreOfTheGraph) {
  RunTimes(3, kHere, queue_);

  ASSERT_TRUE(Run(kHere, queue_, 1).ok());

  EXPECT_THAT(driver_.replays, SizeIs(1));
  EXPECT_EQ(queues_.back(), queue_);
}

TEST_F(ReplayedExecutableTest, AsManyLayersAsThereIsRoomForHaveGraphsWhenTheyTakeTurns) {
  for (int pass = 0; pass < 4; ++pass) {
    for (uintptr_t i = 0; i < kMostReplayedGraphs; ++i) RunTimes(1, kHere + 512 * i, queue_);
  }

  EXPECT_THAT(driver_.captures, SizeIs(kMostReplayedGraphs));
  EXPECT_THAT(driver_.replays, SizeIs(2 * kMostReplayedGraphs));
}

TEST_F(ReplayedExecutableTest, WhereThereIsNoRoomNothingIsCapturedForAGraphThatIsUsed) {
  constexpr uintptr_t kLayers = kMostReplayedGraphs + 3;
  for (int pass = 0; pass < 10; ++pass) {
    for (uintptr_t i = 0; i < kLayers; ++i) RunTimes(1, kHere + 512 * i, queue_);
  }

  EXPECT_THAT(driver_.captures, SizeIs(kMostReplayedGraphs));
  EXPECT_THAT(driver_.replays, SizeIs(8 * kMostReplayedGraphs));
}

TEST_F(ReplayedExecutableTest, AGraphThatIsNotUsedAnyMoreMakesRoom) {
  for (uintptr_t i = 0; i < kMostReplayedGraphs; ++i) RunTimes(3, kHere + 512 * i, queue_);
  const CUgraphExec first = driver_.replays[0].first;
  const CUgraphExec second = driver_.replays[1].first;
  RunTimes(static_cast<int>(kStaleAfterLaunches) + 1, kHere, queue_);

  RunTimes(3, kHere + 512 * kMostReplayedGraphs, queue_);

  EXPECT_THAT(driver_.graphs, SizeIs(kMostReplayedGraphs));
  EXPECT_EQ(driver_.graphs.count(first), 1U);
  EXPECT_EQ(driver_.graphs.count(second), 0U);
}

TEST_F(ReplayedExecutableTest, AddressesThatNeverComeBackAreNeverCaptured) {
  for (uintptr_t i = 0; i < 100; ++i) RunTimes(1, kHere + 512 * i, queue_);

  EXPECT_THAT(driver_.captures, IsEmpty());
  EXPECT_THAT(queues_, SizeIs(100));
}

TEST_F(ReplayedExecutableTest, WhatTheProgramCapturesIsWhatItWas) {
  RunTimes(3, kHere, queue_);
  driver_.captured_by_program[static_cast<CUstream>(queue_)] = CU_STREAM_CAPTURE_STATUS_ACTIVE;

  RunTimes(2, kHere, queue_);

  EXPECT_THAT(driver_.replays, SizeIs(1));
  EXPECT_EQ(queues_.back(), queue_);
}

TEST_F(ReplayedExecutableTest, LaunchesOnTheDevicesOwnQueueAreTimedAsTheyAre) {
  RunTimes(10, kHere, nullptr);

  EXPECT_THAT(driver_.captures, IsEmpty());
  EXPECT_THAT(queues_, SizeIs(10));
}

TEST_F(ReplayedExecutableTest, WhatCannotBeCapturedIsLaunchedDirectlyAndTriedOnce) {
  driver_.end_of_capture = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

  RunTimes(6, kHere, queue_);

  EXPECT_THAT(driver_.captures, SizeIs(1));
  EXPECT_THAT(driver_.replays, IsEmpty());
  EXPECT_EQ(std::count(queues_.begin(), queues_.end(), queue_), 6);
}

TEST_F(ReplayedExecutableTest, WhatDoesMoreThanComputeIsLaunchedDirectly) {
  for (const CUgraphNodeType type :
       {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_MEM_ALLOC}) {
    Make(kAlways);
    driver_.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, type};

    RunTimes(6, kHere, queue_);
  }
  EXPECT_THAT(driver_.captures, SizeIs(3));
  EXPECT_THAT(driver_.replays, IsEmpty());
  driver_.nodes = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_EMPTY};
  Make(kAlways);

  RunTimes(3, kHere, queue_);

  EXPECT_THAT(driver_.replays, SizeIs(1));
}

TEST_F(ReplayedExecutableTest, ADriverThatListsNoGraphsReplaysNothing) {
  driver_.driver.cuGraphNodeGetType = nullptr;

  RunTimes(6, kHere, queue_);

  EXPECT_THAT(driver_.replays, IsEmpty());
}

TEST_F(ReplayedExecutableTest, AGraphThatCannotBeMadeOrReplayedIsLaunchedDirectly) {
  driver_.answer_of_graphs = CUDA_ERROR_OUT_OF_MEMORY;
  RunTimes(4, kHere, queue_);
  driver_.answer_of_graphs = CUDA_SUCCESS;
  Make(kAlways);
  RunTimes(4, kHere, queue_);
  driver_.answer_of_replays = CUDA_ERROR_OUT_OF_MEMORY;

  RunTimes(4, kHere, queue_);

  EXPECT_THAT(driver_.replays, SizeIs(2));
  EXPECT_THAT(driver_.graphs, IsEmpty());
  EXPECT_EQ(std::count(queues_.begin(), queues_.end(), queue_), 4 + 2 + 4);
}

TEST_F(ReplayedExecutableTest, ALostDeviceIsSaid) {
  RunTimes(4, kHere, queue_);
  driver_.answer_of_replays = CUDA_ERROR_ILLEGAL_ADDRESS;

  const Status replayed = Run(kHere, queue_);

  EXPECT_EQ(replayed.code(), StatusCode::kUnavailable);
  EXPECT_EQ(std::count(queues_.begin(), queues_.end(), queue_), 2);
}

TEST_F(ReplayedExecutableTest, AFailedLaunchIsSaidAndDoesNotCount) {
  answer_ = [] { return Internal("It does not compute."); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run(kHere, queue_), answer_());
  answer_ = [] { return Status::Ok(); };

  RunTimes(kDirectLaunches, kHere, queue_);

  EXPECT_THAT(driver_.captures, IsEmpty());
}

// A launch that allocates, which a replay would not do again, has to fail while it is captured.
TEST_F(ReplayedExecutableTest, WhatIsCapturedMayNotDoWhatACaptureForbids) {
  RunTimes(3, kHere, queue_);

  EXPECT_THAT(driver_.modes, ElementsAre(CU_STREAM_CAPTURE_MODE_GLOBAL));
}

TEST_F(ReplayedExecutableTest, NobodyElseEnqueuesThroughTheLibraryWhileALaunchIsCaptured) {
  std::vector<bool> is_free;
  answer_ = [&] {
    std::thread([&] {
      const std::unique_lock lock(library_, std::try_to_lock);
      is_free.push_back(lock.owns_lock());
    }).join();
    return Status::Ok();
  };

  RunTimes(4, kHere, queue_);

  EXPECT_THAT(is_free, ElementsAre(true, true, false));
}

TEST_F(ReplayedExecutableTest, ACaptureEndsWhateverIsThrown) {
  RunTimes(2, kHere, queue_);
  answer_ = []() -> Status { throw std::runtime_error("A library that throws."); };

  EXPECT_THROW((void)Run(kHere, queue_), std::runtime_error);

  EXPECT_THAT(driver_.captures, SizeIs(1));
  EXPECT_FALSE(driver_.is_capturing);
}

TEST_F(ReplayedExecutableTest, NothingIsReplayedWhereTheProgramSaysSo) {
  ::setenv("ATTUNE_GRAPH_REPLAY", "0", 1);
  Open();
  ::unsetenv("ATTUNE_GRAPH_REPLAY");
  Make(kAlways);

  RunTimes(6, kHere, queue_);

  EXPECT_THAT(driver_.captures, IsEmpty());
}

TEST_F(ReplayedExecutableTest, GraphsGoWithTheExecutable) {
  RunTimes(3, kHere, queue_);
  ASSERT_THAT(driver_.graphs, Not(IsEmpty()));

  executable_.reset();

  EXPECT_THAT(driver_.graphs, IsEmpty());
}

}  // namespace
}  // namespace attune::cuda
