// When models are fitted again, and the resulting files.
#include "attune/index/refit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/index/model_origin.h"
#include "attune/index/timed_products.h"
#include "attune/model/candidate_model.h"
#include "attune/model/model_text.h"
#include "attune/record/memory_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Target kTarget = {"host", "A", "x86-64-v3", 2, {}};
const Environment kEnvironment = {{"library.openblas", "0.3.21"}};

class RefitTest : public ::testing::Test {
 protected:
  // Records of GEMMs from the `begin`th on, two times each.
  void Tune(int begin, int end) {
    const auto timed = TimedProducts(end, {{"host.a@1{}", 1}, {"host.b@1{}", 2}});
    for (size_t i = 2 * static_cast<size_t>(begin); i < timed.size(); i += 2) {
      MeasurementSet set;
      set.id = NewSetId();
      set.problem = timed[i].problem;
      set.target = kTarget;
      set.environment = kEnvironment;
      ASSERT_TRUE(store_.BeginSet(set).ok());
      std::vector<Trial> trials;
      for (const TimedCandidate& one : {timed[i], timed[i + 1]}) {
        Trial& trial = trials.emplace_back();
        trial.candidate = *ParseCandidate(one.algorithm);
        trial.role = TrialRole::kFinal;
        Measurement measured;
        measured.median_ns = one.time_ms * 1e6;
        trial.outcome = measured;
      }
      ASSERT_TRUE(store_.Append(set.id, trials).ok());
    }
  }
  std::vector<Refit> RefitNow() {
    const auto refits = RefitGrown(store_, database_, kTarget, origin_, nullptr);
    EXPECT_TRUE(refits.ok()) << refits.status().message();
    return refits.value_or(std::vector<Refit>());
  }
  void MakeOld(const std::string& content) {
    std::filesystem::create_directories(path_.parent_path());
    ASSERT_TRUE(WriteFileAtomically(path_, content).ok());
  }

  const TemporaryFolder folder_;
  const std::string database_ = (folder_.path() / "a.db").string();
  const ModelOrigin origin_ = OriginOf(kTarget, kEnvironment);
  const std::filesystem::path path_ = ModelPathOf(database_, origin_, "gemm");
  MemoryStore store_;
};

TEST_F(RefitTest, AModelIsFittedAgainOnceTheTimesHaveGrownByAFifth) {
  Tune(0, 30);
  MakeOld("damaged");
  const std::vector<Refit> first = RefitNow();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].samples_before, 0u);
  EXPECT_EQ(first[0].samples, 60u);

  EXPECT_THAT(RefitNow(), IsEmpty());
  Tune(30, 35);
  EXPECT_THAT(RefitNow(), IsEmpty());
  EXPECT_EQ(CandidateModel::Open(path_, origin_, "gemm")->samples(), 60u);

  Tune(35, 36);
  const std::vector<Refit> grown = RefitNow();

  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(grown[0].samples_before, 60u);
  EXPECT_EQ(CandidateModel::Open(path_, origin_, "gemm")->samples(), 72u);
  ASSERT_TRUE(grown[0].held_out.has_value());
  EXPECT_LT(grown[0].held_out->mean_error, 0.01);
  EXPECT_THAT(Text(grown[0]), HasSubstr("to 72 times instead of 60: mean error 0.0 %"));
}

TEST_F(RefitTest, AModelTooLargeForRunTimesIsFittedAgainNoSoonerThanOthers) {
  Tune(0, 30);
  MakeOld("damaged");
  ASSERT_EQ(RefitNow().size(), 1u);
  std::string text = *ReadFile(path_);
  text.resize(text.rfind("seal "));
  text.replace(text.find("of host.a"), 9, "of " + std::string(CandidateModel::kMostBytes, 'a'));
  AppendSeal(text);
  MakeOld(text);
  ASSERT_FALSE(CandidateModel::Open(path_, origin_, "gemm").ok());

  EXPECT_THAT(RefitNow(), IsEmpty());
  Tune(30, 36);
  EXPECT_EQ(RefitNow().size(), 1u);
}

TEST_F(RefitTest, AModelThatNobodyHasFittedIsNotMade) {
  Tune(0, 30);

  EXPECT_THAT(RefitNow(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace attune
