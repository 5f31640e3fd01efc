#include "attune/search/searcher.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/search/permutation.h"

namespace attune {
namespace {

ConfigSpace Grid(int64_t values_each, const std::vector<std::string>& names) {
  std::vector<Parameter> parameters;
  for (const std::string& name : names) {
    Parameter parameter{name, {}};
    for (int64_t value = 0; value < values_each; ++value) parameter.values.emplace_back(value);
    parameters.push_back(parameter);
  }
  return *ConfigSpace::Create(parameters, {});
}

// A bowl with ripples: smooth enough that neighbours are alike, with local minima. Best at (11, 3,
// 7, 5).
double RippledBowl(const Config& config) {
  const double best[] = {11, 3, 7, 5};
  double time_ns = 1000;
  int i = 0;
  for (const auto& [name, value] : config) {
    const double distance = static_cast<double>(std::get<int64_t>(value)) - best[i++];
    time_ns += 10 * distance * distance + 20 * std::abs(std::sin(distance * 1.5));
  }
  return time_ns;
}

// Asks until done or until `limit` answers; the questions in order.
std::vector<uint64_t> Drive(Searcher& searcher, const ConfigSpace& space, size_t batch,
                            size_t limit) {
  std::vector<uint64_t> asked;
  while (!searcher.Done() && asked.size() < limit) {
    const std::vector<uint64_t> indices = searcher.Ask(std::min(batch, limit - asked.size()));
    EXPECT_FALSE(indices.empty());
    if (indices.empty()) break;
    for (const uint64_t index : indices) {
      asked.push_back(index);
      Answer answer;
      if (index % 7 != 3) answer.time_ns = RippledBowl(space.At(index));
      searcher.Tell(index, answer);
    }
  }
  return asked;
}

double BestOf(const std::vector<uint64_t>& asked, const ConfigSpace& space) {
  double best_ns = RippledBowl(space.At(0));
  for (const uint64_t index : asked) {
    if (index % 7 != 3) best_ns = std::min(best_ns, RippledBowl(space.At(index)));
  }
  return best_ns;
}

class EverySearcherTest : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Names, EverySearcherTest, testing::ValuesIn(SearcherNames()));

TEST_P(EverySearcherTest, AsksTheDefaultFirstAndEverythingExactlyOnce) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const auto searcher = *MakeSearcher(GetParam(), space, {42});

  const std::vector<uint64_t> asked = Drive(*searcher, space, 6, 10'000);

  ASSERT_EQ(asked.size(), space.size());
  EXPECT_EQ(asked.front(), 0u);
  EXPECT_EQ(std::set<uint64_t>(asked.begin(), asked.end()).size(), space.size());
  EXPECT_TRUE(searcher->Done());
  EXPECT_TRUE(searcher->Ask(5).empty());
}

TEST_P(EverySearcherTest, BeginsWithTheHeadAndAsksTheRestOnce) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const auto searcher = *MakeSearcher(GetParam(), space, {42, 9});

