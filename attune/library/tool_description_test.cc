#include "attune/library/tool_description.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

Json Whole() {
  return Json::parse(R"({
    "attune_tool": 1, "name": "vadd", "version": "1.2", "operator": "vadd", "timeout_ms": 5000,
    "output": {"time": "T", "unit": "us"}, "success": {"never_prints": "FAILED"},
    "solvers": [{"name": "blocked", "version": 3, "argv": ["{folder}/vadd", "--n={n}", "{block}"],
                 "environment": {"MODE": "{mode}"}, "parameters": {"block": [64, 128], "mode": ["a"]},
                 "constraints": ["block <= n"], "applies": ["n % 2 == 0"]}]})");
}

TEST(ToolDescriptionTest, AWholeDescriptionIsRead) {
  const auto tool = ParseToolDescription(Whole().dump());

  ASSERT_TRUE(tool.ok()) << tool.error().message();
  EXPECT_EQ(tool->name, "vadd");
  EXPECT_EQ(tool->timeout_ns, 5'000'000'000);
  EXPECT_EQ(tool->output.time, "T");
  EXPECT_EQ(tool->output.unit_ns, 1e3);
  EXPECT_EQ(tool->never_prints, "FAILED");
  ASSERT_EQ(tool->solvers.size(), 1U);
  EXPECT_EQ(tool->solvers[0].version, 3);
  EXPECT_THAT(tool->solvers[0].fields, ElementsAre("n"));
}

struct Change {
  const char* pointer;
  Json value;  // Null: taken away.
  const char* message;
};

TEST(ToolDescriptionTest, EverythingThatIsWrongIsNamedWithItsPlace) {
  const Change changes[] = {
      {"/attune_tool", 2, "/: 'attune_tool' has to be 1"},
      {"/name", "Vadd", "/name: 'Vadd' is no word"},
      {"/timeout_ms", 0, "/timeout_ms: it has to be a whole number from 1"},
      {"/timeout_ms", nullptr, "/: there is no 'timeout_ms'"},
      {"/colour", "red", "/: the key 'colour' is unknown"},
      {"/devices", {"0", "0"}, "/devices/1: devices are ordinals"},
      {"/output/unit", "h", "/output/unit: it has to be ns, us, ms or s"},
      {"/output/assign", ",", "/output: separator and assign"},
      {"/solvers", Json::array(), "/solvers: it has to be an array of 1"},
      {"/solvers/0/argv", Json::array(), "/solvers/0/argv: it has to be"},
      {"/solvers/0/argv/0", "/bin/{n}", "/solvers/0/argv/0: of the program's path"},
      {"/solvers/0/argv/1", "{", "/solvers/0/argv/1: "},
      {"/solvers/0/version", -1, "/solvers/0/version: "},
      {"/solvers/0/parameters/device", {1}, "/solvers/0/parameters/device: this is no name"},
      {"/solvers/0/parameters/block", Json::array(), "/solvers/0/parameters/block: "},
      {"/solvers/0/parameters/block/0", {{"x", 1}}, "/solvers/0/parameters/block/0: "},
      {"/solvers/0/parameters/block/0", uint64_t{18446744073709551615U},
       "/solvers/0/parameters/block/0: 18446744073709551615 is larger than 9223372036854775807"},
      {"/solvers/0/constraints/0", "block <=", "/solvers/0/constraints/0: "},
      {"/solvers/0/environment/A=B", "x", "/solvers/0/environment/A=B: this is no name"},
      {"/success/prints", std::string(1, '\0'), "/success/prints: a text may hold no NUL"},
  };
  for (const Change& change : changes) {
    Json json = Whole();
    const Json::json_pointer pointer(change.pointer);
    if (change.value.is_null()) {
      json.at(pointer.parent_pointer()).erase(pointer.back());
    } else {
      json[pointer] = change.value;
    }
    const auto tool = ParseToolDescription(json.dump());
    ASSERT_FALSE(tool.ok()) << change.pointer;
    EXPECT_THAT(tool.error().message(), StartsWith("line 1, column ")) << change.pointer;
    EXPECT_THAT(tool.error().message(), HasSubstr(std::string(": ") + change.message))
        << change.pointer;
    EXPECT_THAT(tool.error().message(), Not(EndsWith(".."))) << change.pointer;
  }
}

TEST(ToolDescriptionTest, WhatIsNoJsonOrTooLongIsRefused) {
  EXPECT_THAT(ParseToolDescription("{").status().message(), HasSubstr("not JSON"));
  EXPECT_THAT(ParseToolDescription(R"({"name": "a", "name": "b"})").status().message(),
              HasSubstr("/name: the key 'name' stands twice"));
  EXPECT_THAT(ParseToolDescription("[]").status().message(), HasSubstr("has to be an object"));
  EXPECT_THAT(ParseToolDescription(std::string(kMaxToolFileBytes + 1, ' ')).status().message(),
              HasSubstr("1048577"));
}

}  // namespace
}  // namespace attune
