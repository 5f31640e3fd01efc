// The first answer for a shape that is far from all tuned ones: the candidate that a time model
// expects to be the quickest.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::Contains;
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

// Tuned and fitted once, for all tests.
class Predicted : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    tuned_ = new TemporaryFolder;
    const RuntimeWorld world;
    // 20 small products, each by both configs of the library. So much time that all are timed,
    // however busy the machine is.
    std::string problems;
    for (const int m : {4, 8, 12, 16, 20}) {
      for (const int n : {8, 16}) {
        for (const int k : {8, 20}) problems += " --problem " + TextOf(m, n, k);
      }
    }
    std::string output;
    ASSERT_EQ(Attune("tune --device fake --solver library --search exhaustive --per-problem 10s" +
                         problems,
                     output),
              0)
        << output;
    ASSERT_EQ(Attune("model fit --device fake", output), 0) << output;
    std::filesystem::copy(world.folder(), tuned_->path(), std::filesystem::copy_options::recursive);
  }
  static void TearDownTestSuite() {
    delete tuned_;
    tuned_ = nullptr;
  }
  void SetUp() override {
    std::filesystem::copy(tuned_->path(), world_.folder(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }

  static std::string TextOf(int64_t m, int64_t n, int64_t k) {
    return fmt::format("'gemm@1{{m={},n={},k={},align=4}}'", m, n, k);
  }
  // Runs the program in the world that there is; its exit status.
  static int Attune(const std::string& arguments, std::string& output) {
    const TemporaryFolder folder;
    const std::string log = (folder.path() / "log").string();
    const int status =
        std::system((ATTUNE_BIN_DIR "/attune " + arguments + " > " + log + " 2>&1").c_str());
    std::ifstream file(log);
    output.assign(std::istreambuf_iterator<char>(file), {});
    return status;
  }
  std::filesystem::path Model() const {
    return std::filesystem::directory_iterator(world_.database() + ".models")->path();
  }

  // Fits a table in which the quickest takes `factor` times as long as the default.
  void UseModelOfTable(double factor) {
    const std::filesystem::path table = world_.folder() / "times.csv";
    {
      std::ofstream csv(table);
      csv << "problem,candidate,time_ms\n";
      for (int n = 1; n <= 24; ++n) {
        csv << fmt::format("\"gemm@1{{m=8,n={},k=8}}\",\"{}\",{}\n", n, kDefault, n);
        csv << fmt::format("\"gemm@1{{m=8,n={},k=8}}\",\"{}\",{}\n", n, kQuickest, factor * n);
      }
    }
    const std::string model = (world_.folder() / "table.model").string();
    ASSERT_EQ(Attune("model fit --csv " + table.string() +
                         " --device-name 'fake:Fake Processor:fake-v1:2{isa=none}' --library "
                         "'fakelib 1.0' -o " +
                         model,
                     output_),
              0)
        << output_;
    world_.Set("ATTUNE_TIME_MODELS", model);
  }

  static TemporaryFolder* tuned_;
  RuntimeWorld world_;
  std::string output_;
};
TemporaryFolder* Predicted::tuned_ = nullptr;

TEST_F(Predicted, FarFromAllThatIsTunedTheModelAnswersFirstAndIsNamed) {
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

// The model claims this of the library with two threads, which is not true.
TEST_F(Predicted, WhatIsFarSlowerIsNotRunWhileAProgramIsServed) {
  UseModelOfTable(90);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  // Near a tuned problem that has chosen it, it would serve meanwhile and be tried.
  EXPECT_TRUE(Multiply(runtime.get(), kFar));
  EXPECT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  ASSERT_EQ(Attune("explain " + TextOf(kFar, kFar, kFar) + " --device fake", output_), 0)
      << output_;
  EXPECT_THAT(output_, HasSubstr("not_applicable in build: fake.library@1{threads=2}"));
  EXPECT_THAT(output_, HasSubstr("Not run: a model fitted to 48 times expects"));
}

// The tried candidates, in that order.
std::vector<std::string> TriedIn(const std::string& database) {
  const auto store = OpenSqlStore(database, {});
  EXPECT_TRUE(store.ok()) << store.status().message();
  std::vector<std::string> tried;
  RecordQuery query;
  query.problem = ParseProblem("gemm@1{m=200,n=200,k=200,align=4}").value_or(Problem());
  query.roles = {TrialRole::kQualify};
  const Status visited = (*store)->Visit(query, [&](const RecordedSet& set) {
    for (const Record& record : set.records) tried.push_back(Text(record.trial.candidate));
    return Status::Ok();
  });
  EXPECT_TRUE(visited.ok()) << visited.message();
  return tried;
}

// Measurements on a busy machine may leave a model in doubt which candidate is quicker.
TEST_F(Predicted, TuningTriesWhatServesMeanwhileBehindTheFirstDefault) {
  UseModelOfTable(0.5);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), kFar));
  EXPECT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  const std::vector<std::string> tried = TriedIn(world_.database());
  // Among the defaults of all solvers, which are made ready side by side, and before all others.
  ASSERT_GE(tried.size(), 3u);
  EXPECT_EQ(tried[0], kDefault);
  EXPECT_THAT(std::vector(tried.begin() + 1, tried.begin() + 3), Contains(kQuickest));
}

TEST_F(Predicted, AModelThatIsOfNoUseIsFittedAgainAsTheBackgroundTunes) {
  const std::filesystem::path model = Model();
  std::ofstream(model) << "damaged";
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED, 100);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  // After eight it looks for grown files, before it answers about the ninth.
  for (const int64_t size : {5, 6, 7, 9, 10, 11, 13, 14, 15}) {
    EXPECT_TRUE(Multiply(runtime.get(), size));
  }
  EXPECT_TRUE(IsIdle(runtime.get()));

  ASSERT_EQ(CountersOf(runtime.get()).tunings, 9u);
  ASSERT_EQ(Attune("model show " + model.string() + " --json", output_), 0) << output_;
  EXPECT_GE(nlohmann::json::parse(output_)["samples"], 48);
}

}  // namespace
}  // namespace attune
