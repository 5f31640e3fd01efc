#include "runtime/tuner_request.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = R"({"version":2,"tune":"gemm@1{m=4,n=5,k=6}","terms":)";

std::string ComplaintAbout(const std::string& line) {
  const auto request = DecodeTunerRequest(line);
  return request.ok() ? "" : request.status().message();
}

TEST(TunerRequestTest, LinesAreReadAndWrittenAsEver) {
  const auto golden = ReadFile(ATTUNE_GOLDEN_DIR "/tuner_protocol_v2.txt");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  std::string written;
  for (size_t begin = 0; begin < golden->size();) {
    const size_t end = golden->find('\n', begin);
    const auto request = DecodeTunerRequest(golden->substr(begin, end - begin));
    ASSERT_TRUE(request.ok()) << request.status().message();
    written += Encode(*request) + "\n";
    begin = end + 1;
  }

  EXPECT_EQ(written, *golden);
}

TEST(TunerRequestTest, LineOfVersion1IsARequestWithoutTerms) {
  const auto golden = ReadFile(ATTUNE_GOLDEN_DIR "/tuner_protocol_v1.txt");

  ASSERT_TRUE(golden.ok()) << golden.status().message();
  EXPECT_EQ(*DecodeTunerRequest(golden->substr(0, golden->find('\n'))),
            (TunerRequest{*ParseProblem("gemm@1{m=4,n=5,k=6}"), {}}));
}

TEST(TunerRequestTest, EveryTermArrives) {
  TunerRequest request;
  request.problem = *ParseProblem("gemm@1{m=4,n=5,k=6}");
  request.terms.max_duration_ms = 30;
  request.terms.max_iterations = 100;
  request.terms.max_warmup_duration_ms = 5;
  request.terms.max_warmup_iterations = 7;
  request.terms.disabled_libraries = {"openblas", "conv-direct"};
  request.terms.max_listed = 8;
  request.terms.rotation_bytes = 1 << 20;
  request.terms.numerical_check = {true, 1e-2, 1e-1};

  const auto arrived = DecodeTunerRequest(Encode(request));

  ASSERT_TRUE(arrived.ok()) << arrived.status().message();
  EXPECT_EQ(*arrived, request);
}

TEST(TunerRequestTest, WhatIsServedArrivesAndIsRefusedWhereItIsNoCandidate) {
  const TunerRequest request{*ParseProblem("gemm@1{m=4,n=5,k=6}"), {}, {{{"fake.a", 2}, {}}}};

  const auto arrived = DecodeTunerRequest(Encode(request));

  ASSERT_TRUE(arrived.ok()) << arrived.status().message();
  EXPECT_EQ(*arrived, request);
  const std::string head = R"({"tune":"gemm@1{m=4,n=5,k=6}","served":)";
  EXPECT_THAT(ComplaintAbout(head + "3}"), HasSubstr("'served'"));
  EXPECT_THAT(ComplaintAbout(head + R"("fake.a@"})"), HasSubstr("fake.a@"));
}

TEST(TunerRequestTest, WhatIsOutOfItsLimitsIsRefusedByName) {
  for (const auto& [terms, complaint] : {
           std::pair{R"({"max_iterations":-1}})", "max_iterations is -1"},
           std::pair{R"({"max_duration_ms":86400001}})", "max_duration_ms is 86400001"},
           std::pair{R"({"max_iterations":1.5}})", "'max_iterations'"},
           std::pair{R"({"max_listed":-1}})", "max_listed is -1"},
           std::pair{R"({"rotation_bytes":1099511627777}})", "rotation_bytes is"},
           std::pair{R"({"disabled_libraries":[""]}})", "0 bytes"},
           std::pair{R"({"disabled_libraries":"openblas"}})", "'disabled_libraries'"},
           std::pair{R"({"numerical_check":{"atol":1}}})", "'numerical_check'"},
           std::pair{R"({"numerical_check":{"atol":0,"rtol":1}}})", "positive"},
           std::pair{R"([]})", "'terms'"},
       }) {
    EXPECT_THAT(ComplaintAbout(std::string(kHead) + terms), HasSubstr(complaint)) << terms;
  }
}

TEST(TunerRequestTest, WhatIsNoRequestIsRefused) {
  EXPECT_THAT(ComplaintAbout("tune"), HasSubstr("no JSON object"));
  EXPECT_THAT(ComplaintAbout("{}"), HasSubstr("'tune'"));
  EXPECT_THAT(ComplaintAbout(R"({"version":3,"tune":"gemm@1{m=1,n=1,k=1}"})"),
              HasSubstr("version 3"));
  EXPECT_NE(ComplaintAbout(R"({"version":2,"tune":"no problem"})"), "");
}

}  // namespace
}  // namespace attune
