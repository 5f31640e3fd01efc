#include "attune/formats/export.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/formats/tunableop.h"

namespace attune {
namespace {

Choice MeasuredChoice(std::string_view problem) {
  Choice choice;
  choice.problem = *ParseProblem(problem);
  choice.target = {"host", "AMD EPYC 9654", "x86-64-v4", 2, {{"isa", "avx512"}}};
  choice.candidate = *ParseCandidate("host.blis-gemm@1{layout=any,threads=2}");
  choice.provenance = Provenance::kMeasured;
  choice.measurement.median_ns = 1250.5;
  choice.measurement.low_ns = 1200;
  choice.measurement.high_ns = 1300;
  choice.default_candidate = *ParseCandidate("host.openblas-gemm@1{}");
  choice.default_measurement.median_ns = 2501;
  choice.speedup = 2;
  choice.speedup_low = 1.9;
  choice.speedup_high = 2.1;
  choice.confidence = 0.99;
  choice.set_id = "00112233445566778899aabbccddeeff";
  return choice;
}

TEST(ExportTest, JsonHasTheFieldsThatProgramsRely) {
  const Choice choice = MeasuredChoice("gemm@1{m=4,n=5,k=6}");

  const auto array = nlohmann::json::parse(ExportJson({&choice, 1}))["choices"];
  const auto document = nlohmann::json::parse(ExportJson({&choice, 1}));

  ASSERT_EQ(array.size(), 1u);
  EXPECT_EQ(array[0]["problem"], "gemm@1{m=4,n=5,k=6}");
  EXPECT_EQ(array[0]["target"], "host:AMD EPYC 9654:x86-64-v4:2{isa=avx512}");
  EXPECT_EQ(array[0]["candidate"], "host.blis-gemm@1{layout=any,threads=2}");
  EXPECT_EQ(array[0]["provenance"], Name(Provenance::kMeasured));
  EXPECT_EQ(array[0]["median_ns"], 1250.5);
  EXPECT_EQ(array[0]["default_candidate"], "host.openblas-gemm@1{}");
  EXPECT_EQ(array[0]["default_median_ns"], 2501.0);
  EXPECT_EQ(array[0]["speedup"], 2.0);
  EXPECT_EQ(document["format"], "attune-choices@1");
  EXPECT_EQ(array[0], nlohmann::json::parse(ChoiceAsJson(choice)));
}

TEST(ExportTest, UnmeasuredTimesAreNullAndNotZero) {
  Choice choice = MeasuredChoice("gemm@1{m=4,n=5,k=6}");
  choice.measurement = {};

  EXPECT_TRUE(nlohmann::json::parse(ChoiceAsJson(choice))["median_ns"].is_null());
}

TEST(ExportTest, WhatIsUntunedHasNoSpeedup) {
  Choice choice = MeasuredChoice("gemm@1{m=4,n=5,k=6}");
  choice.provenance = Provenance::kUntuned;

  const auto fields = nlohmann::json::parse(ChoiceAsJson(choice));

  for (const char* key : {"speedup", "speedup_low", "speedup_high"}) {
    EXPECT_TRUE(fields[key].is_null()) << key;
  }
}

TEST(ExportTest, NoChoicesAreAnEmptyList) {
  EXPECT_EQ(nlohmann::json::parse(ExportJson({}))["choices"].size(), 0u);
}

TEST(ExportTest, CsvQuotesWhatHasCommas) {
  const Choice choice = MeasuredChoice("gemm@1{m=4,n=5,k=6}");

  EXPECT_EQ(ExportCsv({&choice, 1}),
            "problem,target,candidate,provenance,median_ns,low_ns,high_ns,confidence,cache,"
            "default_candidate,default_median_ns,speedup,speedup_low,speedup_high,"
            "roofline_fraction,workspace_bytes,set_id\n"
            "\"gemm@1{m=4,n=5,k=6}\",host:AMD EPYC 9654:x86-64-v4:2{isa=avx512},"
            "\"host.blis-gemm@1{layout=any,threads=2}\"," +
                std::string(Name(Provenance::kMeasured)) +
                ",1250.5,1200.0,1300.0,0.99,warm,host.openblas-gemm@1{},2501.0,2.0,1.9,2.1,0.0,0,"
                "00112233445566778899aabbccddeeff\n");
}

TEST(ExportTest, AnAlgorithmOfCublasLtHasTunableOpsName) {
  Choice choice = MeasuredChoice("gemm@1{m=4,n=5,k=6}");
  choice.candidate = *ParseCandidate(
      "cuda.cublaslt-gemm@1{cluster=2,custom=0,id=66,inner=0,reduction=0,split_k=1,stages=4,"
      "swizzle=0,tile=20}");

  EXPECT_EQ(ExportTunableOp({&choice, 1}, {}).content,
            "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,"
            "Gemm_Cublaslt_id_66_tile_20_stages_4_splitk_1_red_0_swizzle_0_custom_0_inner_0_"
            "cluster_2,0.0012505\n");
}

TEST(ExportTest, AFileForPyTorchHasItsValidatorsAndWhatItCanRun) {
  std::vector<Choice> choices = {MeasuredChoice("gemm@1{m=4,n=5,k=6}"),
                                 MeasuredChoice("gemm@1{m=4,n=5,k=7}")};
  choices[1].candidate = *ParseCandidate(
      "cuda.cublaslt-gemm@1{cluster=2,custom=0,id=66,inner=0,reduction=0,split_k=1,stages=4,"
      "swizzle=0,tile=20}");
  const Target h200 = {"cuda", "NVIDIA H200", "sm_90", 132, {}};
  const auto validators = PyTorchValidators("2.14.0", h200, {{"library.cublaslt", "13.2.1"}});
  ASSERT_TRUE(validators.ok()) << validators.status().message();

  const TunableOpExport exported =
      ExportTunableOp(choices, *validators, TunableOpLines::kOfCublasLt);

  EXPECT_EQ(exported.content,
            "Validator,CUBLASLT_VERSION,130201\n"
            "Validator,CUDA_DEVICE,9.0:NVIDIA H200\n"
            "Validator,PT_VERSION,2.14.0\n"
            "GemmTunableOp_float_NN,nn_4_5_7_ld_4_7_4,"
            "Gemm_Cublaslt_id_66_tile_20_stages_4_splitk_1_red_0_swizzle_0_custom_0_inner_0_"
            "cluster_2,0.0012505\n");
  EXPECT_EQ(exported.skipped,
            std::vector<std::string>{"gemm@1{m=4,n=5,k=6}: PyTorch has no name for "
                                     "host.blis-gemm@1{layout=any,threads=2}."});
}

TEST(ExportTest, OnlyCudaDevicesHaveValidatorsOfPyTorch) {
  const Target h200 = {"cuda", "NVIDIA H200", "sm_90", 132, {}};
  const Target host = {"host", "AMD EPYC 9654", "x86-64-v4", 2, {}};

  EXPECT_FALSE(PyTorchValidators("2.14.0", h200, {}).ok());
  EXPECT_FALSE(PyTorchValidators("2.14.0", host, {{"library.cublaslt", "13.2.1"}}).ok());
}

TEST(ExportTest, TunableOpLinesReadBackAndSkipsAreNamed) {
  const std::vector<Choice> choices = {
      MeasuredChoice("gemm@1{m=4,n=5,k=6,ta=t}"),
      MeasuredChoice("gemm@1{m=4,n=5,k=6,ta=t,beta=one}"),
      MeasuredChoice("conv@1{dir=fwd,n=1,c=1,h=3,w=3,k=1,fh=1,fw=1}"),
      MeasuredChoice("gemm@1{m=4,n=5,k=6,type=i8,ctype=i32}"),
  };

  const TunableOpExport exported = ExportTunableOp(choices, {{"PT_VERSION", "2.14.0"}});

  EXPECT_EQ(exported.content,
            "Validator,PT_VERSION,2.14.0\n"
            "GemmTunableOp_float_TN,tn_4_5_6_ld_6_6_4,"
            "host.blis-gemm%401%7Blayout%3Dany%2Cthreads%3D2%7D,0.0012505\n");
  EXPECT_EQ(exported.skipped.size(), 3u);
  const size_t line = exported.content.find('\n') + 1;
  EXPECT_EQ(ReadTunableOpLine(exported.content.substr(line))->front(), choices[0].problem);
}

}  // namespace
}  // namespace attune
