#include "attune/tuner/candidate_source.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

std::vector<Candidate> AskAll(CandidateSource& source, double time_ns) {
  std::vector<Candidate> all;
  for (auto batch = source.Ask(8); !batch.empty(); batch = source.Ask(8)) {
    for (const Candidate& candidate : batch) {
      source.Tell(candidate, {time_ns});
      all.push_back(candidate);
    }
  }
  return all;
}

Result<CandidateSource> Source(const std::vector<const Solver*>& solvers,
                               CandidateSource::Options options, std::vector<std::string>* notes) {
  return CandidateSource::Create(PackedGemm(2, 2, 2), Target{}, solvers, options, notes);
}

TEST(CandidateSourceTest, DefaultsOfAllSolversComeFirstInOrder) {
  const SpaceOnlySolver a("t.a", 3), b("t.b", 500), c("t.c", 1);
  std::vector<std::string> notes;
  auto source = Source({&a, &b, &c}, {}, &notes);
  ASSERT_TRUE(source.ok());

  const auto first = source->Ask(1);

  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(Text(first[0]), "t.a@1{p=0}");
  EXPECT_EQ(Text(first[1]), "t.b@1{p=0}");
  EXPECT_EQ(Text(first[2]), "t.c@1{p=0}");
}

TEST(CandidateSourceTest, ExhaustiveAsksForEverythingOnce) {
  const SpaceOnlySolver a("t.a", 3), b("t.b", 500);
  std::vector<std::string> notes;
  CandidateSource::Options options;
  options.searcher = "exhaustive";
  options.drop_hopeless = false;
  auto source = Source({&a, &b}, options, &notes);
  ASSERT_TRUE(source.ok());

  const auto all = AskAll(*source, 100.0);

  EXPECT_EQ(all.size(), 503u);
  EXPECT_EQ(std::set<Candidate>(all.begin(), all.end()).size(), 503u);
}

TEST(CandidateSourceTest, WhatCanBeTriedWholeIsAskedForWithoutAnswers) {
  const SpaceOnlySolver a("t.a", 300), b("t.b", 200);
  std::vector<std::string> notes;
  auto enough = Source({&a, &b}, {.max_candidates = 500}, &notes);
  auto too_little = Source({&a, &b}, {.max_candidates = 499}, &notes);
  ASSERT_TRUE(enough.ok() && too_little.ok());
  for (const Candidate& candidate : enough->Ask(1)) enough->Tell(candidate, {1.0});
  for (const Candidate& candidate : too_little->Ask(1)) too_little->Tell(candidate, {1.0});

  EXPECT_EQ(enough->Ask(1000).size(), 498u);
  EXPECT_LT(too_little->Ask(1000).size(), 400u);
}

TEST(CandidateSourceTest, ALargeSpaceIsSearchedNearTheDefaultAtFirst) {
  const SpaceOnlySolver a("t.a", 500);
  std::vector<std::string> notes;
  auto source = Source({&a}, {}, &notes);
  ASSERT_TRUE(source.ok());
  for (const Candidate& candidate : source->Ask(1)) source->Tell(candidate, {1.0});

  EXPECT_EQ(Text(source->Ask(1)[0]), "t.a@1{p=1}");
}

TEST(CandidateSourceTest, WhatWasGoodElsewhereFollowsTheDefaults) {
  const SpaceOnlySolver a("t.a", 500), b("t.b", 1);
  std::vector<std::string> notes;
  CandidateSource::Options options;
  options.elsewhere[a.id()] = {{{{{"p", 77}}, 10.0}, {{{"p", 9999}}, 1.0}, {{{"p", 3}}, {}}}};
  auto source = Source({&a, &b}, options, &notes);
  ASSERT_TRUE(source.ok());

  EXPECT_EQ(Text(source->Ask(1)[0]), "t.a@1{p=0}");
  EXPECT_EQ(Text(source->Ask(1)[0]), "t.a@1{p=77}");
}

TEST(CandidateSourceTest, HopelessSolverIsAskedNoMore) {
  const SpaceOnlySolver fast("t.fast", 2), slow("t.slow", 500);
  std::vector<std::string> notes;
  auto source = Source({&fast, &slow}, {}, &notes);
  ASSERT_TRUE(source.ok());
  int64_t asked_slow = 0;

  for (auto batch = source->Ask(8); !batch.empty(); batch = source->Ask(8)) {
    for (const Candidate& candidate : batch) {
      const bool is_slow = candidate.solver.name == "t.slow";
      asked_slow += is_slow ? 1 : 0;
      source->Tell(candidate, {is_slow ? 1000.0 : 1.0});
    }
  }

  EXPECT_LT(asked_slow, 30);
}

// Number of candidates of each solver among the first `count` after the defaults.
std::map<std::string, int> Shares(CandidateSource& source,
                                  const std::map<std::string, double>& times_ns, size_t count) {
  std::map<std::string, int> shares;
  for (size_t asked = 0; asked < count;) {
    const auto batch = source.Ask(64);
    if (batch.empty()) break;
    for (const Candidate& candidate : batch) {
      ++shares[candidate.solver.name];
      source.Tell(candidate, {times_ns.at(candidate.solver.name)});
    }
    asked += batch.size();
  }
  return shares;
}

