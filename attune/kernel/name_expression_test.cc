#include "attune/kernel/name_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json Scale(const std::string& function) {
  Json json = Json::parse(R"json({
    "attune_kernel_file": 6, "name": "scale", "operator": "kernel", "sources": ["scale.cu"],
    "sizes": {"run_time": ["n"]},
    "operands": [{"name": "x", "type": "f32", "shape": ["n"], "access": "inout"}],
    "parameters": [{"name": "WG", "values": [64, 128]}],
    "launches": [{"local": ["WG"], "groups": ["ceil_div(n, WG)"],
      "arguments": [{"operand": "x"}, {"int": "n"}]}],
    "reference": {"config": {}}, "tolerance": {}
})json");
  json["launches"][0]["function"] = function;
  return json;
}

std::string ErrorOf(const Json& json, KernelLanguage language = KernelLanguage::kCuda) {
  const auto file = ParseKernelFile(json.dump(), language);
  return file.ok() ? "none" : file.error().message();
}

TEST(NameExpressionTest, InstancesAndNamespacesAreTakenAsTheyAreWritten) {
  for (const char* function :
       {"scale<float, WG>", "image::scale<3>", "::scale<unsigned int, 2 * (WG + 1)>",
        "scale <std::pair<int, float[2]>>", "a::b::scale", "scale<(WG > 64), true>"}) {
    EXPECT_EQ(ErrorOf(Scale(function)), "none") << function;
  }
}

TEST(NameExpressionTest, WhatNoKernelCanBeCalledIsSaid) {
  const std::pair<const char*, const char*> kMistakes[] = {
      {"scale<3", "does not end with '>'"},
      {"scale<3>; int x", "holds ';', which no name of a kernel has"},
      {"scale<\"a\">", "holds '\"'"},
      {"<3>", "has no name in front of '<'"},
      {"::", "has no name in front of '<'"},
      {"a:::scale<3>", "has ':scale' where a name should be"},
      {"3::scale<3>", "has '3' where a name should be"},
      {"a b<3>", "has 'a b' where a name should be"},
      {"scale<3>\n#define WG", "holds a control character"}};
  for (const auto& [function, mistake] : kMistakes) {
    EXPECT_THAT(ErrorOf(Scale(function)), HasSubstr("/launches/0/function: ")) << function;
    EXPECT_THAT(ErrorOf(Scale(function)), HasSubstr(mistake)) << function;
  }
  EXPECT_THAT(ErrorOf(Scale("scale<" + std::string(300, '1') + ">")),
              HasSubstr("has 307 bytes; 1 to 256 are allowed"));
}

TEST(NameExpressionTest, OpenClHasNoTemplatesAndSaysSo) {
  Json json = Scale("scale<float, WG>");
  json["language"] = {"opencl", "cuda"};
  json["sources"] = {"scale.cl"};

  for (const KernelLanguage language : kKernelLanguages) {
    EXPECT_EQ(ErrorOf(json, language),
              "/launches/0/function: 'scale<float, WG>' is a kernel of CUDA C++, and OpenCL C has "
              "neither templates nor namespaces: say \"language\": \"cuda\", or name a kernel that "
              "is a C function.");
  }
}

TEST(NameExpressionTest, EarlierVersionsOfTheFormatHaveNone) {
  Json json = Scale("scale<float, WG>");
  json["attune_kernel_file"] = 5;

  EXPECT_EQ(ErrorOf(json),
            "/launches/0/function: 'scale<float, WG>' is a name of version 6 of the format; this "
            "file is of version 5.");
}

TEST(NameExpressionTest, EachInstanceIsAskedForOnce) {
  Json json = Scale("scale<float, WG>");
  const Json launch = json["launches"][0];
  for (const char* function : {"plain", "two::sum<WG>", "scale<float, WG>"}) {
    json["launches"].push_back(launch);
    json["launches"].back()["function"] = function;
  }
  const auto file = ParseKernelFile(json.dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.error().message();

  EXPECT_THAT(NameExpressionsOf(*file), ElementsAre("scale<float, WG>", "two::sum<WG>"));
  EXPECT_EQ(LastNameOf("two::sum<a::b>"), "sum");
  EXPECT_EQ(LastNameOf("scale <3>"), "scale");
  EXPECT_EQ(LastNameOf("plain"), "plain");
}

}  // namespace
}  // namespace attune::kernel
