#include "attune/kernel/capture/captured_kernel.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/gzip.h"
#include "attune/kernel/capture/sample_launch_test.h"

namespace attune::capture {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json JsonOf(const CapturedLaunch& launch) {
  const auto kernel = MakeCapturedKernel(launch, "saxpy");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message();
  return kernel.ok() ? Json::parse(kernel->json) : Json();
}

std::string Hindrance(const CapturedLaunch& launch) {
  const auto kernel = MakeCapturedKernel(launch, "saxpy");
  return kernel.ok() ? "nothing" : kernel.error().message();
}

TEST(CapturedKernelTest, IsTheLaunchWithItsDataAndItsResults) {
  const SampleLaunch sample;

  const auto kernel = MakeCapturedKernel(sample.Launch(), "saxpy");

  ASSERT_TRUE(kernel.ok()) << kernel.error().message();
  const Json json = Json::parse(kernel->json);
  EXPECT_EQ(json["description"], "Captured: launch 3 of Saxpy on a ?device?");
  EXPECT_EQ(json["sources"], Json({"saxpy.defines.cl", "saxpy.cl"}));
  EXPECT_EQ(json["parameters"], Json::parse(R"([{"name": "WG", "values": [2]}])"));
  EXPECT_EQ(json["sizes"], Json::parse(R"({"run_time": ["n"], "usual": {"n": 4}})"));
  EXPECT_EQ(json["launches"][0]["arguments"],
            Json::parse(R"([{"operand": "x"}, {"operand": "y"}, {"float": 2.0}, {"int": "n"}])"));
  EXPECT_EQ(json["launches"][0]["groups"], Json({2}));
  EXPECT_EQ(json["operands"][0]["access"], "in");
  EXPECT_EQ(json["operands"][1]["access"], "inout");
  EXPECT_DOUBLE_EQ(json["tolerance"]["absolute"].get<double>(), 9e-5);
  EXPECT_EQ(kernel->files.at("saxpy.defines.cl"), "#define HALF 0.5f\n");
  EXPECT_EQ(*Gunzip(kernel->files.at("y.after.gz")), sample.after);
  EXPECT_THAT(kernel->notes, IsEmpty());
}

TEST(CapturedKernelTest, ScalarsOfOtherTypesAreTheirBytes) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.source = "kernel void Saxpy(global const float* x, global float* y, float4 a, uint n) {}";
  launch.arguments[2].value = BytesOf<float>({1, 0, 0, 2});
  launch.arguments[3].value = BytesOf<uint32_t>({0xfffffff0});

  const Json json = JsonOf(launch);

  EXPECT_EQ(json["launches"][0]["arguments"][2]["bytes"], "0000803f000000000000000000000040");
  EXPECT_EQ(json["launches"][0]["arguments"][3]["bytes"], "f0ffffff");
  EXPECT_EQ(json["sizes"]["run_time"], Json::array());
}

TEST(CapturedKernelTest, NamesDoNotMeet) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.options = "-DN=1 -Dlanguage=2";
  launch.source =
      "kernel void Saxpy(global const float* arch, global float* y, float alpha, int n) {}";

  const Json json = JsonOf(launch);

  EXPECT_EQ(json["sizes"]["run_time"], Json({"n_"}));
  EXPECT_EQ(json["operands"][0]["name"], "arch_");
  // `language` is a name of the device's; the macro is in a source.
  EXPECT_EQ(json["parameters"].size(), 1u);
}

TEST(CapturedKernelTest, ABufferThatIsTwoArgumentsIsOneOperand) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.arguments[0].after = launch.arguments[0].before;
  launch.arguments[1] = launch.arguments[0];
  launch.arguments[1].told.same_as = 0;
  SampleLaunch other;
  launch.arguments[0].after = other.after;

  const Json json = JsonOf(launch);

  EXPECT_EQ(json["operands"].size(), 1u);
  EXPECT_EQ(json["launches"][0]["arguments"][1]["operand"], "x");
}

TEST(CapturedKernelTest, UnwrittenNumbersThatAreNoneBecomeZero) {
  SampleLaunch sample;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  sample.before = BytesOf<float>({1, 1, 1, nan});
  sample.after = BytesOf<float>({3, 5, 7, nan});

  const auto kernel = MakeCapturedKernel(sample.Launch(), "saxpy");

  ASSERT_TRUE(kernel.ok()) << kernel.error().message();
  EXPECT_EQ(*Gunzip(kernel->files.at("y.after.gz")), BytesOf<float>({3, 5, 7, 0}));
  EXPECT_THAT(kernel->notes, ElementsAre(HasSubstr("1 elements of y")));
  sample.after = BytesOf<float>({3, 5, nan, nan});
  EXPECT_THAT(Hindrance(sample.Launch()), HasSubstr("wrote nan into element 2 of y"));
}

