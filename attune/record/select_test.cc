// SelectBest and SelectWithin on hand-made sets.
#include "attune/record/select.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kRounds = 40;

const Target kHere{"host", "AMD EPYC 9654", "x86-64-v4", 2, {}};
const Environment kNow{{"library.openblas", "0.3.21"},
                       {"library.onednn", "2.6.3"},
                       {"policy.omp_wait", "passive"},
                       {"host.kernel", "6.1"}};

Candidate OpenBlas() { return {{"host.openblas-gemm", 1}, {}}; }
Candidate OneDnn() { return {{"host.onednn-gemm", 1}, {}}; }
Candidate Eigen() { return {{"host.eigen-gemm", 1}, {}}; }

// `time_ns` in every round, up to a thousandth that differs from round to round.
Measurement Timed(double time_ns) {
  Measurement measurement;
  for (int round = 0; round < kRounds; ++round) {
    measurement.samples_ns.push_back(time_ns * (1 + 0.001 * (round % 7)));
  }
  measurement.median_ns = time_ns;
  measurement.low_ns = time_ns;
  measurement.high_ns = time_ns;
  measurement.confidence = 0.99;
  return measurement;
}

Record Final(const Candidate& candidate, const Measurement& measurement) {
  Record record;
  record.trial.candidate = candidate;
  record.trial.role = TrialRole::kFinal;
  record.trial.outcome = measurement;
  return record;
}

Record FinalDefault(double time_ns) {
  Record record = Final(OpenBlas(), Timed(time_ns));
  record.trial.is_default = true;
  return record;
}

Record Failed(const Candidate& candidate, TrialRole role) {
  Record record;
  record.trial.candidate = candidate;
  record.trial.role = role;
  record.trial.outcome = Failure{FailureKind::kCrashed, Phase::kMeasure, "signal 11"};
  return record;
}

RecordedSet SetOf(std::vector<Record> records) {
  RecordedSet recorded;
  recorded.set.id = std::string(32, 'a');
  recorded.set.problem = Normalized(PackedGemm(64, 64, 64));
  recorded.set.target = kHere;
  recorded.set.environment = kNow;
  recorded.finished = true;
  recorded.records = std::move(records);
  for (size_t i = 0; i < recorded.records.size(); ++i) {
    recorded.records[i].revision = static_cast<int64_t>(i + 1);
  }
  return recorded;
}

std::optional<Choice> Best(const std::vector<RecordedSet>& sets,
                           std::vector<std::string>* notes = nullptr) {
  return SelectBest(sets, kHere, kNow, SelectOptions(), notes);
}

TEST(SelectWithin, TheFastestThatBeatsTheDefaultWins) {
  const RecordedSet set =
      SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500)), Final(Eigen(), Timed(800))});

  const auto choice = SelectWithin(set, SelectOptions());

  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->candidate, OneDnn());
  EXPECT_EQ(choice->provenance, Provenance::kMeasured);
  EXPECT_EQ(choice->measurement, Timed(500));
  EXPECT_EQ(choice->default_candidate, OpenBlas());
  EXPECT_EQ(choice->default_measurement, Timed(1000));
  EXPECT_NEAR(choice->speedup, 2, 0.01);
  EXPECT_LE(choice->speedup_low, choice->speedup);
  EXPECT_GE(choice->speedup_high, choice->speedup);
  EXPECT_GE(choice->confidence, 0.99);
  EXPECT_EQ(choice->set_id, set.set.id);
}

TEST(SelectWithin, OrderOfRecordsDoesNotMatter) {
  const auto forward = SelectWithin(
      SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500)), Final(Eigen(), Timed(400))}),
      SelectOptions());
  const auto backward = SelectWithin(
      SetOf({Final(Eigen(), Timed(400)), Final(OneDnn(), Timed(500)), FinalDefault(1000)}),
      SelectOptions());

  EXPECT_EQ(forward->candidate, Eigen());
  EXPECT_EQ(backward->candidate, Eigen());
}

TEST(SelectWithin, DefaultStaysWithinTheMargin) {
  const RecordedSet set = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(995))});

  const auto choice = SelectWithin(set, SelectOptions());

  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->candidate, OpenBlas());
  EXPECT_EQ(choice->provenance, Provenance::kDefault);
  EXPECT_EQ(choice->speedup, 1);
  EXPECT_EQ(choice->speedup_low, 1);
  EXPECT_EQ(choice->speedup_high, 1);
}

