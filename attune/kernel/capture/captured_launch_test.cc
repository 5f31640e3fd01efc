#include "attune/kernel/capture/captured_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/kernel/capture/sample_launch_test.h"

namespace attune::capture {
namespace {

using ::testing::HasSubstr;

TEST(CapturedLaunchTest, WhatWasWrittenIsRead) {
  const SampleLaunch sample;
  const std::string bytes = SpoolOf(sample.Launch());

  const auto launch = ReadLaunch(bytes);

  ASSERT_TRUE(launch.ok()) << launch.error().message();
  EXPECT_EQ(launch->function, "Saxpy");
  EXPECT_EQ(launch->number, 3u);
  EXPECT_EQ(launch->arguments[0].before, sample.x);
  EXPECT_EQ(launch->arguments[0].after, std::nullopt);
  EXPECT_EQ(launch->arguments[1].after, sample.after);
  EXPECT_EQ(ShapeOf(*launch), ShapeOf(sample.Launch()));
}

TEST(CapturedLaunchTest, HeadersMakeLaunchesDistinct) {
  const SampleLaunch sample;
  CapturedLaunch launch = sample.Launch();
  launch.headers = {{"scale.h", "#define SCALE 2"}};

  EXPECT_NE(ShapeOf(launch), ShapeOf(sample.Launch()));
}

TEST(CapturedLaunchTest, EveryPrefixIsCutOff) {
  const std::string bytes = SpoolOf(SampleLaunch().Launch());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReadLaunch(bytes.substr(0, length)).status().code(), StatusCode::kDataLoss) << length;
  }
}

TEST(CapturedLaunchTest, WhatNoLibraryWritesIsRefused) {
  const SampleLaunch sample;
  const auto expect = [](const CapturedLaunch& launch, const char* what) {
    const std::string bytes = SpoolOf(launch);
    const auto read = ReadLaunch(bytes);
    ASSERT_FALSE(read.ok()) << what;
    EXPECT_THAT(read.error().message(), HasSubstr(what));
  };

  CapturedLaunch launch = sample.Launch();
  launch.geometry.local[0] = 3;
  expect(launch, "4 work-items in groups of 3");
  launch = sample.Launch();
  launch.geometry.dimensions = 4;
  expect(launch, "4 dimensions");
  launch = sample.Launch();
  launch.arguments[1].told.same_as = 1;
  expect(launch, "argument 1 in another format");
  launch = sample.Launch();
  launch.arguments[3].told.same_as = 2;
  expect(launch, "which is none");
  launch = sample.Launch();
  launch.arguments[0].told.size_bytes = 17;
  expect(launch, "not all of the buffer of argument 0");
  std::string bytes = SpoolOf(sample.Launch());
  bytes[7] = '2';
  EXPECT_THAT(ReadLaunch(bytes).status().message(), HasSubstr("another version"));
  bytes.assign(kSpoolMagic, sizeof kSpoolMagic);
  AddRecord(SpoolTag::kName, 1 << 30, std::string("x"), bytes);
  EXPECT_THAT(ReadLaunch(bytes).status().message(), HasSubstr("names argument 1073741824"));
}

}  // namespace
}  // namespace attune::capture