TEST(CandidateSourceTest, TheFurtherBehindASolverIsTheRarerAreItsTurns) {
  const SpaceOnlySolver best("t.best", 5000), close("t.close", 5000), half("t.half", 5000);
  std::vector<std::string> notes;
  auto source = Source({&half, &close, &best}, {}, &notes);
  ASSERT_TRUE(source.ok());

  const auto shares = Shares(*source, {{"t.best", 10.0}, {"t.close", 11.0}, {"t.half", 20.0}}, 600);

  EXPECT_NEAR(shares.at("t.best") / shares.at("t.close"), 1.331, 0.4);
  EXPECT_NEAR(shares.at("t.best") / shares.at("t.half"), 8, 3);
}

TEST(CandidateSourceTest, WhoTurnsOutToBeBetterThanItLookedIsAskedMore) {
  const SpaceOnlySolver a("t.a", 5000), b("t.b", 5000);
  std::vector<std::string> notes;
  auto source = Source({&a, &b}, {}, &notes);
  ASSERT_TRUE(source.ok());
  Shares(*source, {{"t.a", 10.0}, {"t.b", 20.0}}, 300);

  const auto shares = Shares(*source, {{"t.a", 10.0}, {"t.b", 8.0}}, 300);

  EXPECT_GT(shares.at("t.b"), shares.at("t.a"));
}

TEST(CandidateSourceTest, AnAnswerThatNeverComesHoldsNobodyElseUp) {
  const SpaceOnlySolver a("t.a", 500), b("t.b", 500);
  std::vector<std::string> notes;
  auto source = Source({&a, &b}, {}, &notes);
  ASSERT_TRUE(source.ok());
  std::set<Candidate> asked_b;

  for (auto batch = source->Ask(8); !batch.empty(); batch = source->Ask(8)) {
    for (const Candidate& candidate : batch) {
      if (candidate.solver.name == "t.a") continue;
      source->Tell(candidate, {1.0});
      asked_b.insert(candidate);
    }
  }

  EXPECT_EQ(asked_b.size(), 500u);
}

std::vector<Config> Listed(int64_t count) {
  std::vector<Config> configs;
  for (int64_t i = 0; i < count; ++i) configs.push_back({{"id", i % 16}, {"tile", i / 16}});
  return configs;
}

TEST(CandidateSourceTest, ListedConfigsComeAfterTheDefaultsAndBeginWithTheGuesses) {
  const SpaceOnlySolver a("t.a", 1);
  std::vector<std::string> notes;
  auto source = Source({&a}, {}, &notes);
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(source->AddListed({"t.a", 1}, Listed(600)).ok());

  const auto all = AskAll(*source, 100.0);

  ASSERT_EQ(all.size(), 601u);
  EXPECT_EQ(Text(all[0]), "t.a@1{p=0}");
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(all[i + 1].config, Listed(600)[i]);
  EXPECT_EQ(std::set<Candidate>(all.begin(), all.end()).size(), 601u);
}

TEST(CandidateSourceTest, AListIsSearchedByTheTimesOfItsConfigs) {
  const SpaceOnlySolver a("t.a", 1);
  std::vector<std::string> notes;
  auto source = Source({&a}, {}, &notes);
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(source->AddListed({"t.a", 1}, Listed(16 * 200)).ok());
  const Config best = {{"id", int64_t{9}}, {"tile", int64_t{120}}};
  const auto time_ns = [](const Candidate& candidate) {
    if (!candidate.config.contains("id")) return 1e3;
    const double id = static_cast<double>(IntegerAt(candidate.config, "id")) - 9;
    const double tile = static_cast<double>(IntegerAt(candidate.config, "tile")) - 120;
    return 500 + id * id + tile * tile / 100;
  };
  size_t asked = 0;
  bool found = false;

  while (!found && asked < 16 * 200) {
    for (const Candidate& candidate : source->Ask(16)) {
      ++asked;
      found = found || candidate.config == best;
      source->Tell(candidate, {time_ns(candidate)});
    }
  }

  EXPECT_TRUE(found);
  EXPECT_LT(asked, 16u * 200 / 4);
}

TEST(CandidateSourceTest, AListThatIsNoSpaceIsRefused) {
  const SpaceOnlySolver a("t.a", 1);
  std::vector<std::string> notes;
  auto source = Source({&a}, {}, &notes);
  ASSERT_TRUE(source.ok());

  EXPECT_TRUE(source->AddListed({"t.a", 1}, {}).ok());
  EXPECT_EQ(source->AddListed({"t.a", 1}, {Config(), Config()}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(AskAll(*source, 1.0).size(), 1u);
}

TEST(CandidateSourceTest, SolverWithoutASpaceIsNotedAndLeftOut) {
  const SpaceOnlySolver good("t.good", 1), broken("t.broken", 1, false);
  std::vector<std::string> notes;
  auto source = Source({&good, &broken}, {}, &notes);
  ASSERT_TRUE(source.ok());

  const auto all = AskAll(*source, 1.0);

  EXPECT_EQ(all.size(), 1u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("The library does not answer."), std::string::npos);
}

TEST(CandidateSourceTest, UnknownSearcherFailsClosed) {
  const SpaceOnlySolver large("t.large", 500);
  std::vector<std::string> notes;
  CandidateSource::Options options;
  options.searcher = "no-such-search";

  const auto source = Source({&large}, options, &notes);

  EXPECT_EQ(source.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune
