// Calls on queues that are captured, as programs make them. The queues are the fake device's, which
// are in the state that a test puts them in; tests/runtime/cuda_serving_test.cc has real ones.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/device/device.h"
#include "tests/runtime/product_of_ones.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const auto kRight = AllOf(SizeIs(256), Each(16.0F));

class CapturedCalls : public ::testing::Test {
 protected:
  // One product on a queue in `state`. Nothing if the call fails.
  static std::vector<float> Product(attune_runtime* runtime, QueueState state) {
    std::vector<float> product;
    if (MultiplyOnes(runtime, 16, product, &state) != ATTUNE_OK) product.clear();
    return product;
  }

  const QueueState executed_{1, 0};
  const QueueState captured_{0, 5};
};

TEST_F(CapturedCalls, UnderInlineAFirstCallIsServedUntunedAndTheNextOneOutsideIsTuned) {
  RuntimeWorld world;
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  EXPECT_THAT(Product(runtime.get(), captured_), kRight) << attune_last_message();
  const uint64_t tunings_in_capture = CountersOf(runtime.get()).tunings;
  EXPECT_THAT(Product(runtime.get(), executed_), kRight) << attune_last_message();

  EXPECT_EQ(tunings_in_capture, 0u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_SKIPPED), HasSubstr("the queue of the call is captured"));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
}

TEST_F(CapturedCalls, UnderDeferredAFirstCallIsNotTunedInTheBackgroundEither) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_THAT(Product(runtime.get(), captured_), kRight) << attune_last_message();
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 0);
}

TEST_F(CapturedCalls, AWinnerThatCannotBeCapturedServesOutsideOfCapturesAlone) {
  RuntimeWorld world(
      "* sigma=0 time_ns=90000; fake.library time_ns=1000 fault=capture_fails; fake.tiled "
      "time_ns=50000");
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  EXPECT_THAT(Product(runtime.get(), executed_), kRight) << attune_last_message();
  const std::string executed = log.Candidate(ATTUNE_EVENT_MISS);
  EXPECT_THAT(Product(runtime.get(), captured_), kRight) << attune_last_message();
  const std::string captured = log.Candidate(ATTUNE_EVENT_MISS);

  EXPECT_THAT(executed, StartsWith("fake.library"));
  EXPECT_THAT(captured, Not(StartsWith("fake.library")));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
}

}  // namespace
}  // namespace attune