  const std::vector<uint64_t> asked = Drive(*searcher, space, 4, 10'000);

  ASSERT_EQ(asked.size(), space.size());
  EXPECT_EQ(std::vector<uint64_t>(asked.begin(), asked.begin() + 9),
            (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(std::set<uint64_t>(asked.begin(), asked.end()).size(), space.size());
}

TEST_P(EverySearcherTest, BeginsWithTheDefaultThenWithWhatIsGoodElsewhereThenWithTheHead) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const std::vector<TimesElsewhere> elsewhere = {{{77, 5.0}, {1, 6.0}, {9, {}}, {124, 1e9}}};
  const auto searcher =
      *MakeSearcher(GetParam(), space, {.seed = 42, .head = 3, .elsewhere = elsewhere});

  const std::vector<uint64_t> asked = Drive(*searcher, space, 1, 10'000);

  ASSERT_EQ(asked.size(), space.size());
  EXPECT_EQ(std::vector<uint64_t>(asked.begin(), asked.begin() + 5),
            (std::vector<uint64_t>{0, 77, 1, 124, 2}));
  EXPECT_EQ(std::set<uint64_t>(asked.begin(), asked.end()).size(), space.size());
}

TEST_P(EverySearcherTest, AGuessWaitsForTheAnswersOfThoseBeforeIt) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const std::vector<TimesElsewhere> elsewhere = {{{0, 9.0}, {77, 5.0}, {1, 6.0}, {124, 7.0}}};
  const auto searcher = *MakeSearcher(GetParam(), space, {.seed = 42, .elsewhere = elsewhere});
  std::vector<uint64_t> asked;

  for (int i = 0; i < 3; ++i) {
    const std::vector<uint64_t> batch = searcher->Ask(8);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_TRUE(searcher->Ask(8).empty());
    asked.push_back(batch[0]);
    searcher->Tell(batch[0], {5.0 + i});
  }
  // Nothing waits for the last one.
  const std::vector<uint64_t> last = searcher->Ask(8);

  ASSERT_FALSE(last.empty());
  asked.push_back(last[0]);
  EXPECT_EQ(std::set<uint64_t>(asked.begin(), asked.end()), (std::set<uint64_t>{0, 1, 77, 124}));
}

// A resumed run repeats the answers of the killed run, and continues as that run would have.
TEST_P(EverySearcherTest, ToldTheSameAgainItGoesOnTheSame) {
  const ConfigSpace space = Grid(8, {"a", "b", "c"});
  const auto first = *MakeSearcher(GetParam(), space, {7});
  const std::vector<uint64_t> whole = Drive(*first, space, 1, 120);
  const auto resumed = *MakeSearcher(GetParam(), space, {7});

  std::vector<uint64_t> asked = Drive(*resumed, space, 1, 60);
  const std::vector<uint64_t> rest = Drive(*resumed, space, 1, 60);

  asked.insert(asked.end(), rest.begin(), rest.end());
  EXPECT_EQ(asked, whole);
}

// A run that was killed with answers out: the resumed run repeats the answers in their order.
TEST_P(EverySearcherTest, ToldAgainInOrderItAsksTheSameWithAnswersOut) {
  const ConfigSpace space = Grid(8, {"a", "b", "c"});
  const auto first = *MakeSearcher(GetParam(), space, {.seed = 7, .head = 3});
  const auto resumed = *MakeSearcher(GetParam(), space, {.seed = 7, .head = 3});
  const auto next = [&](Searcher& searcher, std::vector<uint64_t>& out) {
    const std::vector<uint64_t> asked = searcher.Ask(2);
    out.insert(out.end(), asked.begin(), asked.end());
    if (out.empty()) return asked;
    const uint64_t told = out.front();
    out.erase(out.begin());
    searcher.Tell(told, {RippledBowl(space.At(told))});
    return asked;
  };
  std::vector<uint64_t> out_first, out_resumed;

  for (int i = 0; i < 100; ++i) next(*first, out_first);
  for (int i = 0; i < 100; ++i) next(*resumed, out_resumed);

  EXPECT_EQ(out_first, out_resumed);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(next(*first, out_first), next(*resumed, out_resumed));
}

TEST_P(EverySearcherTest, AnswersMayComeLateAndInAnyOrder) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const auto searcher = *MakeSearcher(GetParam(), space, {3});
  Random random(5);
  std::vector<uint64_t> out;
  std::set<uint64_t> asked;

  while (!searcher->Done() || !out.empty()) {
    for (const uint64_t index : searcher->Ask(4)) {
      out.push_back(index);
      EXPECT_TRUE(asked.insert(index).second);
    }
    ASSERT_FALSE(out.empty());
    const size_t which = random.Below(out.size());
    searcher->Tell(out[which], {RippledBowl(space.At(out[which]))});
    out.erase(out.begin() + static_cast<ptrdiff_t>(which));
  }

  EXPECT_EQ(asked.size(), space.size());
}

TEST_P(EverySearcherTest, EqualSeedsAndAnswersGiveEqualQuestions) {
  const ConfigSpace space = Grid(8, {"a", "b", "c"});
  const auto first = *MakeSearcher(GetParam(), space, {7});
  const auto second = *MakeSearcher(GetParam(), space, {7});

  EXPECT_EQ(Drive(*first, space, 4, 200), Drive(*second, space, 4, 200));
}

TEST_P(EverySearcherTest, SpaceOfOneConfigIsDoneAfterTheDefault) {
  const ConfigSpace space;
  const auto searcher = *MakeSearcher(GetParam(), space, {1});

  EXPECT_EQ(searcher->Ask(10), (std::vector<uint64_t>{0}));
  searcher->Tell(0, {5.0});
  EXPECT_TRUE(searcher->Done());
}

TEST_P(EverySearcherTest, NeverAsksForMoreThanItMay) {
  const ConfigSpace space = Grid(6, {"a", "b"});
  const auto searcher = *MakeSearcher(GetParam(), space, {1});

  EXPECT_TRUE(searcher->Ask(0).empty());
  EXPECT_LE(searcher->Ask(3).size(), 3u);
}

TEST_P(EverySearcherTest, GoesOnWhenEverythingFails) {
  const ConfigSpace space = Grid(4, {"a", "b"});
  const auto searcher = *MakeSearcher(GetParam(), space, {1});
  size_t asked = 0;

  while (!searcher->Done()) {
    const std::vector<uint64_t> indices = searcher->Ask(3);
    ASSERT_FALSE(indices.empty());
    asked += indices.size();
    for (const uint64_t index : indices) searcher->Tell(index, {});
  }

  EXPECT_EQ(asked, space.size());
}

TEST(SearcherTest, UnknownNameFailsAndListsTheNames) {
  const Status status = MakeSearcher("gradient", ConfigSpace(), {1}).status();

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("adaptive, exhaustive, random, local"), std::string::npos);
}

