#include "attune/library/fin/fin_response.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/base64.h"

namespace attune::fin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

Json KernelJson() {
  const auto row = miopen::RowFor("a", "b", std::string(1000, 'x'));
  EXPECT_TRUE(row.ok());
  return {{"kernel_file", "conv1x1u.s"},
          {"comp_options", " -Wa,-defsym,a=1"},
          {"blob", ToBase64(row->blob)},
          {"md5_sum", row->hash},
          {"uncompressed_size", 1000}};
}

Json EvaluatedJson(const std::string& solver) {
  return {{"solver_name", solver},
          {"algorithm", "miopenConvolutionFwdAlgoDirect"},
          {"evaluated", true},
          {"reason", "Success"},
          {"tunable", true},
          {"params", "1,2"},
          {"time", 1.5},
          {"workspace", 64},
          {"kernel_objects", Json::array({KernelJson()})}};
}

std::string ResponseOf(const Json& outcomes, const char* field = "miopen_perf_eval_result") {
  return Json::array({{{"process_env", {"SECRET=1"}}}, {{"db_key", "key"}, {field, outcomes}}})
      .dump();
}

Outcome OnlyOutcome(const Json& outcome) {
  const auto answer = ParseResponse(ResponseOf(Json::array({outcome})), Step::kPerfEval);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return answer.ok() && answer->outcomes.size() == 1 ? answer->outcomes[0] : Outcome();
}

TEST(FinResponse, AnOutcomeThatSucceededHasItsTimeItsParametersAndItsKernels) {
  const auto answer =
      ParseResponse(ResponseOf(Json::array({EvaluatedJson("A")})), Step::kPerfEval, {"A"});

  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->find_key, "key");
  ASSERT_EQ(answer->outcomes.size(), 1U);
  const Outcome& outcome = answer->outcomes[0];
  EXPECT_TRUE(outcome.succeeded()) << outcome.failure;
  EXPECT_EQ(outcome.time_ms, 1.5);
  EXPECT_EQ(outcome.workspace_bytes, 64);
  EXPECT_EQ(outcome.params, "1,2");
  ASSERT_EQ(outcome.kernels.size(), 1U);
  const miopen::KernelRow row = RowOf(outcome.kernels[0], "gfx90a");
  EXPECT_EQ(row.name, "conv1x1u.s.o");
  EXPECT_EQ(row.options, " -Wa,-defsym,a=1 -mcpu=gfx90a");
  EXPECT_EQ(*miopen::CodeOf(row), std::string(1000, 'x'));
}

struct Fault {
  const char* field;
  Json value;  // Null: left out.
  const char* failure;
};

TEST(FinResponse, NoSuccessIsBelievedWithoutAResult) {
  const Fault faults[] = {
      {"time", 0.0, "its time is 0"},
      {"time", -1, "its time is -1"},
      {"time", 1e-308, "its time is 1e-308"},
      {"time", 1e308, "its time is 1e+308"},
      {"time", "1", "its time is \"1\""},
      {"time", nullptr, "its time is missing"},
      {"workspace", -1, "workspace is no size"},
      {"workspace", 1.5, "workspace is no size"},
      {"workspace", 18446744073709551615U, "workspace is no size"},
      {"evaluated", false, "no reason is told"},
      {"evaluated", 1, "no reason is told"},
      {"reason", "Invoker returned time = 0", "Invoker returned time = 0"},
      {"kernel_objects", "none", "nothing of its kernels"},
      {"kernel_objects", Json::array({1}), "a kernel is no object"},
  };
  for (const Fault& fault : faults) {
    Json json = EvaluatedJson("A");
    if (fault.value.is_null()) {
      json.erase(fault.field);
    } else {
      json[fault.field] = fault.value;
    }
    const Outcome outcome = OnlyOutcome(json);
    EXPECT_THAT(outcome.failure, HasSubstr(fault.failure)) << fault.field;
    EXPECT_EQ(outcome.time_ms, 0) << fault.field;
    EXPECT_THAT(outcome.kernels, IsEmpty()) << fault.field;
  }
  for (const char* const none : {"NaN", "Infinity", "-Infinity"}) {
    std::string response = ResponseOf(Json::array({EvaluatedJson("A")}));
    response.replace(response.find("1.5"), 3, none);
    const auto answer = ParseResponse(response, Step::kPerfEval);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_THAT(answer->outcomes[0].failure, HasSubstr("its time is "));
  }
  // It also leaves the reason of good outcomes out.
  Json silent = EvaluatedJson("A");
  silent.erase("reason");
  EXPECT_TRUE(OnlyOutcome(silent).succeeded());
}