TEST(SelectWithin, DefaultStaysIfTheIntervalReachesBelowTheMargin) {
  Measurement noisy = Timed(900);
  for (size_t i = 0; i < noisy.samples_ns.size(); i += 2) noisy.samples_ns[i] = 1100;
  const RecordedSet set = SetOf({FinalDefault(1000), Final(OneDnn(), noisy)});

  const auto choice = SelectWithin(set, SelectOptions());

  EXPECT_EQ(choice->candidate, OpenBlas());
}

TEST(SelectWithin, DefaultAloneIsChosen) {
  const auto choice = SelectWithin(SetOf({FinalDefault(1000)}), SelectOptions());

  EXPECT_EQ(choice->provenance, Provenance::kDefault);
  EXPECT_EQ(choice->measurement, Timed(1000));
}

TEST(SelectWithin, WithoutAMeasuredDefaultThereIsNoChoice) {
  Record failed_default = Failed(OpenBlas(), TrialRole::kFinal);
  failed_default.trial.is_default = true;

  EXPECT_EQ(SelectWithin(SetOf({}), SelectOptions()), std::nullopt);
  EXPECT_EQ(SelectWithin(SetOf({Final(OneDnn(), Timed(1))}), SelectOptions()), std::nullopt);
  EXPECT_EQ(SelectWithin(SetOf({failed_default, Final(OneDnn(), Timed(1))}), SelectOptions()),
            std::nullopt);
}

TEST(SelectWithin, OnlyFinalsCount) {
  Record screened = Final(OneDnn(), Timed(10));
  screened.trial.role = TrialRole::kScreen;
  Record qualified;
  qualified.trial.candidate = Eigen();
  qualified.trial.role = TrialRole::kQualify;

  const auto choice =
      SelectWithin(SetOf({FinalDefault(1000), screened, qualified}), SelectOptions());

  EXPECT_EQ(choice->candidate, OpenBlas());
}

TEST(SelectWithin, AFailureNeverWins) {
  const RecordedSet later =
      SetOf({FinalDefault(1000), Final(OneDnn(), Timed(10)), Failed(OneDnn(), TrialRole::kFinal)});
  const RecordedSet in_another_role = SetOf(
      {FinalDefault(1000), Final(OneDnn(), Timed(10)), Failed(OneDnn(), TrialRole::kQualify)});

  EXPECT_EQ(SelectWithin(later, SelectOptions())->candidate, OpenBlas());
  EXPECT_EQ(SelectWithin(in_another_role, SelectOptions())->candidate, OpenBlas());
}

TEST(SelectWithin, ARepeatedFinalReplacesTheOneBefore) {
  const RecordedSet set = SetOf({FinalDefault(10), Final(OneDnn(), Timed(5)), FinalDefault(1000),
                                 Final(OneDnn(), Timed(2000))});

  const auto choice = SelectWithin(set, SelectOptions());

  EXPECT_EQ(choice->candidate, OpenBlas());
  EXPECT_EQ(choice->measurement, Timed(1000));
}

TEST(SelectWithin, TimesOfTheOtherCacheStateAreNotCompared) {
  Measurement cold = Timed(10);
  cold.cache = CacheState::kCold;

  const auto choice =
      SelectWithin(SetOf({FinalDefault(1000), Final(OneDnn(), cold)}), SelectOptions());

  EXPECT_EQ(choice->candidate, OpenBlas());
}

TEST(SelectWithin, WorkspaceIsThatOfTheWinner) {
  Record winner = Final(OneDnn(), Timed(10));
  winner.trial.workspace_bytes = 4096;

  const auto choice = SelectWithin(SetOf({FinalDefault(1000), winner}), SelectOptions());

  EXPECT_EQ(choice->workspace_bytes, 4096);
}

TEST(SelectWithin, RooflineFractionIsOfTheWinner) {
  RecordedSet set = SetOf({FinalDefault(10000), Final(OneDnn(), Timed(5000))});
  set.set.peaks = {2.0 * 64 * 64 * 64 / 2.5e-6, 0, 1e18};

  const auto choice = SelectWithin(set, SelectOptions());

  EXPECT_NEAR(choice->roofline_fraction, 0.5, 1e-9);
}

