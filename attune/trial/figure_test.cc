#include "attune/trial/figure.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

using Reduction = FigureSource::Reduction;

TEST(FigureSourceTest, TextIsReadAsItWasWritten) {
  for (const FigureSource& source :
       {FigureSource{"y", DataType::kF32, 3, 9, Reduction::kMax},
        FigureSource{"", DataType::kI32, 0, 1, Reduction::kFirst},
        FigureSource{.reduction = Reduction::kLast, .printed = "GB/s"}}) {
    EXPECT_EQ(ParseFigureSource(Text(source)).value(), source);
  }
  EXPECT_EQ(Text(FigureSource{"", DataType::kI32, 0, 1, Reduction::kSum}), "workspace i32 0 1 sum");
  EXPECT_EQ(Text(FigureSource{.reduction = Reduction::kMax, .printed = "GB/s"}),
            "printed GB/s max");
}

TEST(FigureSourceTest, RefusesWhatIsNone) {
  for (const char* text : {"", "y f32 0 1", "y f32 0 1 max more", "y f31 0 1 max", "y f32 -1 1 max",
                           "y f32 0 0 max", "y f32 0 1 mean", " f32 0 1 max", "printed GFLOPS",
                           "printed 2x max", "printed  max", "printed a=b max", "printed a mean"}) {
    EXPECT_EQ(ParseFigureSource(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ObjectiveTest, DirectionsHaveNames) {
  EXPECT_EQ(ParseDirection("maximize"), Direction::kMaximize);
  EXPECT_EQ(ParseDirection("sideways"), std::nullopt);
  EXPECT_EQ(Name(Direction::kMinimize), "minimize");
}

}  // namespace
}  // namespace attune
