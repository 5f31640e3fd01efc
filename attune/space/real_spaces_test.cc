// Published search spaces with independently verified numbers of valid configs. Their definitions
// are not part of this repository: ATTUNE_DATA_DIR gives their folder, and without it the test is
// skipped. Reading JSON belongs to this test; the module knows no file format.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/space/config_space.h"

namespace attune {
namespace {

std::filesystem::path DefinitionsDirectory() {
  const char* const root = std::getenv("ATTUNE_DATA_DIR");
  return std::filesystem::path(root == nullptr ? "../shared/data" : root) / "spaces/definitions";
}

ParameterValue ValueFrom(const nlohmann::json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

Result<ConfigSpace> SpaceFrom(const nlohmann::json& definition, std::string_view constraints_key,
                              ExpressionDialect dialect) {
  std::vector<Parameter> parameters;
  for (const auto& entry : definition["parameters"]) {
    Parameter parameter;
    parameter.name = entry["name"];
    for (const auto& value : entry["values"]) parameter.values.push_back(ValueFrom(value));
    parameters.push_back(std::move(parameter));
  }
  std::vector<std::string> texts = definition[std::string(constraints_key)];
  if (dialect == ExpressionDialect::kPython) {
    for (const auto& text : definition["implicit_constraint_added_by_kernel_tuner"]) {
      texts.push_back(text);
    }
  }
  std::vector<Constraint> constraints;
  for (const std::string& text : texts) {
    ATTUNE_ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text, dialect));
    constraints.push_back(ConstraintFrom(std::move(expression)));
  }
  return ConfigSpace::Create(std::move(parameters), std::move(constraints));
}

class RealSpaceTest : public testing::TestWithParam<const char*> {};

TEST_P(RealSpaceTest, HasAsManyValidConfigsAsWasPublished) {
  const auto path = DefinitionsDirectory() / (std::string(GetParam()) + ".json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist.";
  const auto definition = nlohmann::json::parse(std::ifstream(path));

  const auto python = SpaceFrom(definition, "constraints_python", ExpressionDialect::kPython);
  const auto c = SpaceFrom(definition, "constraints_c", ExpressionDialect::kC);

  ASSERT_TRUE(python.ok()) << python.status().message();
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ(python->size(), definition["valid_configs"].get<uint64_t>());
  EXPECT_EQ(c->size(), definition["valid_configs"].get<uint64_t>());
  Random random(41);
  for (int i = 0; i < 100; ++i) {
    const uint64_t index = python->Sample(random);
    EXPECT_EQ(python->IndexOf(python->At(index)), index);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, RealSpaceTest,
                         testing::Values("dedispersion", "expdist", "gemm", "hotspot", "microhh",
                                         "prl2", "prl4", "prl8"));

}  // namespace
}  // namespace attune