TEST(SearcherTest, OtherSeedsGiveOtherOrders) {
  const ConfigSpace space = Grid(8, {"a", "b", "c"});

  for (const std::string_view name :
       {"random", "local", "annealing", "genetic", "evolution", "swarm", "surrogate"}) {
    const auto first = *MakeSearcher(name, space, {1});
    const auto second = *MakeSearcher(name, space, {2});
    EXPECT_NE(Drive(*first, space, 4, 100), Drive(*second, space, 4, 100)) << name;
  }
}

TEST(SurrogateSearcherTest, FindsTheOptimumSoonerWhereAnotherPlaceIsAlike) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});
  TimesElsewhere elsewhere;
  Random random(9);
  for (uint64_t index = 0; index < space.size(); index += 1 + random.Below(64)) {
    elsewhere.push_back({index, 3 * RippledBowl(space.At(index)) * (0.9 + 0.2 * random.Uniform())});
  }
  double with_sum = 0;
  double without_sum = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const auto with = *MakeSearcher("surrogate", space, {.seed = seed, .elsewhere = {elsewhere}});
    const auto without = *MakeSearcher("surrogate", space, {.seed = seed});
    with_sum += BestOf(Drive(*with, space, 1, 25), space) - 1000;
    without_sum += BestOf(Drive(*without, space, 1, 25), space) - 1000;
  }

  EXPECT_LT(with_sum, without_sum);
}

