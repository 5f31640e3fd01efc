#include <cstdlib>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/process_variables.h"

namespace attune {
namespace {

TEST(ProcessVariablesTest, AVariableIsFoundWithWhatStandsBehindItsFirstEqualsSign) {
  ::setenv("ATTUNE_BASE_TEST", "a=b", 1);

  const ProcessVariables variables = VariablesOfProcess();

  EXPECT_EQ(ValueOf(variables, "ATTUNE_BASE_TEST"), "a=b");
}

TEST(ProcessVariablesTest, AnEmptyVariableIsSetAndAMissingOneIsNot) {
  const ProcessVariables variables = {{"EMPTY", ""}};

  EXPECT_EQ(ValueOf(variables, "EMPTY"), "");
  EXPECT_EQ(ValueOf(variables, "MISSING"), std::nullopt);
}

}  // namespace
}  // namespace attune
