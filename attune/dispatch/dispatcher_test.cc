#include "attune/dispatch/dispatcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DispatcherTest : public ::testing::Test {
 protected:
  Decision Decide(Breadth breadth = Breadth::kEnough, uint64_t limit = kNoWorkspaceLimit) {
    return Dispatcher(machine_.Parts(), options_)
        .Decide(problem_, *machine_.choices, limit, breadth)
        .value();
  }
  Result<Serving> Serve(Haste haste = Haste::kAtOnce, uint64_t limit = kNoWorkspaceLimit) {
    return Dispatcher(machine_.Parts(), options_).Serve(problem_, *machine_.choices, limit, haste);
  }
  void Force(const std::string& text) {
    options_.forced = ForcedChoices::Parse(text, machine_.solvers).value();
  }
  void Record(const std::vector<Candidate>& ranking) {
    machine_.choices->Add(problem_, ChoiceOf(ranking));
  }

  TestMachine machine_;
  DispatchOptions options_;
  Problem problem_ = ProductOf(4, 4, 4);
};

std::vector<std::string> Texts(const std::vector<Option>& options) {
  std::vector<std::string> texts;
  for (const Option& option : options) {
    texts.push_back(fmt::format("{} {}", Name(option.origin), Text(option.candidate)));
  }
  return texts;
}

TEST_F(DispatcherTest, WithoutAnyKnowledgeTheFirstSolverIsTheDefaultAndTheFirstInstantOneIsNext) {
  const Decision decision = Decide();

  EXPECT_THAT(Texts(decision.options), ElementsAre("default test.slow-gemm@1{variant=0}",
                                                   "default test.quick-gemm@1{variant=0}"));
  EXPECT_FALSE(decision.is_tuned);
}

TEST_F(DispatcherTest, EverythingListsEverySolverThatAppliesOnce) {
  Record({machine_.quick->At(0)});

  EXPECT_THAT(
      Texts(Decide(Breadth::kEverything).options),
      ElementsAre("measured test.quick-gemm@1{variant=0}", "default test.slow-gemm@1{variant=0}",
                  "default test.compiled-gemm@1{variant=0}",
                  "default test.plain-gemm@1{variant=0}"));
}

TEST_F(DispatcherTest, AForcedChoiceGoesBeforeARecordAndIsTheOnlyOne) {
  Record({machine_.slow->At(1)});
  Force("test.plain-gemm@1{variant=2}");

  const Decision decision = Decide();

  EXPECT_THAT(Texts(decision.options), ElementsAre("forced test.plain-gemm@1{variant=2}"));
  EXPECT_TRUE(decision.is_tuned);
}

TEST_F(DispatcherTest, AForcedChoiceThatDoesNotApplyIsAnErrorAndNothingElseServes) {
  machine_.plain->applies = [](const Gemm&) { return Unsupported("Too small for it."); };
  Force("test.plain-gemm");

  const auto serving = Serve();

  EXPECT_EQ(serving.status(), Unsupported("The forced choice cannot serve: Too small for it."));
  EXPECT_EQ(machine_.plain->defaults.all(), 0);
  EXPECT_EQ(machine_.quick->loads.all(), 0);
}

TEST_F(DispatcherTest, AForcedChoiceWithParametersThatDoNotFitIsAnError) {
  Force("test.quick-gemm@1{variant=7}");

  EXPECT_THAT(Serve().status().message(),
              HasSubstr("test.quick-gemm@1{variant=7} has no such parameters"));
}

TEST_F(DispatcherTest, AForcedChoiceThatCannotBeLoadedIsAnErrorAndNothingElseServes) {
  machine_.plain->on_load = [](const Config&) { return Internal("It broke."); };
  Force("test.plain-gemm");

  EXPECT_EQ(Serve().status(), Internal("It broke."));
  EXPECT_EQ(machine_.plain->loads.all(), 1);
  EXPECT_EQ(machine_.quick->loads.all(), 0);
}

