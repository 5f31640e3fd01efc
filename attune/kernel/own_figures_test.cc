#include "attune/kernel/own_figures.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attune::kernel {
namespace {

using Json = nlohmann::json;

Json Described() {
  return Json::parse(R"({
    "attune_kernel_file": 7, "name": "series", "operator": "kernel", "sources": ["series.cl"],
    "sizes": {"run_time": ["n"]},
    "operands": [{"name": "x", "type": "f32", "shape": ["n"], "access": "in"},
                 {"name": "y", "type": "f32", "shape": ["n", 2], "access": "out"}],
    "parameters": [{"name": "TERMS", "values": [4, 8]}],
    "workspace_bytes": "4 * n",
    "launches": [{"function": "series", "local": [1], "groups": ["n"],
                  "arguments": [{"operand": "x"}, {"operand": "y"}, {"operand": "workspace"}]}],
    "reference": {"config": {}}, "tolerance": {"absolute": 1},
    "figures": {
      "error": {"from": {"operand": "workspace", "type": "f32", "count": "n", "reduce": "max"}},
      "gain": {"from": {"operand": "y", "reduce": "sum", "first": "n"}, "direction": "maximize",
               "unit": "dB"},
      "speed": {"from": {"printed": "GB/s", "reduce": "last"}, "direction": "maximize"}}
  })");
}

Result<KernelFile> Parse(const Json& json) {
  return ParseKernelFile(json.dump(), KernelLanguage::kOpenCl);
}

TEST(OwnFiguresTest, AreWhereTheFileSays) {
  const auto file = Parse(Described());
  ASSERT_TRUE(file.ok()) << file.error().message();

  const OwnFigure* const error = FindFigure(*file, "error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->objective, (Objective{"error", Direction::kMinimize, ""}));
  EXPECT_EQ(Text(*SourceOf(*error, *file, {{"n", 7}})), "workspace f32 0 7 max");

  const OwnFigure* const gain = FindFigure(*file, "gain");
  ASSERT_NE(gain, nullptr);
  EXPECT_EQ(gain->objective, (Objective{"gain", Direction::kMaximize, "dB"}));
  EXPECT_EQ(Text(*SourceOf(*gain, *file, {{"n", 7}})), "y f32 7 7 sum");
  EXPECT_EQ(FindFigure(*file, "loss"), nullptr);
}

TEST(OwnFiguresTest, MayBePrinted) {
  const auto file = Parse(Described());
  ASSERT_TRUE(file.ok()) << file.error().message();

  const OwnFigure* const speed = FindFigure(*file, "speed");

  ASSERT_NE(speed, nullptr);
  EXPECT_EQ(speed->objective, (Objective{"speed", Direction::kMaximize, ""}));
  EXPECT_EQ(Text(*SourceOf(*speed, *file, {{"n", 7}})), "printed GB/s last");
}

TEST(OwnFiguresTest, AFigureWithoutElementsHasNoSource) {
  Json json = Described();
  json["figures"]["gain"]["from"]["first"] = "2 * n";
  const auto file = Parse(json);
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto source = SourceOf(*FindFigure(*file, "gain"), *file, {{"n", 7}});

  ASSERT_FALSE(source.ok());
  EXPECT_THAT(source.error().message(), testing::HasSubstr("reads 0 elements"));
}

struct Refused {
  std::function<void(Json&)> change;
  const char* place;
  const char* reason;
};

TEST(OwnFiguresTest, WhatCannotBeReadIsRefusedByPlace) {
  const Refused cases[] = {
      {[](Json& j) { j["attune_kernel_file"] = 4; }, "/figures", "version 5"},
      {[](Json& j) { j["figures"] = 3; }, "/figures", "object"},
      {[](Json& j) { j["figures"]["time"] = j["figures"]["gain"]; }, "/figures/time", "taken"},
      {[](Json& j) { j["figures"]["A b"] = j["figures"]["gain"]; }, "/figures/A b", "no name"},
      {[](Json& j) { j["figures"]["gain"]["direction"] = "up"; }, "/figures/gain/direction",
       "'up' is neither 'minimize' nor 'maximize'."},
      {[](Json& j) { j["figures"]["gain"]["from"]["operand"] = "x"; }, "/figures/gain/from/operand",
       "written"},
      {[](Json& j) { j["figures"]["gain"]["from"]["type"] = "f32"; }, "/figures/gain/from/type",
       "leave it out"},
      {[](Json& j) { j["figures"]["gain"]["from"]["first"] = "TERMS"; }, "/figures/gain/from/first",
       "not a size"},
      {[](Json& j) { j["figures"]["gain"]["from"]["reduce"] = "mean"; },
       "/figures/gain/from/reduce", "'mean' is not one of first, max, min, sum."},
      {[](Json& j) { j["figures"]["error"]["from"].erase("type"); }, "/figures/error/from", "type"},
      {[](Json& j) { j["figures"]["error"]["from"].erase("count"); }, "/figures/error/from",
       "count"},
      {[](Json& j) { j.erase("workspace_bytes"); }, "/", "workspace"},
      {[](Json& j) { j["figures"]["gain"]["form"] = 1; }, "/figures/gain/form", ""},
      {[](Json& j) { j["figures"]["gain"]["from"] = 1; }, "/figures/gain/from", "object"},
      {[](Json& j) { j["figures"]["gain"]["from"]["reduce"] = "last"; },
       "/figures/gain/from/reduce", "'last' is not one of first, max"},
      {[](Json& j) { j["attune_kernel_file"] = 6; }, "/figures/speed/from/printed", "version 7"},
      {[](Json& j) { j["figures"]["speed"]["from"]["printed"] = 1; }, "/figures/speed/from/printed",
       ""},
      {[](Json& j) { j["figures"]["speed"]["from"]["printed"] = "GB per s"; },
       "/figures/speed/from/printed", "'GB per s' is not one word"},
      {[](Json& j) { j["figures"]["speed"]["from"]["reduce"] = "mean"; },
       "/figures/speed/from/reduce", "'mean' is not one of first, last, max"},
      {[](Json& j) { j["figures"]["speed"]["from"]["operand"] = "y"; },
       "/figures/speed/from/operand", ""},
      {[](Json& j) { j["figures"]["speed"]["from"]["count"] = 2; }, "/figures/speed/from/count",
       ""},
  };
  for (const Refused& refused : cases) {
    Json json = Described();
    refused.change(json);

    const auto file = Parse(json);

    ASSERT_FALSE(file.ok()) << refused.place << refused.reason;
    EXPECT_THAT(file.error().message(), testing::HasSubstr(refused.place));
    EXPECT_THAT(file.error().message(), testing::HasSubstr(refused.reason));
  }
}

}  // namespace
}  // namespace attune::kernel
