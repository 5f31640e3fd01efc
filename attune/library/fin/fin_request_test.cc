#include "attune/library/fin/fin_request.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/ops/conv/conv.h"

namespace attune::fin {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Question OfConv() {
  Question question;
  question.step = Step::kPerfCompile;
  question.arch = "gfx90a";
  question.compute_units = 104;
  question.conv.direction = ConvDirection::kBackwardWeights;
  question.conv.batch = 128;
  question.conv.in_channels = 64;
  question.conv.out_channels = 256;
  question.conv.in = {1, 56, 56};
  question.solvers = {"ConvAsm1x1U"};
  return question;
}

TEST(FinRequest, ACommandHasTheWordsThatFinReads) {
  const auto text = RequestFor(OfConv());
  ASSERT_TRUE(text.ok()) << text.error().message();
  const Json commands = Json::parse(*text);

  ASSERT_EQ(commands.size(), 1U);
  const Json& command = commands[0];
  EXPECT_EQ(command["steps"], Json::array({"miopen_perf_compile"}));
  EXPECT_EQ(command["arch"], "gfx90a:sram-ecc+:xnack-");
  EXPECT_EQ(command["num_cu"], 104);
  EXPECT_EQ(command["direction"], 4);
  EXPECT_EQ(command["solvers"], Json::array({"ConvAsm1x1U"}));
  const Json& config = command["config"];
  EXPECT_EQ(config["cmd"], "conv");
  EXPECT_EQ(config["direction"], "W");
  EXPECT_EQ(config["in_layout"], "NCHW");
  EXPECT_EQ(config["in_d"], 1);
  EXPECT_EQ(config["conv_stride_d"], 0);
  EXPECT_EQ(config["dilation_d"], 0);
  EXPECT_EQ(config["out_channels"], 256);
}

TEST(FinRequest, AnEvaluationTakesAlongWhatWasCompiled) {
  Question question = OfConv();
  question.step = Step::kPerfEval;
  question.compiled["ConvAsm1x1U"] = {{"conv1x1u.s", " -DX", "bytes", std::string(32, '0'), 9}};

  const auto text = RequestFor(question);
  ASSERT_TRUE(text.ok()) << text.error().message();
  const Json command = Json::parse(*text)[0];

  EXPECT_EQ(command["steps"], Json::array({"alloc_buf", "fill_buf", "miopen_perf_eval"}));
  const Json& compiled = command["miopen_perf_compile_result"][0];
  EXPECT_EQ(compiled["solver_name"], "ConvAsm1x1U");
  EXPECT_EQ(compiled["perf_compiled"], true);
  EXPECT_EQ(compiled["kernel_objects"][0]["blob"], "Ynl0ZXM=");
  question.compiled.clear();
  EXPECT_EQ(RequestFor(question).status().code(), StatusCode::kInvalidArgument);
}

TEST(FinRequest, WhatFinWouldDoOtherwiseIsNotAsked) {
  const auto refusal = [](const auto& change) {
    Question question = OfConv();
    change(question);
    const auto text = RequestFor(question);
    EXPECT_FALSE(text.ok());
    EXPECT_EQ(text.status().code(), StatusCode::kUnsupported) << text.status().message();
    return text.status().message();
  };

  EXPECT_THAT(refusal([](Question& q) { q.arch = "gfx1100"; }), HasSubstr("no GPU 'gfx1100'"));
  EXPECT_THAT(refusal([](Question& q) { q.conv.type = DataType::kF64; }), HasSubstr("f64"));
  EXPECT_THAT(refusal([](Question& q) {
                q.conv.direction = ConvDirection::kForward;
                q.conv.bias = true;
              }),
              HasSubstr("without a bias"));
}

TEST(FinRequest, WhatIsKeptIsReadBackAndNothingElse) {
  const auto row = miopen::RowFor("a", "b", std::string(1000, 'x'));
  ASSERT_TRUE(row.ok());
  KeptBuild build;
  build.kernels = {{"conv1x1u.s", " -DX", row->blob, row->hash, 1000}};
  EXPECT_EQ(KeptBuildOf(TextOf(build)), build);
  build.databases = {{"miopen/gfx90a68.updb.txt", std::string("a\0b", 3)}};
  EXPECT_EQ(KeptBuildOf(TextOf(build)), build);

  for (const char* text : {"", "{}", "[1]", R"({"kernels":[]})", R"({"kernels":[],"databases":[]})",
                           R"({"kernels":[],"databases":{"a":"no base64"}})",
                           R"({"kernels":[],"databases":{"a/../../b":""}})",
                           R"({"kernels":[],"databases":{"/a":""}})"}) {
    EXPECT_EQ(KeptBuildOf(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace attune::fin
