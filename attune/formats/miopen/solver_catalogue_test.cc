#include "attune/formats/miopen/solver_catalogue.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attune::miopen {
namespace {

TEST(SolverCatalogueTest, EverySolverIsFoundByItsNameAndHasAnIdOfItsOwn) {
  std::set<int> ids;
  for (const SolverFacts& solver : KnownSolvers()) {
    EXPECT_EQ(FindSolver(solver.name), &solver) << solver.name;
    EXPECT_TRUE(ids.insert(solver.id).second) << solver.name;
    EXPECT_FALSE(solver.is_removed && solver.is_tunable) << solver.name;
  }
  EXPECT_GT(ids.size(), 100u);
}

TEST(SolverCatalogueTest, NamesAreThoseOfDatabases) {
  EXPECT_EQ(FindSolver("ConvOclBwdWrW2<16>")->id, 22);
  EXPECT_TRUE(FindSolver("ConvOclBwdWrW2<16>")->is_tunable);
  EXPECT_EQ(FindSolver("GemmFwdRest")->algorithm, Algorithm::kGemm);
  EXPECT_TRUE(FindSolver("ConvHipImplicitGemmV4Fwd")->is_removed);
  EXPECT_EQ(FindSolver("ConvBinWinoRxS<3,2>"), nullptr);
  EXPECT_EQ(FindSolver(""), nullptr);
  EXPECT_EQ(FindSolver("zzz"), nullptr);
}

TEST(SolverCatalogueTest, ThereAreFourteenAlgorithmNamesAndOneOfTheTime) {
  int names = 0;
  for (const Direction direction :
       {Direction::kForward, Direction::kBackwardData, Direction::kBackwardWeights}) {
    for (const Algorithm algorithm :
         {Algorithm::kDirect, Algorithm::kWinograd, Algorithm::kImplicitGemm, Algorithm::kGemm,
          Algorithm::kFft}) {
      const std::string name = AlgorithmName(direction, algorithm);
      const auto parsed = ParseAlgorithm(name);
      if (!parsed.has_value()) continue;
      ++names;
      EXPECT_EQ(parsed->direction, direction) << name;
      EXPECT_EQ(parsed->algorithm, algorithm) << name;
    }
  }
  EXPECT_EQ(names, 14);
  EXPECT_EQ(AlgorithmName(Direction::kBackwardWeights, Algorithm::kImplicitGemm),
            "miopenConvolutionBwdWeightsAlgoImplicitGEMM");
  EXPECT_EQ(ParseAlgorithm("miopenConvolutionBwdWeightsAlgoFFT"), std::nullopt);
  EXPECT_EQ(ParseAlgorithm("miopenTransposeBwdDataAlgoGEMM")->direction, Direction::kBackwardData);
  for (const char* name : {"", "miopenConvolution", "miopenConvolutionFwd", "miopenConvolutionAlgo",
                           "miopenConvolutionFwdAlgoGemm", "miopenConvolutionFwdAlgoGEMM "}) {
    EXPECT_EQ(ParseAlgorithm(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace attune::miopen