TEST_F(DispatcherTest, ARecordOfACompatibleMachineGoesBeforeTheNearestNeighbour) {
  const Problem near = ProductOf(4, 4, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.quick->At(2)}));
  machine_.choices->AddNeighbour(near, 1);
  IndexedChoice elsewhere = ChoiceOf({machine_.quick->At(1)});
  elsewhere.target = std::make_shared<const Target>(TestTarget("Another device"));
  machine_.choices->Add(problem_, elsewhere);

  const Decision decision = Decide();

  EXPECT_THAT(Texts(decision.options), ElementsAre("compatible test.quick-gemm@1{variant=1}",
                                                   "nearest test.quick-gemm@1{variant=2}"));
  EXPECT_FALSE(decision.is_tuned);
  EXPECT_THAT(decision.options.front().because, HasSubstr("Another device"));
}

TEST_F(DispatcherTest, ARecordMadeUnderAnotherPolicyOfWaitingIsCompatible) {
  IndexedChoice then = ChoiceOf({machine_.quick->At(1)});
  Environment environment = TestEnvironment();
  environment["policy.wait"] = "active";
  then.environment = std::make_shared<const Environment>(environment);
  machine_.choices->Add(problem_, then);

  EXPECT_THAT(Texts(Decide().options), ElementsAre("compatible test.quick-gemm@1{variant=1}"));
}

TEST_F(DispatcherTest, ARecordOfAnotherArchitectureSaysNothing) {
  IndexedChoice elsewhere = ChoiceOf({machine_.quick->At(1)});
  Target target = TestTarget();
  target.arch = "v9";
  elsewhere.target = std::make_shared<const Target>(target);
  machine_.choices->Add(problem_, elsewhere);

  const Decision decision = Decide();

  EXPECT_EQ(decision.options.front().origin, Origin::kDefault);
  EXPECT_EQ(decision.skipped.size(), 1U);
}

TEST_F(DispatcherTest, ANeighbourWhoseCandidateDoesNotApplyIsPassedOver) {
  machine_.compiled->applies = [](const Gemm&) { return Unsupported("Not this one."); };
  const Problem near = ProductOf(4, 4, 8);
  const Problem next = ProductOf(4, 8, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.compiled->At(2)}));
  machine_.choices->Add(next, ChoiceOf({machine_.quick->At(1)}));
  machine_.choices->AddNeighbour(near, 1);
  machine_.choices->AddNeighbour(next, 1.4);

  EXPECT_THAT(Texts(Decide().options), ElementsAre("nearest test.quick-gemm@1{variant=1}"));
}

TEST_F(DispatcherTest, ANeighbourBeyondTheDistanceSaysNothing) {
  const Problem far = ProductOf(4, 4, 64);
  machine_.choices->Add(far, ChoiceOf({machine_.quick->At(1)}));
  machine_.choices->AddNeighbour(far, 4);

  EXPECT_EQ(Decide().options.front().origin, Origin::kDefault);
}

TEST_F(DispatcherTest, ARecordOfASolverThatIsGoneIsSkippedWithTheReason) {
  Record({Candidate{{"test.gone-gemm", 1}, {}}, machine_.quick->At(1)});

  const Decision decision = Decide();

  EXPECT_FALSE(decision.is_tuned);
  EXPECT_EQ(decision.options.front().origin, Origin::kDefault);
  EXPECT_THAT(decision.skipped, ElementsAre("Solver test.gone-gemm@1 does not exist here."));
}

TEST_F(DispatcherTest, ARecordOfAnotherVersionOfASolverIsSkippedWithTheReason) {
  Candidate old = machine_.quick->At(1);
  old.solver.version = 9;
  Record({old});

  const Decision decision = Decide();

  EXPECT_FALSE(decision.is_tuned);
  EXPECT_THAT(decision.skipped, ElementsAre("Solver test.quick-gemm@9 does not exist here."));
}

