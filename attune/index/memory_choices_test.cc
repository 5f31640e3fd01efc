#include "attune/index/memory_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/neighbour.h"
#include "attune/index/sample_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

IndexedChoice ChoiceAt(uint64_t place, int64_t revision, CacheState cache = CacheState::kWarm) {
  Random random(1);
  IndexedChoice choice = RandomChoice(revision, random);
  choice.target = std::make_shared<const Target>(SampleTargetOf(0));
  choice.environment = std::make_shared<const Environment>(SampleEnvironmentOf(place));
  choice.cache = cache;
  return choice;
}

std::vector<int64_t> Revisions(const ChoiceSource& source, const Problem& problem) {
  std::vector<int64_t> revisions;
  const auto choices = source.Find(problem).value();
  for (const IndexedChoice& choice : choices) revisions.push_back(choice.revision);
  return revisions;
}

std::vector<std::string> Texts(const std::vector<Neighbour>& neighbours) {
  std::vector<std::string> texts;
  for (const Neighbour& neighbour : neighbours) texts.push_back(Text(neighbour.problem));
  return texts;
}

// Fails every query.
class DamagedChoices final : public ChoiceSource {
 public:
  Result<std::vector<IndexedChoice>> Find(const Problem&) const override {
    return DataLoss("It is damaged.");
  }
  Result<std::vector<Neighbour>> Nearest(const Problem&, size_t, double) const override {
    return DataLoss("It is damaged.");
  }
  int64_t problem_count() const override { return 0; }
};

const Problem kProblem = PackedGemm(64, 64, 64);

TEST(MemoryChoicesTest, NewestChoiceComesFirstWhateverTheOrderOfAdding) {
  MemoryChoices choices;
  choices.Add(kProblem, ChoiceAt(1, 20));
  choices.Add(kProblem, ChoiceAt(2, 30));
  choices.Add(kProblem, ChoiceAt(3, 10));

  EXPECT_THAT(Revisions(choices, kProblem), ::testing::ElementsAre(30, 20, 10));
  EXPECT_EQ(choices.problem_count(), 1);
}

TEST(MemoryChoicesTest, ANewerChoiceReplacesTheOneOfTheSamePlaceAndAnOlderOneDoesNot) {
  MemoryChoices choices;
  choices.Add(kProblem, ChoiceAt(1, 20));
  choices.Add(kProblem, ChoiceAt(1, 25));
  choices.Add(kProblem, ChoiceAt(1, 15));

  EXPECT_THAT(Revisions(choices, kProblem), ::testing::ElementsAre(25));
}

TEST(MemoryChoicesTest, ColdAndWarmMeasurementsDoNotReplaceEachOther) {
  MemoryChoices choices;
  choices.Add(kProblem, ChoiceAt(1, 20, CacheState::kWarm));
  choices.Add(kProblem, ChoiceAt(1, 25, CacheState::kCold));

  EXPECT_THAT(Revisions(choices, kProblem), ::testing::ElementsAre(25, 20));
}

TEST(MemoryChoicesTest, OnlyTheNewestOfManyEnvironmentsAreKept) {
  MemoryChoices choices;
  for (uint64_t i = 0; i < 2 * kMaxChoices; ++i) {
    choices.Add(kProblem, ChoiceAt(i, static_cast<int64_t>(i)));
  }

  const std::vector<int64_t> revisions = Revisions(choices, kProblem);

  ASSERT_EQ(revisions.size(), kMaxChoices);
  EXPECT_EQ(revisions.front(), 2 * static_cast<int64_t>(kMaxChoices) - 1);
  EXPECT_EQ(revisions.back(), static_cast<int64_t>(kMaxChoices));
}

