// Compares the output of `attune export --wisdom`, JSON and header, with the golden files. attune
// has no reader of it, so this test has one: it reads as a program would, and writes the result
// again.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/kernel/own_kernel.h"
#include "attune/tuner/own_kernel/wisdom_text.h"
#include "tests/golden/golden_file.h"

namespace attune {
namespace {

using Json = nlohmann::json;

ParameterValue ValueOf(const Json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

TunedSize TunedSizeOf(const Json& choice) {
  TunedSize tuned;
  for (const auto& [name, value] : choice.at("sizes").items()) {
    tuned.sizes[name] = value.get<int64_t>();
  }
  for (const auto& [name, value] : choice.at("config").items()) {
    tuned.config[name] = ValueOf(value);
  }
  tuned.time_ns = choice.at("time_ns").get<double>();
  tuned.default_time_ns = choice.at("default_time_ns").get<double>();
  return tuned;
}

class WisdomGoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = std::filesystem::path(ATTUNE_GOLDEN_DIR) / "kernel_file_v3.json";
    auto file = kernel::LoadOwnKernel(path, "opencl");
    ASSERT_TRUE(file.ok()) << file.status().message();
    file_ = *std::move(file);
    file_.compile_options = {"-cl-fast-relaxed-math", "-DN=\"a\""};
    file_.workspace_bytes = *Expression::Parse("n * 4");
    const Json golden = Json::parse(GoldenText("wisdom_v2.json"));
    wisdom_.file = &file_;
    wisdom_.device.backend = golden.at("language").get<std::string>();
    wisdom_.device.device = golden.at("device").get<std::string>();
    wisdom_.device.arch = golden.at("arch").get<std::string>();
    for (const Json& choice : golden.at("choices")) wisdom_.tuned.push_back(TunedSizeOf(choice));
  }

  kernel::KernelFile file_;
  Wisdom wisdom_;
};

TEST_F(WisdomGoldenTest, JsonIsReadAndWrittenAsEver) {
  const auto written = WisdomJson(wisdom_);

  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(wisdom_.tuned.size(), 2u);
  EXPECT_TRUE(IsGolden("wisdom_v2.json", *written, "wisdom.md"));
}

TEST_F(WisdomGoldenTest, HeaderOfTheSameIsWrittenAsEver) {
  const auto written = WisdomHeader(wisdom_);

  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_TRUE(IsGolden("wisdom_v2.h.txt", *written, "wisdom.md"));
}

// A program that reads version 1 finds everything in its place.
TEST_F(WisdomGoldenTest, Version2AddsToVersion1AndChangesNothing) {
  const Json before = Json::parse(GoldenText("wisdom_v1.json"));
  Json after = Json::parse(*WisdomJson(wisdom_));

  EXPECT_EQ(after.erase("compile_options"), 1u);
  after["attune_wisdom"] = 1;
  for (Json& choice : after["choices"]) choice["workspace_bytes"] = 0;

  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace attune