TEST_F(DispatcherTest, ARecordOfAnotherLibraryVersionIsSkippedWithTheReason) {
  IndexedChoice old = ChoiceOf({machine_.quick->At(1)});
  old.environment = std::make_shared<const Environment>(TestEnvironment("0.9"));
  machine_.choices->Add(problem_, old);

  const Decision decision = Decide();

  EXPECT_FALSE(decision.is_tuned);
  ASSERT_EQ(decision.skipped.size(), 1U);
  EXPECT_THAT(decision.skipped.front(), HasSubstr("library.quick"));
}

TEST_F(DispatcherTest, AnotherVersionOfALibraryThatTheCandidateDoesNotCallChangesNothing) {
  IndexedChoice old = ChoiceOf({machine_.plain->At(1)});
  old.environment = std::make_shared<const Environment>(TestEnvironment("0.9"));
  machine_.choices->Add(problem_, old);

  EXPECT_TRUE(Decide().is_tuned);
}

TEST_F(DispatcherTest, AnOlderRecordServesWhereTheNewestOneCannot) {
  Record({machine_.quick->At(1)});
  IndexedChoice newer = ChoiceOf({machine_.quick->At(2)});
  newer.environment = std::make_shared<const Environment>(TestEnvironment("2"));
  machine_.choices->Add(problem_, newer);

  const Decision decision = Decide();

  EXPECT_TRUE(decision.is_tuned);
  EXPECT_EQ(Text(decision.options.front().candidate), "test.quick-gemm@1{variant=1}");
}

TEST_F(DispatcherTest, DamagedRecordsAreSkippedAndTheDefaultServes) {
  machine_.choices->Damage(DataLoss("The index is damaged."));

  const Decision decision = Decide();

  EXPECT_EQ(decision.options.front().origin, Origin::kDefault);
  EXPECT_THAT(decision.skipped, ElementsAre("The index is damaged.", "The index is damaged."));
}

TEST_F(DispatcherTest, ARecordWhoseParametersFitNoMoreIsSkippedAndItsProblemCountsAsUntuned) {
  Candidate odd = machine_.quick->At(0);
  odd.config["variant"] = int64_t{7};
  Record({odd});

  const auto serving = Serve();

  EXPECT_FALSE(serving->is_tuned);
  EXPECT_EQ(serving->plan->option().origin, Origin::kDefault);
  EXPECT_THAT(serving->skipped,
              ElementsAre("test.quick-gemm@1{variant=7} has no such parameters for this problem "
                          "here."));
}

TEST_F(DispatcherTest, ThatNothingAppliesIsAnErrorWithEveryReason) {
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->applies = [solver](const Gemm&) { return Unsupported("Not " + solver->id().name); };
  }

  const auto serving = Serve();

  EXPECT_EQ(serving.status(),
            Unsupported("No solver here computes gemm@1{m=4,n=4,k=4}. Not test.slow-gemm Not "
                        "test.quick-gemm Not test.compiled-gemm Not test.plain-gemm"));
}

TEST_F(DispatcherTest, SolversOfOtherOperatorsAreNotAskedAndNothingStandsInForThem) {
  machine_.slow->traits_.operator_name = "conv";

  const auto serving = Serve();

  ASSERT_TRUE(serving.ok()) << serving.status().ToString();
  EXPECT_EQ(machine_.slow->defaults.all(), 0);
  EXPECT_FALSE(serving->is_stand_in);
  EXPECT_EQ(serving->plan->option().candidate, machine_.quick->At(0));
}

TEST_F(DispatcherTest, AnOperatorThatNoSolverKnowsIsUnsupported) {
  problem_ = OtherOp{.op = "bnorm", .attributes = {}};

  EXPECT_EQ(Serve().status(), Unsupported("No solver here computes " + Text(problem_) + "."));
}

TEST_F(DispatcherTest, OfTheMeasuredOnesTheBestThatFitsTheWorkspaceServes) {
  IndexedChoice choice =
      ChoiceOf({machine_.quick->At(0), machine_.quick->At(1), machine_.quick->At(2)});
  choice.ranking[0].workspace_bytes = 4096;
  choice.ranking[1].workspace_bytes = 1024;
  choice.ranking[2].workspace_bytes = 0;
  machine_.choices->Add(problem_, choice);

  EXPECT_EQ(Text(Decide(Breadth::kEnough, 4096).options.front().candidate),
            "test.quick-gemm@1{variant=0}");
  EXPECT_EQ(Text(Decide(Breadth::kEnough, 4095).options.front().candidate),
            "test.quick-gemm@1{variant=1}");
  EXPECT_EQ(Text(Decide(Breadth::kEnough, 0).options.front().candidate),
            "test.quick-gemm@1{variant=2}");
}