TEST(MemoryChoicesTest, ChoicesOfOnePlaceShareItsTargetAndEnvironment) {
  MemoryChoices choices;
  choices.Add(PackedGemm(2, 2, 2), ChoiceAt(1, 1));
  choices.Add(PackedGemm(3, 3, 3), ChoiceAt(1, 2));

  const auto first = choices.Find(PackedGemm(2, 2, 2)).value();
  const auto second = choices.Find(PackedGemm(3, 3, 3)).value();

  EXPECT_EQ(first.at(0).target, second.at(0).target);
  EXPECT_EQ(first.at(0).environment, second.at(0).environment);
}

TEST(MemoryChoicesTest, NeighboursComeNearestFirstWithoutTheProblemItself) {
  MemoryChoices choices;
  for (const int64_t k : {64, 128, 32, 1024, 96}) {
    choices.Add(PackedGemm(64, 64, k), ChoiceAt(1, k));
  }
  choices.Add(OtherOp{"pool", {}}, ChoiceAt(1, 1));

  const auto all = choices.Nearest(kProblem, 10, 100).value();
  const auto near = choices.Nearest(kProblem, 10, 1).value();
  const auto two = choices.Nearest(kProblem, 2, 100).value();

  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(Text(all.at(0).problem), Text(PackedGemm(64, 64, 96)));
  EXPECT_EQ(Text(all.at(3).problem), Text(PackedGemm(64, 64, 1024)));
  EXPECT_EQ(near.size(), 3u);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_TRUE(choices.Nearest(kProblem, 0, 100).value().empty());
  EXPECT_TRUE(choices.Nearest(OtherOp{"pool", {}}, 5, 100).value().empty());
}

TEST(LayeredChoicesTest, UpperLayersComeFirstEvenIfTheyAreOlder) {
  auto user = std::make_shared<MemoryChoices>();
  auto package = std::make_shared<MemoryChoices>();
  user->Add(kProblem, ChoiceAt(1, 5));
  user->Add(kProblem, ChoiceAt(2, 6));
  package->Add(kProblem, ChoiceAt(1, 100));

  const LayeredChoices layers({user, package});

  EXPECT_THAT(Revisions(layers, kProblem), ::testing::ElementsAre(6, 5, 100));
}

TEST(LayeredChoicesTest, NeighboursOfAllLayersAreMergedAndCountOnce) {
  auto user = std::make_shared<MemoryChoices>();
  auto package = std::make_shared<MemoryChoices>();
  user->Add(PackedGemm(64, 64, 128), ChoiceAt(1, 1));
  package->Add(PackedGemm(64, 64, 96), ChoiceAt(1, 1));
  package->Add(PackedGemm(64, 64, 128), ChoiceAt(1, 1));
  package->Add(PackedGemm(64, 64, 256), ChoiceAt(1, 1));

  const LayeredChoices layers({user, package});

  EXPECT_THAT(Texts(layers.Nearest(kProblem, 2, 100).value()),
              ::testing::ElementsAre(Text(PackedGemm(64, 64, 96)), Text(PackedGemm(64, 64, 128))));
  EXPECT_EQ(layers.Nearest(kProblem, 9, 100).value().size(), 3u);
}

TEST(LayeredChoicesTest, ADamagedLayerHidesNoOtherAndIsReportedIfNobodyKnows) {
  auto damaged = std::make_shared<DamagedChoices>();
  auto package = std::make_shared<MemoryChoices>();
  package->Add(kProblem, ChoiceAt(1, 7));

  const LayeredChoices layers({damaged, package});

  EXPECT_THAT(Revisions(layers, kProblem), ::testing::ElementsAre(7));
  EXPECT_EQ(layers.Find(PackedGemm(2, 2, 2)).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(layers.Nearest(kProblem, 1, 1).status().code(), StatusCode::kDataLoss);
}

TEST(LayeredChoicesTest, NoLayersKnowNothing) {
  const LayeredChoices layers({});

  EXPECT_TRUE(layers.Find(kProblem).value().empty());
  EXPECT_TRUE(layers.Nearest(kProblem, 3, 3).value().empty());
  EXPECT_EQ(layers.problem_count(), 0);
}

}  // namespace
}  // namespace attune
