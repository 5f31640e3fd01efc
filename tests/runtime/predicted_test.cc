// The first answer for a shape that is far from all that were tuned: what a model of time expects
// to be the quickest.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFar = 200;  // More than a factor of 4 from every side that is tuned.
constexpr char kDefault[] = "fake.library@1{threads=1}";
constexpr char kQuickest[] = "fake.library@1{threads=2}";

nlohmann::json Explained(attune_runtime* runtime) {
  char* json = nullptr;
  EXPECT_EQ(attune_explain(runtime, "gemm@1{m=200,n=200,k=200}", &json), ATTUNE_OK)
      << attune_last_message();
  const nlohmann::json explained = nlohmann::json::parse(json == nullptr ? "{}" : json);
  attune_free(json);
  return explained;
}

class Predicted : public ::testing::Test {
 protected:
  int Attune(const std::string& arguments) {
    const std::string log = (world_.folder() / "log").string();
    const int status =
        std::system((ATTUNE_BIN_DIR "/attune " + arguments + " > " + log + " 2>&1").c_str());
    std::ifstream file(log);
    output_.assign(std::istreambuf_iterator<char>(file), {});
    return status;
  }
  // 24 small products, each by both configs of the library.
  void TuneAndFit() {
    std::string problems;
    for (const int m : {4, 8, 12, 16}) {
      for (const int n : {8, 16, 24}) {
        for (const int k : {8, 20}) {
          problems += " --problem 'gemm@1{m=" + std::to_string(m) + ",n=" + std::to_string(n) +
                      ",k=" + std::to_string(k) + ",align=4}'";
        }
      }
    }
    ASSERT_EQ(Attune("tune --device fake --solver library --search exhaustive "
                     "--per-problem 150ms" +
                     problems),
              0)
        << output_;
    ASSERT_EQ(Attune("model fit --device fake"), 0) << output_;
  }
  std::filesystem::path Model() {
    for (const auto& entry : std::filesystem::directory_iterator(world_.database() + ".models")) {
      return entry.path();
    }
    return {};
  }

  RuntimeWorld world_;
  std::string output_;
};

TEST_F(Predicted, FarFromAllThatIsTunedTheModelAnswersFirstAndIsNamed) {
  TuneAndFit();
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), kFar));

  const attune_counters counters = CountersOf(runtime.get());
  EXPECT_EQ(counters.misses, 1u);
  EXPECT_EQ(counters.by_provenance[ATTUNE_FROM_PREDICTION], 1u);
  const nlohmann::json explained = Explained(runtime.get());
  EXPECT_EQ(explained["serves"], kQuickest);
  EXPECT_EQ(explained["options"][0]["provenance"], "predicted");
  EXPECT_GT(explained["options"][1]["slower_by"], 1.2);
  EXPECT_EQ(explained["options"][1]["candidate"], kDefault);
  EXPECT_THAT(explained["notes"], ::testing::IsEmpty());

  // Near a tuned one that goes first.
  EXPECT_TRUE(Multiply(runtime.get(), 17));
  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_NEIGHBOUR], 1u);
}

TEST_F(Predicted, AModelThatDoesNotFitIsRefusedWithAReasonAndTheDefaultServes) {
  TuneAndFit();
  std::ifstream file(Model());
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.replace(text.find("fakelib 1.0"), 11, "fakelib 2.0");
  const std::filesystem::path other = world_.folder() / "other.model";
  std::ofstream(other) << text;
  world_.Set("ATTUNE_TIME_MODELS", other.string());
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), kFar));

  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_DEFAULT], 1u);
  EXPECT_THAT(Explained(runtime.get())["notes"].dump(),
              HasSubstr("is of library 'fakelib 2.0', and 'fakelib 1.0' is needed"));
}

TEST_F(Predicted, WhatIsFarSlowerIsNotRunWhileAProgramIsServed) {
  world_.Set("ATTUNE_FAKE_SCRIPT",
             "fake.library{threads=2} time_ns=100000");  // 90 times as long.
  TuneAndFit();
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 6));
  EXPECT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  ASSERT_EQ(Attune("explain 'gemm@1{m=6,n=6,k=6,align=4}' --device fake"), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("not_applicable in build: fake.library@1{threads=2}"));
  EXPECT_THAT(output_, HasSubstr("Not run: a model fitted to 48 times expects"));
}

}  // namespace
}  // namespace attune