TEST_F(DispatcherTest, AWorkspaceThatIsOnlyKnownOnceItIsLoadedIsRespectedToo) {
  machine_.quick->workspace_bytes = 100;

  const auto serving = Serve(Haste::kAtOnce, 99);

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.plain-gemm");
  EXPECT_LE(serving->plan->workspace_bytes(), 99U);
  EXPECT_THAT(serving->skipped, IsEmpty());
}

TEST_F(DispatcherTest, AMeasuredCandidateAboveTheLimitIsNoReasonToTuneAgain) {
  machine_.quick->workspace_bytes = 100;
  Record({machine_.quick->At(1), machine_.plain->At(0)});

  const auto serving = Serve(Haste::kAtOnce, 10);

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.plain-gemm");
  EXPECT_TRUE(serving->is_tuned);
  EXPECT_THAT(serving->skipped, IsEmpty());
}

TEST_F(DispatcherTest, ThatNothingFitsTheWorkspaceIsAnErrorThatNamesTheLimit) {
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->workspace_bytes = 100;
  }

  const auto serving = Serve(Haste::kUnlessStuck, 10);

  EXPECT_EQ(serving.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(serving.status().message(),
              HasSubstr("needs 100 bytes of workspace for gemm@1{m=4,n=4,k=4}, above the limit of "
                        "10."));
}

TEST_F(DispatcherTest, IfNothingFitsTheOneThatNeedsLeastIsNamed) {
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->workspace_bytes = 100;
  }
  machine_.quick->workspace_bytes = 60;

  const auto serving = Serve(Haste::kUnlessStuck, 10);

  EXPECT_THAT(serving.status().message(),
              HasSubstr("test.quick-gemm@1{variant=0} needs 60 bytes of workspace"));
}

TEST_F(DispatcherTest, WithinALimitOptionsHaveTheirWorkspaceAndNoneIsAboveIt) {
  machine_.quick->workspace_bytes = 60;
  machine_.plain->workspace_bytes = 8;
  const Dispatcher dispatcher(machine_.Parts(), options_);

  const auto all = dispatcher.DecideWithin(problem_, *machine_.choices, kNoWorkspaceLimit);
  const auto within = dispatcher.DecideWithin(problem_, *machine_.choices, 10);

  // Of the slow and of the compiled one nothing is known before they are made.
  EXPECT_THAT(Texts(within->options), ElementsAre("default test.slow-gemm@1{variant=0}",
                                                  "default test.compiled-gemm@1{variant=0}",
                                                  "default test.plain-gemm@1{variant=0}"));
  EXPECT_EQ(within->options.back().workspace_bytes, 8);
  ASSERT_EQ(all->options.size(), 4U);
  EXPECT_EQ(all->options[1].workspace_bytes, 60);
  EXPECT_EQ(machine_.slow_loads_in_this_thread(), 0);
}

TEST_F(DispatcherTest, RecordsThatAreAllAboveTheLimitAreAShortageEvenIfSolversDoNotApply) {
  for (TestSolver* solver : {machine_.slow, machine_.compiled, machine_.plain}) {
    solver->applies = [](const Gemm&) { return Unsupported("No."); };
  }
  machine_.quick->workspace_bytes = 60;

  const auto within =
      Dispatcher(machine_.Parts(), options_).DecideWithin(problem_, *machine_.choices, 10);

  EXPECT_EQ(within.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(within.status().message(), HasSubstr("needs 60 bytes"));
}

TEST_F(DispatcherTest, AfterAForkTheNextOfARankingServesAndTheProblemStaysTuned) {
  options_.after_fork = true;
  machine_.quick->first_variant_after_fork = 1;
  Record({machine_.quick->At(0), machine_.quick->At(1)});

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate, machine_.quick->At(1));
  EXPECT_TRUE(serving->is_tuned);
  EXPECT_THAT(
      serving->skipped,
      ElementsAre("test.quick-gemm@1{variant=0} waits for threads that stayed in the process "
                  "that this one was forked from."));
}

