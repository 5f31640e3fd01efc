#include "attune/kernel/capture/capture_call.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"

namespace attune::capture {
namespace {

using ::testing::HasSubstr;

class CaptureCallTest : public testing::Test {
 protected:
  LaunchDescription Twice() {
    LaunchDescription launch;
    launch.function = "twice";
    launch.source = "__kernel void twice(__global float* x, __local float* copy, int n) {}";
    launch.local = {2};
    launch.groups = {2};
    launch.arguments = {BufferOf(sizeof x_,
                                 [this](void* memory) {
                                   std::memcpy(memory, x_, sizeof x_);
                                   return Status::Ok();
                                 }),
                        LocalOf(8), ScalarOf(int32_t{4})};
    return launch;
  }

  std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-capture-call-test");
  float x_[4] = {1, 2, 3, 4};
};

TEST_F(CaptureCallTest, LaunchesOnceAndWritesTheKernelFile) {
  int launches = 0;

  const auto written = CaptureLaunch(
      Twice(),
      [&] {
        for (float& x : x_) x *= 2;
        ++launches;
        return Status::Ok();
      },
      scratch_->path());

  ASSERT_TRUE(written.ok()) << written.error().message();
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(written->path, scratch_->path() / "twice" / "twice.json");
  EXPECT_THAT(*ReadFile(written->path), HasSubstr("\"local_bytes\": 8"));
}

TEST_F(CaptureCallTest, WhatHindersIsAnError) {
  const auto nothing = [] { return Status::Ok(); };
  EXPECT_EQ(CaptureLaunch(Twice(), nothing, scratch_->path()).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(CaptureLaunch(
                Twice(), [] { return Unavailable("no device"); }, scratch_->path())
                .status()
                .message(),
            "no device");
  LaunchDescription launch = Twice();
  launch.groups = {2, 2};
  EXPECT_EQ(CaptureLaunch(launch, nothing, scratch_->path()).status().code(),
            StatusCode::kInvalidArgument);
  launch = Twice();
  launch.arguments[0].read = [](void*) { return Unavailable("lost"); };
  EXPECT_THAT(CaptureLaunch(launch, nothing, scratch_->path()).status().message(),
              HasSubstr("Reading argument 0 of twice: lost"));
}

}  // namespace
}  // namespace attune::capture
