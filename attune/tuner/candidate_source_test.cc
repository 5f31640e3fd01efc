#include "attune/tuner/candidate_source.h"

#include <set>

#include <gtest/gtest.h>

#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

std::vector<Candidate> AskAll(CandidateSource& source, double time_ns) {
  std::vector<Candidate> all;
  for (auto batch = source.Ask(8); !batch.empty(); batch = source.Ask(8)) {
    for (const Candidate& candidate : batch) {
      source.Tell(candidate, time_ns);
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
      source->Tell(candidate, is_slow ? 1000.0 : 1.0);
    }
  }

  EXPECT_LT(asked_slow, 30);
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