TEST_F(DispatcherTest, AfterAForkARecordOfWhichNothingRunsLeavesTheDefaultAndIsNoReasonToTune) {
  options_.after_fork = true;
  machine_.quick->first_variant_after_fork = 1;
  Record({machine_.quick->At(0)});

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().origin, Origin::kDefault);
  EXPECT_TRUE(serving->is_tuned);
}

TEST_F(DispatcherTest, AfterAForkTheDefaultIsTheFirstConfigThatRuns) {
  options_.after_fork = true;
  machine_.slow->first_variant_after_fork = TestSolver::kVariants;
  machine_.quick->first_variant_after_fork = 2;

  EXPECT_EQ(Text(Decide(Breadth::kEverything).options.front().candidate),
            "test.quick-gemm@1{variant=2}");
}

TEST_F(DispatcherTest, AfterAForkAForcedCandidateThatDoesNotRunIsAnError) {
  options_.after_fork = true;
  machine_.quick->first_variant_after_fork = 1;
  Force("test.quick-gemm@1{variant=0}");

  const auto serving = Serve();

  EXPECT_EQ(serving.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(serving.status().message(), HasSubstr("The forced choice cannot serve"));
}

TEST_F(DispatcherTest, WithoutAForkWhatDoesNotRunAfterOneServes) {
  machine_.quick->first_variant_after_fork = 1;
  Record({machine_.quick->At(0)});

  EXPECT_EQ(Serve()->plan->option().candidate, machine_.quick->At(0));
}

TEST_F(DispatcherTest, TheDynamicScopeLeavesSolversOutThatBuildEachSize) {
  options_.scope = Scope::kDynamic;
  Record({machine_.compiled->At(1), machine_.quick->At(1)});

  for (const Option& option : Decide(Breadth::kEverything).options) {
    EXPECT_NE(option.candidate.solver.name, "test.compiled-gemm");
  }
}

TEST_F(DispatcherTest, InTheDynamicScopeAnInstantSolverOutOfScopeDoesNotEndTheLook) {
  options_.scope = Scope::kDynamic;
  machine_.slow->traits_.dynamic = false;
  machine_.quick->traits_.dynamic = false;

  EXPECT_THAT(Texts(Decide().options), ElementsAre("default test.plain-gemm@1{variant=0}"));
}

TEST_F(DispatcherTest, TheLoadedScopeTakesWhatIsReadyOnly) {
  options_.scope = Scope::kLoaded;

  EXPECT_THAT(
      Texts(Decide(Breadth::kEverything).options),
      ElementsAre("default test.quick-gemm@1{variant=0}", "default test.plain-gemm@1{variant=0}"));
}

TEST_F(DispatcherTest, AStandInServesAtOnceAndTheBetterOneIsLeftToTheBackground) {
  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.quick-gemm");
  EXPECT_TRUE(serving->is_stand_in);
  EXPECT_EQ(serving->plan->option().because,
            "Nothing is known of this problem; it stands in for the default.");
  EXPECT_FALSE(serving->has_built);
  EXPECT_EQ(machine_.slow->loads.all(), 0);
}

TEST_F(DispatcherTest, ASlowSolverIsNotEvenAskedForItsParametersWhereSomethingIsReady) {
  ASSERT_TRUE(Serve().ok());

  EXPECT_EQ(machine_.slow->defaults.all(), 0);
  EXPECT_EQ(machine_.compiled->defaults.all(), 0);
}

TEST_F(DispatcherTest, DefaultsAreKnownWithoutAListOfAnySpace) {
  Decide(Breadth::kEverything);

  for (const TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled}) {
    EXPECT_EQ(solver->defaults.all(), 1) << Text(solver->id());
    EXPECT_EQ(solver->spaces.all(), 0) << Text(solver->id());
  }
}