TEST(SurrogateSearcherTest, WhileLittleIsKnownNoMoreAreOutThanWorkersAreBusy) {
  const ConfigSpace space = Grid(16, {"a", "b", "c"});
  const auto searcher = *MakeSearcher("surrogate", space, {.seed = 1, .head = 5, .workers = 3});

  EXPECT_EQ(searcher->Ask(100), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(searcher->Ask(100).empty());
  for (uint64_t index = 0; index < 5; ++index) searcher->Tell(index, {5.0});
  EXPECT_EQ(searcher->Ask(100).size(), 3u);
  EXPECT_TRUE(searcher->Ask(100).empty());
}

TEST(SurrogateSearcherTest, TheMoreIsKnownTheMoreMayBeOut) {
  const ConfigSpace space = Grid(16, {"a", "b", "c"});
  const auto searcher = *MakeSearcher("surrogate", space, {.seed = 1, .workers = 3});
  Drive(*searcher, space, 3, 160);

  EXPECT_EQ(searcher->Ask(100).size(), 20u);
}

// Values of the first parameter that a search of 60 configs draws if all are equally fast, on
// average.
double AverageOfEquallyFast(bool tells_costs) {
  const ConfigSpace space = Grid(20, {"compiled", "other"});
  SearcherOptions options;
  options.seed = 5;
  const auto searcher = MakeSearcher("surrogate", space, options);
  double sum = 0;
  constexpr int kConfigs = 60;
  for (int i = 0; i < kConfigs; ++i) {
    const uint64_t index = (*searcher)->Ask(1).at(0);
    const auto value = static_cast<double>(std::get<int64_t>(space.At(index).at("compiled")));
    sum += value;
    (*searcher)->Tell(index, {1000.0, tells_costs ? 1e6 * (1 + value * value) : 0});
  }
  return sum / kConfigs;
}

TEST(SurrogateSearcherTest, OfEquallyFastConfigsItTriesThoseThatAreQuickToTry) {
  EXPECT_LT(AverageOfEquallyFast(true), 0.7 * AverageOfEquallyFast(false));
}

TEST(SurrogateSearcherTest, ProposesBehindALongHead) {
  const ConfigSpace space = Grid(16, {"a", "b", "c"});
  const auto searcher = *MakeSearcher("surrogate", space, {.seed = 1, .head = 60});

  const std::vector<uint64_t> asked = Drive(*searcher, space, 60, 100);

  EXPECT_EQ(std::set<uint64_t>(asked.begin(), asked.end()).size(), 100u);
}

// Six parameters of a kernel. Without unrolling, small blocks are good. With it everything is
// slower, but for the combination of wide blocks with many planes, which is the fastest of all.
double DeceptiveKernel(const Config& config) {
  const auto value = [&](const char* name) {
    return static_cast<double>(std::get<int64_t>(config.at(name)));
  };
  const double width = value("block_x");
  const double planes = value("planes");
  const double other = 10 * std::abs(value("block_y") - 1) + 20 * value("columns");
  if (value("unroll") == 0) return 1000 + 100 * width + 50 * std::abs(planes - 1) + other;
  return 2000 - (width == 4 && planes >= 3 ? 1200 : 100 * width) + other;
}

TEST(SurrogateSearcherTest, LeavesAGoodRegionForTheCombinationThatIsBetter) {
  std::vector<Parameter> parameters;
  for (const auto& [name, count] : std::map<std::string, int64_t>{
           {"block_x", 5}, {"block_y", 5}, {"columns", 3}, {"planes", 5}, {"unroll", 2}}) {
    Parameter parameter{name, {}};
    for (int64_t value = 0; value < count; ++value) parameter.values.emplace_back(value);
    parameters.push_back(parameter);
  }
  const ConfigSpace space = *ConfigSpace::Create(parameters, {});
  int found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto searcher = *MakeSearcher("surrogate", space, {.seed = seed});
    double best_ns = 1e9;
    for (int i = 0; i < 60; ++i) {
      for (const uint64_t index : searcher->Ask(1)) {
        const double time_ns = DeceptiveKernel(space.At(index));
        best_ns = std::min(best_ns, time_ns);
        searcher->Tell(index, {time_ns});
      }
    }
    if (best_ns < 900) ++found;
  }

  EXPECT_GE(found, 16) << "of 20";
}

TEST(AdaptiveSearcherTest, WhereTheBudgetIsEnoughEverythingIsAskedInOrderAndNothingAwaited) {
  const ConfigSpace space = Grid(5, {"a", "b", "c"});
  const auto enough = *MakeSearcher("adaptive", space, {.seed = 1, .evaluations = 125});
  const auto too_little = *MakeSearcher("adaptive", space, {.seed = 1, .evaluations = 124});

  const std::vector<uint64_t> asked = enough->Ask(1000);

  ASSERT_EQ(asked.size(), 125u);
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_LT(too_little->Ask(1000).size(), 10u);
}

TEST(AdaptiveSearcherTest, BeginsOneStepFromADefaultThatSomebodyChose) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});
  const uint64_t chosen = 0;
  const std::vector<uint64_t> nearby = space.Neighbours(chosen, true);
  const auto searcher =
      *MakeSearcher("adaptive", space, {.seed = 1, .workers = 3, .default_is_chosen = true});
  ASSERT_EQ(searcher->Ask(1), (std::vector<uint64_t>{chosen}));
  searcher->Tell(chosen, {5.0});

  const std::vector<uint64_t> first = searcher->Ask(100);

  ASSERT_EQ(first.size(), 3u);
  for (const uint64_t index : first) {
    EXPECT_EQ(std::count(nearby.begin(), nearby.end(), index), 1) << index;
  }
}

