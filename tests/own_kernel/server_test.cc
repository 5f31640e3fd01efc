// OwnKernelServer with a real kernel and some wrong configs.
#include "attune/tuner/own_kernel/own_kernel_server.h"

#include <stdlib.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/record/memory_store.h"
#include "attune/space/predicate.h"
#include "backends/opencl/opencl_backend.h"

namespace attune {
namespace {

using kernel::OwnSizes;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kKernel = ATTUNE_OWN_KERNEL_FOLDER "/axpy.json";

OwnSizes Elements(int64_t n) { return {{"n", n}}; }

TunedSize Tuned(int64_t n, int64_t wg, int64_t fault) {
  return {Elements(n), {{"WG", wg}, {"FAULT", fault}}, 1000, 1000};
}

class OwnKernelServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = backend_->Open("opencl:0");
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    device_ = *std::move(device);
    ::setenv("ATTUNE_KERNEL_PATH", kKernel, 1);
    place_.emplace(OwnKernelPlace{
        *backend_, "opencl:0", device_->target(), {}, store_, ATTUNE_BIN_DIR "/attune-evaluator"});
  }

  std::unique_ptr<OwnKernelServer> Serve(std::vector<TunedSize> tuned) {
    auto server = OwnKernelServer::Create(file_, *place_, *device_, std::move(tuned));
    EXPECT_TRUE(server.ok()) << server.error().message();
    return *std::move(server);
  }

  const std::unique_ptr<const Backend> backend_ = opencl::OpenClBackend({kKernel});
  kernel::KernelFile file_ = *kernel::LoadOwnKernel(kKernel, "opencl");
  std::unique_ptr<Device> device_;
  MemoryStore store_;
  std::optional<OwnKernelPlace> place_;
};

TEST_F(OwnKernelServerTest, EachSizeIsChosenAnew) {
  const auto server = Serve({Tuned(100, 16, 0), Tuned(5000, 256, 0)});

  const ServedConfig exact = **server->Select(Elements(5000));
  const ServedConfig near = **server->Select(Elements(120));

  EXPECT_EQ(exact.by, ServedBy::kExact);
  EXPECT_EQ(IntegerAt(exact.config, "WG"), 256);
  EXPECT_EQ(near.by, ServedBy::kNearest);
  EXPECT_EQ(IntegerAt(near.config, "WG"), 16);
  EXPECT_EQ(near.tuned_for, Elements(100));
  EXPECT_EQ((*server->Select(Elements(5000)))->by, ServedBy::kExact);
}

TEST_F(OwnKernelServerTest, WhatIsNotRightHereIsPassedOverWithTheReason) {
  const auto server = Serve({Tuned(101, 16, 2), Tuned(102, 16, 1), Tuned(400, 64, 0)});

  const ServedConfig served = **server->Select(Elements(100));

  EXPECT_EQ(served.by, ServedBy::kNearest);
  EXPECT_EQ(served.tuned_for, Elements(400));
  EXPECT_THAT(served.passed_over,
              ElementsAre(HasSubstr("elements of y are wrong"), HasSubstr("FAULT=1")));
}

TEST_F(OwnKernelServerTest, OneThatCrashesHereIsPassedOverByThisProcessToo) {
  const auto server = Serve({Tuned(110, 16, 4), Tuned(400, 64, 0)});

  const ServedConfig served = **server->Select(Elements(100));

  EXPECT_EQ(served.tuned_for, Elements(400));
  EXPECT_THAT(served.passed_over, ElementsAre(HasSubstr("FAULT=4,WG=16: Killed by signal")));
}

TEST_F(OwnKernelServerTest, WithoutAProgramForChildrenNothingOfOtherSizesServes) {
  place_.emplace(OwnKernelPlace{
      *backend_, "opencl:0", device_->target(), {}, store_, ATTUNE_BIN_DIR "/no-evaluator"});
  const auto server = Serve({Tuned(400, 64, 0)});

  EXPECT_EQ((*server->Select(Elements(100)))->by, ServedBy::kDefault);
  EXPECT_EQ((*server->Select(Elements(400)))->by, ServedBy::kExact);
}

TEST_F(OwnKernelServerTest, WhatAPredicateOfTheProgramRefusesServesNowhere) {
  file_.predicates.push_back(
      ConstraintOn({"WG", "n"}, "WG <= n and WG is not 64",
                   [](int64_t group, int64_t n) { return group <= n && group != 64; }));
  const auto server = Serve({Tuned(300, 256, 0), Tuned(400, 16, 0)});

  EXPECT_EQ((*server->Select(Elements(280)))->tuned_for, Elements(300));
  EXPECT_EQ((*server->Select(Elements(200)))->tuned_for, Elements(400));
  EXPECT_EQ(Text((*Serve({})->Select(Elements(100)))->config), "FAULT=0,WG=16");
}

TEST_F(OwnKernelServerTest, WhereNothingIsTunedTheDefaultServes) {
  const auto server = Serve({});

  const ServedConfig served = **server->Select(Elements(10));

  EXPECT_EQ(served.by, ServedBy::kDefault);
  EXPECT_EQ(Text(served.config), "FAULT=0,WG=64");
}

TEST_F(OwnKernelServerTest, LaunchesTakeOperandsByName) {
  const auto server = Serve({});
  const auto buffer = *device_->Allocate(64);

  const Status missing = server->Launch(Elements(4), {{"x", buffer->View(0)}});
  const Status wrong_size = server->Launch({{"m", 4}}, {});

  EXPECT_THAT(missing.message(), HasSubstr("Operand 'table' of kernel axpy is missing"));
  EXPECT_EQ(wrong_size.code(), StatusCode::kInvalidArgument);
}

TEST_F(OwnKernelServerTest, MoreSizesThanAreKeptAreServedAll) {
  const auto server = Serve({});

  for (size_t n = 2; n <= 2 * (OwnKernelServer::kMaxSizes + 2); n += 2) {
    ASSERT_TRUE(server->Select(Elements(static_cast<int64_t>(n))).ok()) << n;
  }

  EXPECT_EQ((*server->Select(Elements(2)))->by, ServedBy::kDefault);
}

}  // namespace
}  // namespace attune