TEST_F(DispatcherTest, AStandInServesWhereTheSlowSolverDoesNotApply) {
  machine_.slow->applies = [](const Gemm&) { return Unsupported("No."); };

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.quick-gemm");
  EXPECT_TRUE(serving->is_stand_in);
}

TEST_F(DispatcherTest, ASlowSolverServesAtOnceIfItsCodeIsLoadedForAnotherProblem) {
  machine_.slow->has_loaded = true;

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.slow-gemm");
  EXPECT_FALSE(serving->is_stand_in);
  EXPECT_FALSE(serving->has_built);
  EXPECT_EQ(machine_.slow->loads_again.all(), 1);
  EXPECT_EQ(machine_.slow->loads.all(), 0);
  EXPECT_EQ(machine_.quick->defaults.all(), 0);
}

TEST_F(DispatcherTest, CodeThatWasUnloadedMeanwhileIsLoadedAnew) {
  machine_.slow->has_loaded = machine_.slow->loses_code = true;

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.slow-gemm");
  EXPECT_EQ(machine_.slow->loads.all(), 1);
}

TEST_F(DispatcherTest, LoadedCodeOfALaterSolverStandsInForTheDefault) {
  machine_.compiled->has_loaded = true;
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.compiled-gemm");
  EXPECT_EQ(machine_.compiled->builds.all(), 0);
  EXPECT_TRUE(serving->is_stand_in);
}

TEST_F(DispatcherTest, WhoIsPatientGetsThePreferredOneWhateverItTakes) {
  const auto serving = Serve(Haste::kPatient);

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.slow-gemm");
  EXPECT_FALSE(serving->is_stand_in);
}

TEST_F(DispatcherTest, ACompiledCandidateServesAtOnceWhenItsKernelIsKept) {
  machine_.compiled->traits_.instant = true;
  Record({machine_.compiled->At(1)});
  EXPECT_TRUE(Serve()->is_stand_in);

  ASSERT_EQ(Serve(Haste::kPatient)->plan->option().candidate, machine_.compiled->At(1));
  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate, machine_.compiled->At(1));
  EXPECT_EQ(machine_.builds(), 1);
}

TEST_F(DispatcherTest, ACreationWhoseRecordedTimeFitsTheBudgetMayBeWaitedFor) {
  IndexedChoice choice = ChoiceOf({machine_.slow->At(1)});
  choice.ranking[0].load_ns = 50'000;
  machine_.choices->Add(problem_, choice);

  EXPECT_EQ(Serve()->plan->option().candidate.solver.name, "test.slow-gemm");
}

TEST_F(DispatcherTest, ACreationAboveTheBudgetIsNotWaitedFor) {
  IndexedChoice choice = ChoiceOf({machine_.slow->At(1)});
  choice.ranking[0].load_ns = 50'001;
  machine_.choices->Add(problem_, choice);

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.quick-gemm");
  EXPECT_TRUE(serving->is_stand_in);
}

TEST_F(DispatcherTest, ACreationThatIsAFractionOfOneLaunchMayBeWaitedFor) {
  IndexedChoice choice = ChoiceOf({machine_.slow->At(1)});
  choice.ranking[0].median_ns = 1e6;
  choice.ranking[0].load_ns = 300'000;
  machine_.choices->Add(problem_, choice);

  EXPECT_EQ(Serve()->plan->option().candidate.solver.name, "test.slow-gemm");
}

TEST_F(DispatcherTest, ALastResortThatCrawlsIsNoStandInForALargeProblem) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };
  problem_ = ProductOf(1000, 1000, 1000);

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.slow-gemm");
  EXPECT_TRUE(serving->has_built);
}

TEST_F(DispatcherTest, ALastResortStandsInForASmallProblem) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };

  const auto serving = Serve();

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.plain-gemm");
  EXPECT_TRUE(serving->is_stand_in);
}

}  // namespace
}  // namespace attune
