#include "attune/tuner/device_listing.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"

namespace attune {
namespace {

class DeviceListingTest : public testing::Test {
 protected:
  static SolverTraits ListedTraits() {
    SolverTraits traits;
    traits.listed_on_device = true;
    return traits;
  }

  // Number of candidates after the device was asked.
  size_t CountAfterListing(int64_t limit = 0) {
    auto source = CandidateSource::Create(PackedGemm(2, 2, 2), Target{}, solvers_, {}, &notes_);
    EXPECT_TRUE(source.ok());
    AddListed(solvers_, {.limit = limit, .per_problem_ns = 1'000'000'000, .clock = &clock_},
              evaluator_, *source, notes_);
    size_t count = 0;
    for (auto batch = source->Ask(8); !batch.empty(); batch = source->Ask(8)) {
      count += batch.size();
      for (const Candidate& candidate : batch) source->Tell(candidate, {1.0});
    }
    return count;
  }

  FakeClock clock_;
  ScriptedEvaluator evaluator_{[](int64_t) { return 1e3; }, 1, clock_};
  const SpaceOnlySolver plain_{"t.plain", 3};
  const SpaceOnlySolver listed_{"t.listed", 1, true, ListedTraits()};
  const std::vector<const Solver*> solvers_ = {&plain_, &listed_};
  std::vector<std::string> notes_;
};

TEST_F(DeviceListingTest, OfAListTheFirstAreTakenAsFarAsItIsAskedFor) {
  evaluator_.ListOnDevice({{{"id", int64_t{1}}}, {{"id", int64_t{2}}}, {{"id", int64_t{3}}}});

  EXPECT_EQ(CountAfterListing(2), 3u + 1u + 2u);
  EXPECT_EQ(CountAfterListing(7), 3u + 1u + 3u);
}

class ListingOrderTest : public DeviceListingTest {
 protected:
  // Names of the solvers that are listed if their defaults took these times and each list takes
  // `list_ns`.
  std::vector<std::string> Listed(const std::vector<double>& times_ns, int64_t list_ns,
                                  bool exhaustive = false) {
    const SpaceOnlySolver a("t.a", 1, true, ListedTraits()), b("t.b", 1, true, ListedTraits()),
        c("t.c", 1, true, ListedTraits());
    const std::vector<const Solver*> solvers = {&a, &b, &c};
    auto source = CandidateSource::Create(PackedGemm(2, 2, 2), Target{}, solvers, {}, &notes_);
    EXPECT_TRUE(source.ok());
    const auto defaults = source->Ask(8);
    for (size_t i = 0; i < times_ns.size(); ++i) source->Tell(defaults[i], {times_ns[i]});
    evaluator_.ListOnDevice({{{"id", int64_t{1}}}}, list_ns);
    AddListed(solvers,
              {.exhaustive = exhaustive, .per_problem_ns = 6'000'000'000, .clock = &clock_},
              evaluator_, *source, notes_);
    return evaluator_.TakeListedSolvers();
  }
};

TEST_F(ListingOrderTest, TheBestDefaultsAreListedFirstAndWhoIsFarBehindIsNot) {
  EXPECT_EQ(Listed({15.0, 10.0, 30.0}, 1), (std::vector<std::string>{"t.b", "t.a"}));
  EXPECT_EQ(Listed({15.0, 10.0, 30.0}, 1, true), (std::vector<std::string>{"t.b", "t.a", "t.c"}));
}

TEST_F(ListingOrderTest, WhoseDefaultHasNoTimeComesLast) {
  EXPECT_EQ(Listed({15.0, 10.0}, 1), (std::vector<std::string>{"t.b", "t.a", "t.c"}));
  EXPECT_EQ(Listed({}, 1), (std::vector<std::string>{"t.a", "t.b", "t.c"}));
}

TEST_F(ListingOrderTest, AfterTheFirstNoListIsBegunThatWouldTakeMoreThanASixthOfTheTime) {
  EXPECT_EQ(Listed({10.0, 11.0, 12.0}, 450'000'000).size(), 2u);
  EXPECT_EQ(Listed({10.0, 11.0, 12.0}, 1'200'000'000).size(), 1u);
  EXPECT_EQ(Listed({10.0, 11.0, 12.0}, 1'200'000'000, true).size(), 3u);
}

TEST_F(DeviceListingTest, OnlyWhoIsListedOnTheDeviceIsAskedFor) {
  evaluator_.ListOnDevice({{{"id", int64_t{1}}}, {{"id", int64_t{2}}}});

  EXPECT_EQ(CountAfterListing(), 3u + 1u + 2u);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(DeviceListingTest, AListThatCannotBeHadIsNotedAndTheDefaultIsTried) {
  evaluator_.ListOnDevice({{{"id", int64_t{1}}}, {{"id", int64_t{1}}}});

  EXPECT_EQ(CountAfterListing(), 3u + 1u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("t.listed@1 is tried as it is by default only"), std::string::npos);
  EXPECT_NE(notes_[0].find("listed twice"), std::string::npos);
}

}  // namespace
}  // namespace attune