TEST(AdaptiveSearcherTest, GoesOnFromWhatIsBetterThanTheDefault) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});
  const auto searcher =
      *MakeSearcher("adaptive", space, {.seed = 1, .workers = 1, .default_is_chosen = true});
  searcher->Tell(searcher->Ask(1)[0], {5.0});
  const uint64_t better = searcher->Ask(1)[0];
  searcher->Tell(better, {4.0});

  const uint64_t next = searcher->Ask(1)[0];

  const std::vector<uint64_t> nearby = space.Neighbours(better, true);
  EXPECT_EQ(std::count(nearby.begin(), nearby.end(), next), 1);
}

TEST(AdaptiveSearcherTest, FromAGoodDefaultItIsNoWorseThanEither) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});
  const uint64_t good =
      *space.IndexOf({{"a", int64_t{9}}, {"b", int64_t{4}}, {"c", int64_t{9}}, {"d", int64_t{3}}});
  std::vector<Config> configs = {space.At(good)};
  for (uint64_t index = 0; index < space.size(); ++index) {
    if (index != good) configs.push_back(space.At(index));
  }
  const ConfigSpace chosen = *ConfigSpace::FromConfigs(configs);
  std::map<std::string_view, double> sums;
  for (const std::string_view name : {"local", "surrogate", "adaptive"}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const auto searcher =
          *MakeSearcher(name, chosen, {.seed = seed, .default_is_chosen = name == "adaptive"});
      sums[name] += BestOf(Drive(*searcher, chosen, 1, 40), chosen) - 1000;
    }
  }

  EXPECT_LT(sums["adaptive"], 1.1 * std::min(sums["local"], sums["surrogate"]));
}

TEST(LocalSearcherTest, WaitsForAnswersBeforeItMovesOn) {
  const ConfigSpace space = Grid(8, {"a", "b"});
  const auto searcher = *MakeSearcher("local", space, {1});

  const std::vector<uint64_t> first = searcher->Ask(10);

  EXPECT_EQ(first, (std::vector<uint64_t>{0}));
  EXPECT_TRUE(searcher->Ask(10).empty());
  EXPECT_FALSE(searcher->Done());
}

TEST(LocalSearcherTest, FindsTheOptimumOfALargeSpaceMuchEarlierThanRandom) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});  // 65536 configs.
  constexpr size_t kTries = 400;
  double local_sum = 0;
  double random_sum = 0;

  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto local = *MakeSearcher("local", space, {seed});
    const auto random = *MakeSearcher("random", space, {seed});
    local_sum += BestOf(Drive(*local, space, 8, kTries), space) - 1000;
    random_sum += BestOf(Drive(*random, space, 8, kTries), space) - 1000;
  }

  // Excess over the best possible time, on average over the seeds.
  EXPECT_LT(local_sum, 0.3 * random_sum);
}

TEST(ProposingSearcherTest, LearningOnesFindABetterConfigThanRandom) {
  const ConfigSpace space = Grid(16, {"a", "b", "c", "d"});
  constexpr size_t kTries = 200;
  double random_sum = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const auto random = *MakeSearcher("random", space, {seed});
    random_sum += BestOf(Drive(*random, space, 1, kTries), space) - 1000;
  }

  for (const std::string_view name : {"annealing", "genetic", "evolution", "swarm", "surrogate"}) {
    double sum = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const auto searcher = *MakeSearcher(name, space, {seed});
      sum += BestOf(Drive(*searcher, space, 1, kTries), space) - 1000;
    }
    EXPECT_LT(sum, 0.7 * random_sum) << name;
  }
}

TEST(PermutationTest, IsABijectionForEverySmallSize) {
  for (uint64_t size = 1; size <= 200; ++size) {
    const Permutation permutation(size, size * 31);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) seen.insert(permutation.At(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_LT(*seen.rbegin(), size);
  }
}

TEST(PermutationTest, HugeSizesTakeNoMemoryAndStayInRange) {
  const uint64_t size = (uint64_t{1} << 50) + 12345;
  const Permutation permutation(size, 3);

  for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(permutation.At(i * 999'999'937), size);
}

TEST(PermutationTest, FirstElementsAreSpreadOverTheWholeRange) {
  constexpr uint64_t kSize = 100'000;
  const Permutation permutation(kSize, 5);
  int counts[10] = {};

  for (uint64_t i = 0; i < 1000; ++i) ++counts[permutation.At(i) * 10 / kSize];

  // Binomial(1000, 0.1): five standard deviations are 47.
  for (const int count : counts) EXPECT_NEAR(count, 100, 47);
}

}  // namespace
}  // namespace attune