// Some bytes of bzip2 that unpack to `code_bytes` zeros.
Json BombJson(int64_t code_bytes, int64_t said_bytes) {
  const auto row = miopen::RowFor("a", "b", std::string(static_cast<size_t>(code_bytes), '\0'));
  EXPECT_TRUE(row.ok());
  Json kernel = KernelJson();
  kernel["blob"] = ToBase64(row->blob);
  kernel["md5_sum"] = row->hash;
  kernel["uncompressed_size"] = said_bytes;
  return kernel;
}

TEST(FinResponse, WhatUnpacksToMoreThanItSaysIsRefusedWithTheLimit) {
  Json json = EvaluatedJson("A");
  json["kernel_objects"] = Json::array({BombJson(int64_t{1} << 20, 1000)});

  EXPECT_THAT(OnlyOutcome(json).failure, HasSubstr("more than the 1000 bytes"));
}

TEST(FinResponse, KernelsThatUnpackToTooMuchTogetherAreRefusedWithTheLimitAndNotUnpacked) {
  const Json sound = BombJson(int64_t{1} << 20, int64_t{1} << 20);
  Json json = EvaluatedJson("A");
  json["kernel_objects"] = Json::array({sound, BombJson(1000, kMaxCodeBytesPerSolver)});
  const Outcome together = OnlyOutcome(json);
  json["kernel_objects"] = Json::array({BombJson(1000, kMaxCodeBytesPerSolver + 1)});

  EXPECT_THAT(OnlyOutcome(json).failure, HasSubstr("more than 1073741824 bytes of code"));
  EXPECT_THAT(together.failure, HasSubstr("more than 1073741824 bytes of code"));
  EXPECT_THAT(together.kernels, IsEmpty());
}

TEST(FinResponse, AKernelThatIsDamagedFailsItsSolverAndNoOther) {
  const Fault faults[] = {{"md5_sum", std::string(32, '0'), "conv1x1u.s"},
                          {"md5_sum", "Failed to compress kernel", "its hash is"},
                          {"uncompressed_size", 0, "its size is 0"},
                          {"uncompressed_size", 999, "conv1x1u.s"},
                          {"blob", "???", "no base64"},
                          {"blob", "AAAA", "conv1x1u.s"},
                          {"kernel_file", nullptr, "it has no file"}};
  for (const Fault& fault : faults) {
    Json bad = EvaluatedJson("Bad");
    bad["kernel_objects"][0][fault.field] = fault.value;
    const auto answer =
        ParseResponse(ResponseOf(Json::array({bad, EvaluatedJson("Good")})), Step::kPerfEval);
    ASSERT_TRUE(answer.ok());
    EXPECT_THAT(answer->outcomes[0].failure, HasSubstr(fault.failure)) << fault.field;
    EXPECT_THAT(answer->outcomes[0].failure, Not(HasSubstr("..")));
    EXPECT_TRUE(answer->outcomes[1].succeeded());
  }
}

TEST(FinResponse, ASolverThatCallsALibraryHasNoKernelsAndIsCompiledAllTheSame) {
  const Json gemm = {{"solver_name", "GemmFwd1x1_0_1"},
                     {"find_compiled", true},
                     {"reason", "Success"},
                     {"params", ""},
                     {"workspace", 0},
                     {"kernel_objects", Json::array()}};
  const auto answer = ParseResponse(ResponseOf(Json::array({gemm}), "miopen_find_compile_result"),
                                    Step::kFindCompile, {"GemmFwd1x1_0_1", "Forgotten"});

  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->outcomes.size(), 2U);
  EXPECT_TRUE(answer->outcomes[0].succeeded()) << answer->outcomes[0].failure;
  EXPECT_EQ(answer->outcomes[1].solver, "Forgotten");
  EXPECT_EQ(answer->outcomes[1].failure, "fin says nothing of it.");
}

