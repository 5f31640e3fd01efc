// A launch that a program stores by one call of libattune.so, in C and in C++.
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/capture.hpp"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kSource =
    "__kernel void twice(__global float* x, __local float* copy, int n) {}";

// A program with the processor as its "device".
class CaptureInterfaceTest : public testing::Test {
 protected:
  Capture Twice() {
    Capture capture("twice", kSource);
    capture.Dimension(2, 2)
        .Buffer(sizeof x_, [this](void* memory) { std::memcpy(memory, x_, sizeof x_); })
        .Local(8)
        .Scalar(int32_t{4});
    return capture;
  }
  void Launch() {
    for (float& x : x_) x *= 2;
    ++launches_;
  }
  std::string folder() const { return scratch_->path().string(); }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-capture-interface");
  float x_[4] = {1, 2, 3, 4};
  int launches_ = 0;
};

TEST_F(CaptureInterfaceTest, ALaunchIsMadeOnceAndStoredAsAKernelFile) {
  const std::string path = Twice().Store(folder(), [this] { Launch(); });

  EXPECT_EQ(launches_, 1);
  EXPECT_EQ(path, folder() + "/twice/twice.json");
  const auto json = ReadFile(path);
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr("\"local_bytes\": 8"));
  EXPECT_THAT(*json, HasSubstr("\"n\": 4"));
}

TEST_F(CaptureInterfaceTest, WhatTheProgramThrowsComesOutOfTheCall) {
  EXPECT_THROW(Twice().Store(folder(), [] { throw std::out_of_range("no device"); }),
               std::out_of_range);

  Capture unreadable("twice", kSource);
  unreadable.Dimension(2, 2).Buffer(4, [](void*) { throw std::runtime_error("lost"); });
  EXPECT_THROW(unreadable.Store(folder(), [this] { Launch(); }), std::runtime_error);
  EXPECT_EQ(launches_, 0);
}

TEST_F(CaptureInterfaceTest, WhatIsNoLaunchOrChangesNothingIsAnError) {
  const auto code_of = [&](const Capture& capture) {
    try {
      capture.Store(folder(), [this] { ++launches_; });
      return ATTUNE_OK;
    } catch (const Error& error) {
      return error.code();
    }
  };

  EXPECT_EQ(code_of(Twice()), ATTUNE_FAILED_PRECONDITION);
  EXPECT_EQ(launches_, 1);
  EXPECT_EQ(code_of(Twice().Dimension(1, 1).Dimension(1, 1).Dimension(1, 1)),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(Twice().Dimension(1, 0)), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(Twice().Language("metal")), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("'metal'"));
  EXPECT_EQ(launches_, 1);
}

TEST_F(CaptureInterfaceTest, InCWhatTheProgramReturnsIsInTheMessage) {
  attune_capture_argument buffer{ATTUNE_CAPTURE_BUFFER, 0, sizeof x_, x_};
  attune_capture capture = ATTUNE_CAPTURE_INIT;
  capture.function = "twice";
  capture.source = kSource;
  capture.dimensions = 1;
  capture.local[0] = capture.groups[0] = 2;
  capture.arguments = &buffer;
  capture.argument_count = 1;
  capture.read = [](void*, const attune_capture_argument* argument, void* memory) {
    std::memcpy(memory, argument->value, argument->size_bytes);
    return 0;
  };
  capture.launch = [](void*) { return -5; };
  char* path = nullptr;

  EXPECT_EQ(attune_capture_launch(&capture, folder().c_str(), &path), ATTUNE_UNAVAILABLE);

  EXPECT_EQ(path, nullptr);
  EXPECT_THAT(attune_last_message(), HasSubstr("'launch' of the capture of twice returned -5."));
}

TEST_F(CaptureInterfaceTest, InCWhatWasNeverSetIsRefused) {
  attune_capture_argument argument{ATTUNE_CAPTURE_SCALAR, 0, 4, nullptr};
  attune_capture capture = ATTUNE_CAPTURE_INIT;
  const auto message_of = [&] {
    EXPECT_EQ(attune_capture_launch(&capture, folder().c_str(), nullptr), ATTUNE_INVALID_ARGUMENT);
    return std::string(attune_last_message());
  };

  EXPECT_THAT(message_of(), HasSubstr("needs its function"));
  capture.function = "twice";
  capture.source = kSource;
  capture.read = [](void*, const attune_capture_argument*, void*) { return 0; };
  capture.launch = [](void*) { return 0; };
  EXPECT_THAT(message_of(), HasSubstr("0 dimensions"));
  capture.dimensions = 1;
  capture.arguments = &argument;
  capture.argument_count = 1;
  EXPECT_THAT(message_of(), HasSubstr("Argument 0 of twice is a scalar without a value."));
  argument.kind = 7;
  EXPECT_THAT(message_of(), HasSubstr("has the kind 7"));
  capture.struct_size = 8;
  EXPECT_THAT(message_of(), HasSubstr("ATTUNE_CAPTURE_INIT"));
}

}  // namespace
}  // namespace attune
