#include "attune/ops/conv/conv_operands.h"

#include <gtest/gtest.h>

#include "attune/problem/problem.h"

namespace attune {
namespace {

TEST(ConvRolesTest, RolesPointAtTheOperandsOfThatName) {
  for (const char* text : {"conv@1{dir=fwd,n=1,c=2,h=5,w=5,k=3,fh=3,fw=3}",
                           "conv@1{dir=fwd,n=1,c=2,h=5,w=5,k=3,fh=3,fw=3,bias=1}",
                           "conv@1{dir=bwd_data,n=1,c=2,h=5,w=5,k=3,fh=3,fw=3}",
                           "conv@1{dir=bwd_weights,n=1,c=2,h=5,w=5,k=3,fh=3,fw=3}"}) {
    const auto problem = ParseProblem(text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const Conv& conv = problem->Get<Conv>();
    const auto operands = Operands(*problem);

    const ConvRoles roles = RolesOf(conv);

    // "dx" as well as "x".
    EXPECT_EQ(operands[roles.x].name.back(), 'x') << text;
    EXPECT_EQ(operands[roles.w].name.back(), 'w') << text;
    EXPECT_EQ(operands[roles.y].name.back(), 'y') << text;
    if (conv.bias) {
      EXPECT_EQ(operands[roles.bias].name, "bias") << text;
    }
  }
}

}  // namespace
}  // namespace attune