class ImpossibleTimeTest : public ::testing::TestWithParam<double> {};

TEST_P(ImpossibleTimeTest, NeverWins) {
  Measurement bad_median = Timed(100);
  bad_median.median_ns = GetParam();
  Measurement bad_sample = Timed(100);
  bad_sample.samples_ns[3] = GetParam();
  Measurement all_bad = Timed(100);
  all_bad.median_ns = GetParam();
  all_bad.samples_ns.assign(kRounds, GetParam());

  for (const Measurement& bad : {bad_median, bad_sample, all_bad}) {
    const auto choice =
        SelectWithin(SetOf({FinalDefault(1000), Final(OneDnn(), bad), Final(Eigen(), Timed(500))}),
                     SelectOptions());
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->candidate, Eigen());
  }
}

TEST_P(ImpossibleTimeTest, IsNoDefaultEither) {
  Record bad_default = FinalDefault(1000);
  std::get<Measurement>(bad_default.trial.outcome).samples_ns[0] = GetParam();

  EXPECT_EQ(SelectWithin(SetOf({bad_default, Final(OneDnn(), Timed(500))}), SelectOptions()),
            std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(SelectWithin, ImpossibleTimeTest,
                         ::testing::Values(0.0, -0.0, -1.0, kNan, kInfinity, -kInfinity));

TEST(SelectWithin, AMeasurementWithoutSamplesNeverWins) {
  Measurement without_samples = Timed(10);
  without_samples.samples_ns.clear();

  const auto choice =
      SelectWithin(SetOf({FinalDefault(1000), Final(OneDnn(), without_samples)}), SelectOptions());

  EXPECT_EQ(choice->candidate, OpenBlas());
}

TEST(SelectBest, NoSetsGiveNothing) { EXPECT_EQ(Best({}), std::nullopt); }

TEST(SelectBest, TheNewestValidSetWins) {
  const RecordedSet older = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  const RecordedSet newer = SetOf({FinalDefault(1000), Final(Eigen(), Timed(900))});
  std::vector<std::string> notes;

  const auto choice = Best({older, newer}, &notes);

  EXPECT_EQ(choice->candidate, Eigen());
  EXPECT_THAT(notes, IsEmpty());
}

TEST(SelectBest, UnfinishedSetsArePassedOverWithANote) {
  const RecordedSet older = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  RecordedSet newer = SetOf({FinalDefault(1000), Final(Eigen(), Timed(100))});
  newer.finished = false;
  newer.set.id = std::string(32, 'b');
  std::vector<std::string> notes;

  const auto choice = Best({older, newer}, &notes);

  EXPECT_EQ(choice->candidate, OneDnn());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("bbbb is passed over. It is unfinished.")));
}

SelectOptions Knowing(std::vector<SolverId> solvers) {
  SelectOptions options;
  options.known_solvers = std::move(solvers);
  return options;
}

TEST(SelectBest, AWinnerWhoseSolverIsGoneIsNeverChosen) {
  const std::vector<RecordedSet> sets = {SetOf({FinalDefault(1000), Final(Eigen(), Timed(900))}),
                                         SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))})};
  const SelectOptions options = Knowing({OpenBlas().solver, Eigen().solver});
  std::vector<std::string> notes;

  const auto choice = SelectBest(sets, kHere, kNow, options, &notes);

  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->candidate, Eigen());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no solver " + Text(OneDnn().solver) + " here")));
}

TEST(SelectBest, AnotherVersionIsAnotherSolver) {
  SolverId next = OneDnn().solver;
  ++next.version;
  const RecordedSet set = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  const SelectOptions with_next = Knowing({OpenBlas().solver, next});
  const SelectOptions with_both = Knowing({OpenBlas().solver, next, OneDnn().solver});

  EXPECT_EQ(SelectBest({&set, 1}, kHere, kNow, with_next, nullptr), std::nullopt);
  EXPECT_NE(SelectBest({&set, 1}, kHere, kNow, with_both, nullptr), std::nullopt);
}

TEST(SelectBest, ADefaultWhoseSolverIsGoneEndsItsSet) {
  const RecordedSet set = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});

  EXPECT_EQ(SelectBest({&set, 1}, kHere, kNow, Knowing({OneDnn().solver}), nullptr), std::nullopt);
}

