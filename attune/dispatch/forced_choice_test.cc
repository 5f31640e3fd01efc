#include "attune/dispatch/forced_choice.h"

#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

class ForcedChoicesTest : public ::testing::Test {
 protected:
  std::string ErrorOf(const std::string& text) {
    const auto choices = ForcedChoices::Parse(text, machine_.solvers);
    EXPECT_EQ(choices.status().code(), StatusCode::kInvalidArgument) << text;
    return choices.status().message();
  }
  // The solver and the parameters that `text` forces on `problem`.
  std::string Forced(const std::string& text, const Problem& problem) {
    const auto choices = ForcedChoices::Parse(text, machine_.solvers);
    if (!choices.ok()) return choices.status().message();
    const ForcedChoices::Entry* entry = choices->Find(problem);
    if (entry == nullptr) return "nothing";
    return entry->config.has_value() ? Text(Candidate{entry->solver->id(), *entry->config})
                                     : entry->solver->id().name;
  }

  TestMachine machine_;
  const Problem problem_ = ProductOf(4, 4, 4);
};

constexpr const char* kHowTo =
    " Write 'SOLVER', 'CANDIDATE' or 'PROBLEM -> CANDIDATE'; 'attune solvers' lists the solvers.";

TEST_F(ForcedChoicesTest, NoTextForcesNothing) {
  EXPECT_EQ(Forced("", problem_), "nothing");
  EXPECT_TRUE(ForcedChoices::Parse("", machine_.solvers)->empty());
}

TEST_F(ForcedChoicesTest, ATextWithoutAnyChoiceIsAnError) {
  for (const std::string text : {";;", " ", " ; ;\n"}) {
    const auto choices = ForcedChoices::Parse(text, machine_.solvers);

    ASSERT_FALSE(choices.ok());
    EXPECT_EQ(
        choices.error().message(),
        "The forced choice '" + text + "' cannot be honoured: there is no choice in it." + kHowTo);
  }
  EXPECT_EQ(Forced(" ; test.plain-gemm ;\n", problem_), "test.plain-gemm");
}

TEST_F(ForcedChoicesTest, ASolverAloneIsForEveryProblemOfItsOperatorByItsDefault) {
  EXPECT_EQ(Forced("test.quick-gemm", problem_), "test.quick-gemm");
  EXPECT_EQ(Forced("test.quick-gemm", Conv()), "nothing");
}

TEST_F(ForcedChoicesTest, ACandidateBringsItsParameters) {
  EXPECT_EQ(Forced("test.quick-gemm@1{variant=2}", problem_), "test.quick-gemm@1{variant=2}");
}

TEST_F(ForcedChoicesTest, AnOperatorMayBeNamed) {
  EXPECT_EQ(Forced("gemm -> test.plain-gemm", problem_), "test.plain-gemm");
}

TEST_F(ForcedChoicesTest, AnEntryForAProblemGoesBeforeOneForItsOperator) {
  const std::string text =
      "test.quick-gemm; gemm@1{m=4,n=4,k=4} -> test.plain-gemm@1{variant=1} ; test.slow-gemm";

  EXPECT_EQ(Forced(text, problem_), "test.plain-gemm@1{variant=1}");
  EXPECT_EQ(Forced(text, ProductOf(4, 4, 5)), "test.quick-gemm");
}

TEST_F(ForcedChoicesTest, AmongEqualEntriesTheFirstCounts) {
  EXPECT_EQ(Forced("test.plain-gemm;test.quick-gemm", problem_), "test.plain-gemm");
  EXPECT_EQ(Forced("gemm@1{m=4,n=4,k=4} -> test.slow-gemm; gemm@1{m=4,n=4,k=4} -> test.quick-gemm",
                   problem_),
            "test.slow-gemm");
}

TEST_F(ForcedChoicesTest, AnEntryForAProblemCountsForEveryAlignment) {
  Gemm unaligned = problem_.Get<Gemm>();
  unaligned.alignment_bytes = 4;

  EXPECT_EQ(Forced("gemm@1{m=4,n=4,k=4} -> test.slow-gemm", unaligned), "test.slow-gemm");
}

TEST_F(ForcedChoicesTest, AnUnknownSolverIsAnError) {
  EXPECT_EQ(ErrorOf("typo"),
            std::string("The forced choice 'typo' cannot be honoured: there is no solver 'typo' "
                        "here.") +
                kHowTo);
}

TEST_F(ForcedChoicesTest, AnUnknownVersionOfASolverIsAnError) {
  EXPECT_EQ(ErrorOf("test.quick-gemm@7{}"),
            std::string("The forced choice 'test.quick-gemm@7{}' cannot be honoured: there is no "
                        "solver 'test.quick-gemm@7' of that version here.") +
                kHowTo);
}

TEST_F(ForcedChoicesTest, ACandidateThatCannotBeReadIsAnErrorThatSaysWhere) {
  const std::string error = ErrorOf("test.quick-gemm; test.quick-gemm@1{variant");

  EXPECT_EQ(error.find("The forced choice 'test.quick-gemm@1{variant' cannot be honoured: "), 0U)
      << error;
}

TEST_F(ForcedChoicesTest, AProblemThatCannotBeReadIsAnErrorThatSaysWhere) {
  const std::string error = ErrorOf("gemm@1{m=x} -> test.quick-gemm");

  EXPECT_EQ(error.find("The forced choice 'gemm@1{m=x} -> test.quick-gemm' cannot be honoured: "),
            0U)
      << error;
}

TEST_F(ForcedChoicesTest, ASolverOfAnotherOperatorIsAnError) {
  EXPECT_EQ(ErrorOf("conv -> test.quick-gemm"),
            std::string("The forced choice 'conv -> test.quick-gemm' cannot be honoured: "
                        "test.quick-gemm computes 'gemm', not 'conv'.") +
                kHowTo);
}

TEST_F(ForcedChoicesTest, AnEntryWithoutACandidateIsAnError) {
  EXPECT_EQ(ErrorOf("gemm -> "),
            std::string("The forced choice 'gemm ->' cannot be honoured: there is no solver '' "
                        "here.") +
                kHowTo);
}

TEST_F(ForcedChoicesTest, OneMistakeAmongGoodEntriesIsAnError) {
  ErrorOf("test.quick-gemm;typo;test.plain-gemm");
}

}  // namespace
}  // namespace attune