TEST(FinResponse, ListsOfSolversAreRead) {
  const auto listed = ParseResponse(
      R"([{"process_env":[]},{"all_solvers":[{"id":"1","name":"ConvAsm3x3U","tunable":"1",
          "dynamic":"0","type":"convolution"}]}])",
      Step::kSolvers);
  ASSERT_TRUE(listed.ok()) << listed.error().message();
  EXPECT_THAT(listed->solvers,
              ElementsAre(ListedSolver{1, "ConvAsm3x3U", "convolution", true, false}));

  const auto applicable =
      ParseResponse(R"([{},{"applicable_solvers":["A","B"]}])", Step::kApplicability);
  ASSERT_TRUE(applicable.ok());
  EXPECT_THAT(applicable->applicable, ElementsAre("A", "B"));
}

// Files that MIFin keeps of its own runs (src/tests), cut to one solver each.
TEST(FinResponse, WhatTheRealOneWroteIsRead) {
  const auto searched = ParseResponse(
      R"([{"process_env":["HOME=/root"]},
          {"arch":"gfx906","config_tuna_id":null,"direction":1,"is_winograd_only":false,
           "db_key":"128-28-28-3x3-128-28-28-32-1x1-1x1-1x1-0-NCHW-BF16-F","input":{},
           "network_config":"128x28x28x3x3x128x28x28x32xNCHWxBF16x1x1x1x1x1x1x1xF",
           "miopen_perf_eval_result":[{"solver_name":"ConvHipImplicitGemmV4R1Fwd",
             "algorithm":"miopenConvolutionFwdAlgoImplicitGEMM","evaluated":true,
             "reason":"Success","params":"16,64,8,2,2,2,4,4,4,4,8,2,16,1,4,64",
             "time":1.862347960472107,"workspace":0,"layout":"NCHW","data_type":5,"direction":0,
             "bias":0}]}])",
      Step::kPerfEval, {"ConvHipImplicitGemmV4R1Fwd"});
  ASSERT_TRUE(searched.ok()) << searched.error().message();
  ASSERT_EQ(searched->outcomes.size(), 1U);
  EXPECT_TRUE(searched->outcomes[0].succeeded()) << searched->outcomes[0].failure;
  EXPECT_EQ(searched->outcomes[0].time_ms, 1.862347960472107);
  EXPECT_EQ(searched->outcomes[0].params, "16,64,8,2,2,2,4,4,4,4,8,2,16,1,4,64");
  EXPECT_EQ(searched->find_key, "128-28-28-3x3-128-28-28-32-1x1-1x1-1x1-0-NCHW-BF16-F");

  const auto timed = ParseResponse(
      R"([{"process_env":[]},{"miopen_find_eval_result":[
          {"algorithm":"miopenConvolutionBwdDataAlgoDirect","evaluated":true,
           "params":"32,1,16,2,1,1,2,4,4,1","reason":"Success","solver_name":"ConvAsm1x1UV2",
           "time":2.8596839904785156,"tunable":true,"workspace":0}]}])",
      Step::kFindEval, {"ConvAsm1x1UV2"});
  ASSERT_TRUE(timed.ok()) << timed.error().message();
  ASSERT_EQ(timed->outcomes.size(), 1U);
  EXPECT_TRUE(timed->outcomes[0].succeeded()) << timed->outcomes[0].failure;
  EXPECT_TRUE(timed->outcomes[0].is_tunable);
  EXPECT_EQ(timed->outcomes[0].time_ms, 2.8596839904785156);

  const auto applicable = ParseResponse(
      R"([{"process_env":[]},{"applicable_solvers":["ConvAsm1x1U","ConvAsm1x1UV2"],
          "arch":"gfx908","config_tuna_id":125733,"direction":2,"input":{}}])",
      Step::kApplicability);
  ASSERT_TRUE(applicable.ok());
  EXPECT_THAT(applicable->applicable, ElementsAre("ConvAsm1x1U", "ConvAsm1x1UV2"));
}

TEST(FinResponse, WhatIsNoAnswerToTheQuestionIsDataLoss) {
  const std::string whole = ResponseOf(Json::array({EvaluatedJson("A")}));
  const Json twice = Json::array({EvaluatedJson("A"), EvaluatedJson("A")});
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"), std::string("[{},{}]"),
        std::string("[{},{},{}]"), std::string("{}"), ResponseOf(twice),
        ResponseOf(Json::array({1})), ResponseOf(Json::array({{{"evaluated", true}}})),
        ResponseOf(Json::array(), "miopen_find_eval_result")}) {
    const auto answer = ParseResponse(text, Step::kPerfEval);
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_EQ(answer.error().code(), StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace attune::fin