TEST(SelectBest, SetsWithoutADefaultArePassedOverWithANote) {
  std::vector<std::string> notes;

  const auto choice = Best({SetOf({Final(OneDnn(), Timed(1))})}, &notes);

  EXPECT_EQ(choice, std::nullopt);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no final measurement")));
}

TEST(SelectBest, SetsOfAnotherTargetArePassedOverWithANote) {
  RecordedSet elsewhere = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  elsewhere.set.target.device = "Xeon";
  std::vector<std::string> notes;

  EXPECT_EQ(Best({elsewhere}, &notes), std::nullopt);

  EXPECT_THAT(notes, ElementsAre(HasSubstr("Xeon")));
}

TEST(SelectBest, ASetWhoseWinnersLibraryChangedIsPassedOverThoughItsDefaultIsValid) {
  const RecordedSet older = SetOf({FinalDefault(1000), Final(Eigen(), Timed(900))});
  RecordedSet newer = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  newer.set.environment["library.onednn"] = "2.5.0";
  std::vector<std::string> notes;

  const auto choice = Best({older, newer}, &notes);

  EXPECT_EQ(choice->candidate, Eigen());
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("library.onednn"));
  EXPECT_THAT(notes[0], HasSubstr("'2.5.0'"));
  EXPECT_THAT(notes[0], HasSubstr("'2.6.3'"));
}

TEST(SelectBest, ASetWhoseDefaultsLibraryChangedIsPassedOver) {
  RecordedSet set = SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500))});
  set.set.environment["library.openblas"] = "0.3.20";
  std::vector<std::string> notes;

  EXPECT_EQ(Best({set}, &notes), std::nullopt);

  EXPECT_THAT(notes, ElementsAre(HasSubstr("library.openblas")));
}

TEST(SelectBest, AnUpgradeOfALibraryOfALoserChangesNothing) {
  RecordedSet set =
      SetOf({FinalDefault(1000), Final(Eigen(), Timed(500)), Final(OneDnn(), Timed(700))});
  set.set.environment["library.onednn"] = "2.5.0";
  set.set.environment["host.kernel"] = "5.10";

  EXPECT_EQ(Best({set})->candidate, Eigen());
}

TEST(SelectBest, NotesMayBeNull) {
  RecordedSet unfinished = SetOf({FinalDefault(1000)});
  unfinished.finished = false;

  EXPECT_EQ(Best({unfinished}, nullptr), std::nullopt);
}

// As Timed, in `rounds` rounds of which every second one is off by the factor `spread`.
Measurement Scattered(double time_ns, double spread, int rounds) {
  Measurement measurement = Timed(time_ns);
  measurement.samples_ns.resize(static_cast<size_t>(rounds));
  for (size_t i = 0; i < measurement.samples_ns.size(); ++i) {
    measurement.samples_ns[i] = time_ns * (i % 2 == 0 ? 1 : spread);
  }
  return measurement;
}

Choice StandingOneDnn() {
  return SelectWithin(
             SetOf({FinalDefault(1000), Final(OneDnn(), Timed(500)), Final(Eigen(), Timed(600))}),
             SelectOptions())
      .value();
}

bool ReplacesStanding(std::vector<Record> records) {
  return Replaces(SetOf(std::move(records)), StandingOneDnn(), SelectOptions());
}

TEST(Replaces, AFinalThatIsAsSureDoes) {
  EXPECT_TRUE(ReplacesStanding(
      {FinalDefault(1000), Final(OneDnn(), Timed(500)), Final(Eigen(), Timed(700))}));
  EXPECT_TRUE(ReplacesStanding(
      {FinalDefault(1000), Final(OneDnn(), Timed(900)), Final(Eigen(), Timed(700))}));
  EXPECT_TRUE(ReplacesStanding({FinalDefault(500), Final(OneDnn(), Timed(900))}));
}

TEST(Replaces, AHurriedFinalWithWideIntervalsDoesNot) {
  // Eigen has the better median, and may still be much slower.
  EXPECT_FALSE(ReplacesStanding({FinalDefault(1000), Final(OneDnn(), Scattered(500, 0.8, 24)),
                                 Final(Eigen(), Scattered(440, 1.01, 24))}));
  // No candidate beat the default, because nothing is certain.
  EXPECT_FALSE(ReplacesStanding({FinalDefault(1000), Final(OneDnn(), Scattered(1300, 0.4, 24))}));
}