TEST(CapturedKernelTest, WhatAKernelFileCannotSayIsRefusedWithTheReason) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.source.clear();
  EXPECT_EQ(Hindrance(launch), "its program has no source, and its driver gives no binary of it");
  launch = SampleLaunch().Launch();
  launch.function = "f<int>";
  EXPECT_THAT(Hindrance(launch), HasSubstr("its name 'f<int>'"));
  launch = SampleLaunch().Launch();
  launch.arguments[0].told = {};
  launch.arguments[0].value = std::string(8, '\1');
  EXPECT_THAT(Hindrance(launch), HasSubstr("argument 0 (x) is a buffer that was made"));
  launch.arguments[0].told.kind = SpoolArgumentKind::kNull;
  EXPECT_THAT(Hindrance(launch), HasSubstr("argument 0 (x) has no buffer"));
  launch = SampleLaunch().Launch();
  launch.arguments[1].after.reset();
  launch.source = "kernel void Saxpy(global const float* x, global const float* y, float a, int n)";
  EXPECT_THAT(Hindrance(launch), HasSubstr("no operand is written"));
}

TEST(CapturedKernelTest, OfAProgramWithoutASourceItsBinaryIsLaunched) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.source.clear();
  launch.binary = std::string("poclbin\0\1", 9);

  const auto kernel = MakeCapturedKernel(launch, "saxpy");

  ASSERT_TRUE(kernel.ok()) << kernel.error().message();
  const Json json = Json::parse(kernel->json);
  EXPECT_EQ(json["binary"], "saxpy.bin");
  EXPECT_FALSE(json.contains("sources"));
  EXPECT_EQ(json["parameters"], Json::array());
  EXPECT_EQ(kernel->files.at("saxpy.bin"), launch.binary);
  EXPECT_THAT(kernel->notes, Contains(HasSubstr("made from a binary")));
}

TEST(CapturedKernelTest, AnInstanceOfATemplateIsCalledAsItWasAskedFor) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.language = "cuda";
  launch.function = "blas::Saxpy<float, WG>";
  launch.source =
      "namespace blas { template <class T, int kGroup>\n"
      "__global__ void Saxpy(const T* x, T* y, T a, int n) {} }";

  const Json json = JsonOf(launch);

  EXPECT_EQ(json["launches"][0]["function"], "blas::Saxpy<float, WG>");
  EXPECT_EQ(json["operands"][1]["type"], "f32");
  EXPECT_EQ(json["launches"][0]["arguments"][2], Json({{"float", 2.0}}));
  EXPECT_EQ(KernelNameOf(launch.function), "saxpy");
  launch.function = "blas::Saxpy<\"x\">";
  EXPECT_THAT(Hindrance(launch), HasSubstr("its name"));
}

TEST(CapturedKernelTest, ImagesAreRefusedAndStructuresThatAreCalledSoAreNot) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.source =
      "kernel void Saxpy(global const image_line* x, global pipeline* y, float a, int n) {}";
  EXPECT_EQ(Hindrance(launch), "nothing");
  launch.source =
      "kernel void Saxpy(read_only image2d_array_t x, global float* y, float a, int n) {}";
  EXPECT_THAT(Hindrance(launch), HasSubstr("argument 0 (x) is of type image2d_array_t"));
}

TEST(CapturedKernelTest, TheWorkGroupThatTheDriverChoseIsOneThatDivides) {
  CapturedLaunch launch = SampleLaunch().Launch();
  launch.geometry.has_local = 0;
  launch.geometry.global[0] = 130;
  launch.geometry.local[0] = 1;
  EXPECT_EQ(JsonOf(launch)["launches"][0]["local"], Json({26}));
  launch.geometry.required[0] = 10;
  EXPECT_EQ(JsonOf(launch)["launches"][0]["groups"], Json({13}));
}

TEST(CapturedKernelTest, NamesAreThoseOfKernels) {
  EXPECT_EQ(KernelNameOf("Sgemm NN"), "sgemm-nn");
  EXPECT_EQ(KernelNameOf("_Z5saxpyiPf"), "saxpy");
  EXPECT_EQ(KernelNameOf("_Z99saxpy"), "_z99saxpy");
  EXPECT_EQ(KernelNameOf(std::string(100, 'x')).size(), 32u);
  EXPECT_EQ(KernelNameOf(""), "kernel");
}

}  // namespace
}  // namespace attune::capture
