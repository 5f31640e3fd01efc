#include "attune/space/predicate.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(PredicateTest, ReadsIntegersRealsAndTexts) {
  const std::vector<Parameter> parameters = {
      {"block", {int64_t{8}, int64_t{12}}},
      {"tile", {int64_t{1}, int64_t{3}, int64_t{4}}},
      {"share", {0.25, int64_t{1}}},
      {"layout", {std::string("nchw"), std::string("nhwc")}}};
  const std::vector<Constraint> constraints = {
      ConstraintOn({"block", "tile"}, "tile divides block",
                   [](int64_t block, int64_t tile) { return block % tile == 0; }),
      ConstraintOn({"layout", "share"}, "all of it in nhwc",
                   [](const std::string& layout, double share) {
                     return layout == "nhwc" ? share >= 1 : share < 1;
                   })};

  const auto space = ConfigSpace::Create(parameters, constraints);

  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), 5u * 2u);
  EXPECT_EQ(Text(space->At(0)), "block=8,layout=nchw,share=0.25,tile=1");
  EXPECT_EQ(Text(space->At(9)), "block=12,layout=nhwc,share=1,tile=4");
}

TEST(PredicateTest, AnArgumentOfAnotherKindIsAnErrorThatNamesIt) {
  const auto space = ConfigSpace::Create(
      {{"layout", {std::string("nchw"), std::string("nhwc")}}},
      {ConstraintOn({"layout"}, "layout is positive", [](int64_t layout) { return layout > 0; })});

  EXPECT_EQ(space.status().message(),
            "Constraint 'layout is positive' cannot be evaluated at {layout=nchw}: 'layout' is "
            "nchw, which is of another kind.");
}

}  // namespace
}  // namespace attune