TEST(Replaces, AFinalOfTooFewRoundsDoesNot) {
  EXPECT_FALSE(ReplacesStanding({FinalDefault(1000), Final(OneDnn(), Scattered(500, 1, 4)),
                                 Final(Eigen(), Scattered(400, 1, 4))}));
}

TEST(Replaces, WhoBeatsTheStandingChoiceInOneFinalDoesHoweverUnsureTheRestIs) {
  const Candidate blis{{"host.blis-gemm", 1}, {}};

  EXPECT_TRUE(
      ReplacesStanding({FinalDefault(1000), Final(OneDnn(), Timed(900)), Final(Eigen(), Timed(500)),
                        Final(blis, Scattered(600, 0.5, kRounds))}));
}

TEST(Replaces, WhoBeatsTheStandingChoiceOnABusyMachineDoesNot) {
  // Something else ran beside: the incumbent is five times as slow as it was, and the candidate
  // that beat it has no reliable time.
  const Candidate blis{{"host.blis-gemm", 1}, {}};
  Measurement busy = Timed(900);
  busy.low_ns = 400;
  busy.high_ns = 1500;
  const auto records = [&](const Measurement& eigen) {
    return std::vector<Record>{FinalDefault(9000), Final(OneDnn(), Timed(2500)),
                               Final(Eigen(), eigen), Final(blis, Scattered(2000, 0.4, kRounds))};
  };

  EXPECT_FALSE(ReplacesStanding(records(busy)));
  EXPECT_TRUE(ReplacesStanding(records(Timed(900))));
}

TEST(Replaces, WhatWasDecidedOnABusyMachineGivesWayToAQuietOne) {
  const Record eigen = Final(Eigen(), Scattered(1100, 0.85, kRounds));
  Record busy = FinalDefault(1000);
  std::get<Measurement>(busy.trial.outcome).high_ns = 3000;
  const Choice loud = SelectWithin(SetOf({busy}), SelectOptions()).value();
  const Choice quiet = SelectWithin(SetOf({FinalDefault(1000)}), SelectOptions()).value();
  Record hurried = FinalDefault(1000);
  std::get<Measurement>(hurried.trial.outcome).confidence = 0.75;

  EXPECT_TRUE(Replaces(SetOf({FinalDefault(1000), eigen}), loud, SelectOptions()));
  EXPECT_FALSE(Replaces(SetOf({FinalDefault(1000), eigen}), quiet, SelectOptions()));
  EXPECT_FALSE(Replaces(SetOf({hurried, eigen}), loud, SelectOptions()));
  EXPECT_FALSE(Replaces(SetOf({busy, eigen}), loud, SelectOptions()));
}

TEST(IsSteady, TheIntervalCountsAgainstTheMedian) {
  Measurement measurement = Timed(1000);
  EXPECT_TRUE(IsSteady(measurement));
  measurement.low_ns = 750;
  measurement.high_ns = 1250;
  EXPECT_DOUBLE_EQ(RelativeSpread(measurement), 0.25);
  EXPECT_TRUE(IsSteady(measurement));
  measurement.high_ns = 1300;
  EXPECT_FALSE(IsSteady(measurement));
  measurement.median_ns = 0;
  EXPECT_FALSE(IsSteady(measurement));
}

TEST(Replaces, AFinalWithoutTheStandingChoiceDoesNot) {
  EXPECT_FALSE(ReplacesStanding({FinalDefault(1000)}));
  EXPECT_FALSE(ReplacesStanding({FinalDefault(1000), Final(Eigen(), Timed(700))}));
}

TEST(Replaces, AnyFinalDoesIfTheStandingChoiceFailed) {
  EXPECT_TRUE(ReplacesStanding({Failed(OneDnn(), TrialRole::kQualify), FinalDefault(1000)}));
  EXPECT_FALSE(ReplacesStanding({Failed(OneDnn(), TrialRole::kQualify)}));
}

TEST(ProvenanceName, IsStable) {
  EXPECT_EQ(Name(Provenance::kMeasured), "measured");
  EXPECT_EQ(Name(Provenance::kDefault), "default");
  EXPECT_EQ(Name(Provenance::kUntuned), "untuned");
}

}  // namespace
}  // namespace attune
