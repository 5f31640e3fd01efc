#include "attune/tuner/own_kernel/tuned_size.h"

#include "attune/problem/size_distance.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/tuner/own_kernel/wisdom_text.h"

namespace attune {
namespace {

using kernel::OwnSizes;
using testing::HasSubstr;

TEST(TunedSizeTest, TheNearestSizeIsThatOfEachSizeAndNotOfTheirProduct) {
  const std::vector<TunedSize> tuned = {{{{"m", 1000000}, {"n", 1}}, {}, 1, 1},
                                        {{{"m", 900}, {"n", 1100}}, {}, 2, 2},
                                        {{{"m", 1000}}, {}, 3, 3}};

  const auto sorted = NearestFirst(tuned, {{"m", 1000}, {"n", 1000}});

  EXPECT_EQ(sorted[0]->time_ns, 2);
  EXPECT_EQ(sorted[1]->time_ns, 1);
  EXPECT_TRUE(std::isinf(SizeDistance(tuned[2].sizes, {{"m", 1000}, {"n", 1000}})));
  EXPECT_EQ(SizeDistance({{"m", 0}}, {{"m", 1}}), 1);
}

kernel::KernelFile Scale(const std::string& parameter) {
  nlohmann::json json = nlohmann::json::parse(R"json({
    "attune_kernel_file": 3, "name": "my-scale", "operator": "kernel", "sources": ["scale.cl"],
    "sizes": {"run_time": ["n"], "compile_time": ["width"]},
    "operands": [{"name": "x", "type": "f32", "shape": ["n"], "access": "inout"}],
    "parameters": [{"name": "WG", "values": [64, 32]}, {"name": "mode", "values": ["fast", "small"]}],
    "launches": [{"function": "scale", "local": ["WG"], "groups": ["ceil_div(n, WG)"],
      "arguments": [{"operand": "x"}]}],
    "reference": {"config": {}}, "tolerance": {}
})json");
  json["parameters"][0]["name"] = parameter;
  json["launches"][0]["local"][0] = parameter;
  json["launches"][0]["groups"][0] = "ceil_div(n, " + parameter + ")";
  return *kernel::ParseKernelFile(json.dump(), kernel::KernelLanguage::kOpenCl);
}

Wisdom WisdomOf(const kernel::KernelFile& file, const std::string& parameter) {
  return {&file,
          {"opencl", "A \"GPU\"", "gpu1", 2, {}},
          {{{{"n", 100}, {"width", 4}},
            {{parameter, int64_t{32}}, {"mode", std::string("small")}},
            2000,
            3000}}};
}

TEST(WisdomTextTest, JsonHasSizesConfigDefinesAndGeometry) {
  const kernel::KernelFile file = Scale("WG");

  const auto text = WisdomJson(WisdomOf(file, "WG"));

  ASSERT_TRUE(text.ok()) << text.error().message();
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["attune_wisdom"], 2);
  EXPECT_EQ(json["kernel"], "my-scale");
  const auto& choice = json["choices"][0];
  EXPECT_EQ(choice["sizes"]["n"], 100);
  EXPECT_EQ(choice["config"]["mode"], "small");
  EXPECT_EQ(choice["defines"], "#define WIDTH 4\n#define WG 32\n#define mode small\n");
  EXPECT_EQ(choice["launches"][0]["groups"], nlohmann::json::array({4}));
  EXPECT_EQ(choice["time_ns"], 2000);
}

TEST(WisdomTextTest, AHeaderQuotesWhatItHolds) {
  const kernel::KernelFile file = Scale("WG");

  const auto text = WisdomHeader(WisdomOf(file, "WG"));

  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("struct attune_my_scale_choice {"));
  EXPECT_THAT(*text, HasSubstr(R"({"A \"GPU\"", 100, 4, 32, "small",)"));
  EXPECT_THAT(*text, HasSubstr(R"({"scale", {32, 1, 1}, {4, 1, 1}, 0})"));
  EXPECT_THAT(*text, HasSubstr("attune_my_scale_choose(const char* device, long long n_, "));
}

TEST(WisdomTextTest, AParameterThatIsAMemberOfEveryChoiceIsRefusedByName) {
  const kernel::KernelFile file = Scale("time_ns");

  const auto text = WisdomHeader(WisdomOf(file, "time_ns"));

  EXPECT_EQ(text.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(text.status().message(), HasSubstr("'time_ns'"));
}

TEST(WisdomTextTest, TheTypeOfAParameterIsThatOfAllItsValues) {
  kernel::KernelFile file = Scale("WG");
  file.parameters[0].values = {int64_t{64}, int64_t{32}, 0.5};
  EXPECT_THAT(WisdomHeader(WisdomOf(file, "WG")).value(), HasSubstr("double WG;"));

  file.parameters[0].values = {int64_t{64}, int64_t{32}, std::string("all")};
  EXPECT_THAT(WisdomHeader(WisdomOf(file, "WG")).status().message(),
              HasSubstr("'WG' has words and numbers"));
}

TEST(WisdomTextTest, AParameterThatIsAKeywordIsRefusedByName) {
  const kernel::KernelFile file = Scale("inline");

  const Status status = WisdomHeader(WisdomOf(file, "inline")).status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("parameter 'inline'"));
  EXPECT_TRUE(WisdomJson(WisdomOf(file, "inline")).ok());
}

TEST(WisdomTextTest, AParameterThatIsAMacroOfTheHeadersIsRefusedByName) {
  for (const char* name :
       {"NULL", "NAN", "INFINITY", "HUGE_VAL", "HUGE_VALF", "M_PI", "M_PI_2l", "FP_NAN",
        "FP_ILOGB0", "MATH_ERRNO", "RAND_MAX", "BYTE_ORDER", "linux", "__LINE__", "_GNU_SOURCE"}) {
    const Status status = WisdomHeader(WisdomOf(Scale(name), name)).status();

    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << name;
    EXPECT_THAT(status.message(), HasSubstr(fmt::format("parameter '{}' is a macro", name)));
  }
  // Functions, macros with arguments, and names like those.
  for (const char* name : {"isnan", "log2", "strcmp", "size_t", "M_TILE", "FP_TYPE", "NULLS", "_x",
                           "Linux", "M_PIX"}) {
    EXPECT_TRUE(WisdomHeader(WisdomOf(Scale(name), name)).ok()) << name;
  }
}

}  // namespace
}  // namespace attune
