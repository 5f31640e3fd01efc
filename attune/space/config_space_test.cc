#include "attune/space/config_space.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

Parameter Integers(std::string name, std::initializer_list<int64_t> values) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (const int64_t value : values) parameter.values.emplace_back(value);
  return parameter;
}

Parameter Counted(std::string name, int64_t count) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (int64_t i = 0; i < count; ++i) parameter.values.emplace_back(i);
  return parameter;
}

Constraint Rule(std::string_view text) {
  return ConstraintFrom(*Expression::Parse(text, ExpressionDialect::kPython));
}

std::string ErrorOf(std::vector<Parameter> parameters, std::vector<Constraint> constraints,
                    Config constants = {}) {
  const auto space =
      ConfigSpace::Create(std::move(parameters), std::move(constraints), std::move(constants));
  EXPECT_FALSE(space.ok());
  return space.status().message();
}

// Every valid config by brute force, in depth-first order.
std::vector<Config> BruteForce(const std::vector<Parameter>& parameters,
                               const std::vector<Constraint>& constraints) {
  std::vector<Config> configs = {Config()};
  for (const Parameter& parameter : parameters) {
    std::vector<Config> extended;
    for (const Config& config : configs) {
      for (const ParameterValue& value : parameter.values) {
        extended.push_back(config);
        extended.back().emplace(parameter.name, value);
      }
    }
    configs = std::move(extended);
  }
  std::erase_if(configs, [&constraints](const Config& config) {
    return !std::all_of(constraints.begin(), constraints.end(), [&config](const Constraint& rule) {
      return *rule.holds([&config](std::string_view name) {
        const auto found = config.find(name);
        return found == config.end() ? nullptr : &found->second;
      });
    });
  });
  return configs;
}

void ExpectSpaceIs(const ConfigSpace& space, const std::vector<Config>& configs) {
  ASSERT_EQ(space.size(), configs.size());
  for (uint64_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ(space.At(i), configs[i]);
    EXPECT_EQ(space.IndexOf(configs[i]), i);
  }
}

TEST(ConfigSpaceTest, DefaultSpaceHasOneConfigWithoutParameters) {
  const ConfigSpace space;

  EXPECT_EQ(space.size(), 1u);
  EXPECT_EQ(space.At(0), Config());
  EXPECT_EQ(space.IndexOf(Config()), 0u);
  EXPECT_TRUE(space.Neighbours(0, false).empty());
}

TEST(ConfigSpaceTest, IndicesAreDepthFirstOverTheGivenOrder) {
  const auto space =
      ConfigSpace::Create({Integers("b", {4, 2}), Integers("a", {1, 2, 3})}, {Rule("b % a == 0")});

  ASSERT_TRUE(space.ok());
  ASSERT_EQ(space->size(), 4u);
  EXPECT_EQ(Text(space->At(0)), "a=1,b=4");
  EXPECT_EQ(Text(space->At(1)), "a=2,b=4");
  EXPECT_EQ(Text(space->At(2)), "a=1,b=2");
  EXPECT_EQ(Text(space->At(3)), "a=2,b=2");
}

TEST(ConfigSpaceTest, InterleavedComponentsKeepTheDepthFirstOrder) {
  const std::vector<Parameter> parameters = {Counted("a", 4), Counted("b", 3), Counted("one", 1),
                                             Counted("c", 4), Counted("d", 3), Counted("free", 2)};
  const std::vector<Constraint> constraints = {Rule("a <= c"), Rule("b + d != 2"),
                                               Rule("one == 0")};

  const auto space = ConfigSpace::Create(parameters, constraints);

  ASSERT_TRUE(space.ok()) << space.status().message();
  ExpectSpaceIs(*space, BruteForce(parameters, constraints));
}

TEST(ConfigSpaceTest, RandomSpacesEqualBruteForce) {
  Random random(31);
  const char* const kNames[] = {"a", "b", "c", "d", "e"};
  int built = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Parameter> parameters;
    for (const char* name : kNames) {
      parameters.push_back(Counted(name, 1 + static_cast<int64_t>(random.Below(4))));
    }
    std::vector<Constraint> constraints;
    const uint64_t count = random.Below(4);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string left = kNames[random.Below(5)];
      const std::string right = kNames[random.Below(5)];
      constraints.push_back(Rule("(" + left + " * 3 + " + right + ") % " +
                                 std::to_string(2 + random.Below(3)) +
                                 " != " + std::to_string(random.Below(2))));
    }
    const std::vector<Config> expected = BruteForce(parameters, constraints);

    const auto space = ConfigSpace::Create(parameters, constraints);

    ASSERT_EQ(space.ok(), !expected.empty());
    if (!space.ok()) continue;
    ++built;
    ExpectSpaceIs(*space, expected);
  }
  EXPECT_GT(built, 100);
}

TEST(ConfigSpaceTest, NeighboursDifferInExactlyOneParameter) {
  const std::vector<Parameter> parameters = {Counted("a", 4), Counted("b", 5), Counted("c", 3)};
  const std::vector<Constraint> constraints = {Rule("(a + b) % 3 != 1")};
  const auto space = ConfigSpace::Create(parameters, constraints);
  ASSERT_TRUE(space.ok());

  for (uint64_t from = 0; from < space->size(); ++from) {
    std::vector<uint64_t> any;
    std::vector<uint64_t> adjacent;
    for (uint64_t to = 0; to < space->size(); ++to) {
      int changed = 0;
      int64_t distance = 0;
      for (const auto& [name, value] : space->At(from)) {
        const int64_t difference = std::get<int64_t>(value) - IntegerAt(space->At(to), name);
        changed += difference == 0 ? 0 : 1;
        distance += std::abs(difference);
      }
      if (changed == 1) any.push_back(to);
      if (changed == 1 && distance == 1) adjacent.push_back(to);
    }
    auto found_any = space->Neighbours(from, false);
    auto found_adjacent = space->Neighbours(from, true);
    std::sort(found_any.begin(), found_any.end());
    std::sort(found_adjacent.begin(), found_adjacent.end());

    EXPECT_EQ(found_any, any);
    EXPECT_EQ(found_adjacent, adjacent);
  }
}

// How many numbers were drawn from `used`, which began with `seed`.
int Draws(uint64_t seed, Random used) {
  const uint64_t next = used.Next();
  Random twin(seed);
  int draws = 0;
  while (twin.Next() != next) ++draws;
  return draws;
}

TEST(ConfigSpaceTest, EveryNeighbourIsSampledAsOften) {
  const auto space = ConfigSpace::Create({Counted("a", 4), Counted("b", 5), Counted("c", 3)},
                                         {Rule("(a + b) % 3 != 1")});
  ASSERT_TRUE(space.ok());
  const std::vector<uint64_t> neighbours = space->Neighbours(7, false);
  constexpr int kSamples = 8'000;
  std::map<uint64_t, int> times;
  Random random(53);

  for (int i = 0; i < kSamples; ++i) ++times[space->SampleNeighbour(7, random).value()];

  ASSERT_EQ(times.size(), neighbours.size());
  for (const uint64_t neighbour : neighbours) {
    EXPECT_NEAR(times[neighbour], kSamples / static_cast<int>(neighbours.size()), 180);
  }
  EXPECT_EQ(space->SampleNeighbours(7, 100, random), neighbours);
  EXPECT_EQ(space->SampleNeighbours(7, 3, random).size(), 3u);
}

TEST(ConfigSpaceTest, NeighboursOfManyValuesAreSampledWithoutLookingAtAll) {
  const auto free = ConfigSpace::Create({Counted("a", 4096), Counted("b", 4096)}, {});
  const auto tied = ConfigSpace::Create({Counted("a", 4096), Counted("b", 4096)}, {Rule("a == b")});
  ASSERT_TRUE(free.ok() && tied.ok());
  Random of_free(59), of_tied(61), of_tied_one(67);

  const std::vector<uint64_t> many = free->SampleNeighbours(99, 500, of_free);
  const std::vector<uint64_t> none = tied->SampleNeighbours(99, 500, of_tied);
  const std::optional<uint64_t> nothing = tied->SampleNeighbour(99, of_tied_one);

  EXPECT_EQ(std::set<uint64_t>(many.begin(), many.end()).size(), 500u);
  EXPECT_LT(Draws(59, of_free), 600);
  EXPECT_TRUE(none.empty());
  EXPECT_LE(Draws(61, of_tied), 64);
  EXPECT_EQ(nothing, std::nullopt);
  EXPECT_LE(Draws(67, of_tied_one), 64);
  EXPECT_TRUE(tied->Neighbours(99, true).empty());
  EXPECT_EQ(free->Neighbours(99, true).size(), 3u);
}

TEST(ConfigSpaceTest, ValuesInAnyOrderAreFoundAmongMany) {
  Parameter mixed{"a", {}};
  for (int64_t i = 0; i < 300; ++i) mixed.values.emplace_back(i * 7 % 300);
  mixed.values.emplace_back(0.5);
  mixed.values.emplace_back(std::string("any"));
  const auto space = ConfigSpace::Create({mixed}, {});
  ASSERT_TRUE(space.ok());

  for (uint64_t index = 0; index < space->size(); ++index) {
    EXPECT_EQ(space->IndexOf(space->At(index)), index);
  }
  EXPECT_EQ(space->IndexOf({{"a", int64_t{300}}}), std::nullopt);
  EXPECT_EQ(space->IndexOf({{"a", 1.0}}), std::nullopt);
}

TEST(ConfigSpaceTest, ConfigsOutsideTheSpaceHaveNoIndex) {
  const auto space =
      ConfigSpace::Create({Integers("a", {1, 2}), Integers("b", {1, 2})}, {Rule("a != b")});
  ASSERT_TRUE(space.ok());

  EXPECT_FALSE(space->IndexOf({{"a", int64_t{1}}, {"b", int64_t{1}}}).has_value());
  EXPECT_FALSE(space->IndexOf({{"a", int64_t{1}}, {"b", int64_t{3}}}).has_value());
  EXPECT_FALSE(space->IndexOf({{"a", int64_t{1}}}).has_value());
  EXPECT_FALSE(space->IndexOf({{"a", int64_t{1}}, {"c", int64_t{2}}}).has_value());
  EXPECT_FALSE(space->IndexOf({{"a", int64_t{1}}, {"b", std::string("2")}}).has_value());
}

TEST(ConfigSpaceTest, IndependentComponentsMakeHugeSpacesCheap) {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (int i = 0; i < 8; ++i) {
    const std::string a = "a" + std::to_string(i);
    const std::string b = "b" + std::to_string(i);
    parameters.push_back(Counted(a, 20));
    parameters.push_back(Counted(b, 10));
    constraints.push_back(Rule(a + " >= " + b));
  }

  const auto space = ConfigSpace::Create(parameters, constraints);

  ASSERT_TRUE(space.ok());
  uint64_t expected = 1;
  for (int i = 0; i < 8; ++i) expected *= 155;
  EXPECT_EQ(space->size(), expected);
  Random random(37);
  for (int i = 0; i < 200; ++i) {
    const uint64_t index = space->Sample(random);
    EXPECT_EQ(space->IndexOf(space->At(index)), index);
  }
}

TEST(ConfigSpaceTest, ManyParametersUnderOneSumAreASpace) {
  std::vector<Parameter> parameters;
  std::string sum = "p0";
  for (int i = 0; i < 20; ++i) parameters.push_back(Counted("p" + std::to_string(i), 10));
  for (int i = 1; i < 20; ++i) sum += " + p" + std::to_string(i);

  const auto space = ConfigSpace::Create(parameters, {Rule(sum + " == 5")});  // 10^20 combinations.

  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), 42'504u);  // 24 over 5.
  for (uint64_t index = 0; index < space->size(); index += 97) {
    EXPECT_EQ(space->IndexOf(space->At(index)), index);
  }
}

TEST(ConfigSpaceTest, AHugeSpaceIsAsUsableAsASmallOne) {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (int i = 0; i < 16; ++i) parameters.push_back(Counted("p" + std::to_string(i), 16));
  for (int i = 1; i < 16; ++i) {
    constraints.push_back(Rule("p" + std::to_string(i) + " != p" + std::to_string(i - 1) + " + 1"));
  }

  // 1.8e19 combinations, tied together.
  const auto space = ConfigSpace::Create(parameters, constraints);

  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_GT(space->size(), uint64_t{1} << 62);
  Random random(43);
  for (int i = 0; i < 100; ++i) {
    const uint64_t index = space->Sample(random);
    EXPECT_EQ(space->IndexOf(space->At(index)), index);
    const std::vector<uint32_t> row = space->Positions(index, 1);
    EXPECT_EQ(space->IndexOfPositions(row), index);
    for (const uint64_t neighbour : space->Neighbours(index, true)) {
      const std::vector<uint64_t> back = space->Neighbours(neighbour, true);
      EXPECT_EQ(std::count(back.begin(), back.end(), index), 1);
    }
  }
}

TEST(ConfigSpaceTest, EveryConfigIsSampledAsOften) {
  const auto space =
      ConfigSpace::Create({Counted("a", 4), Counted("b", 4), Counted("c", 2)}, {Rule("a >= b")});
  ASSERT_TRUE(space.ok());
  ASSERT_EQ(space->size(), 20u);
  constexpr int kSamples = 20'000;
  std::vector<int> times(20, 0);
  Random random(47);

  for (int i = 0; i < kSamples; ++i) ++times[space->Sample(random)];

  for (const int count : times) EXPECT_NEAR(count, kSamples / 20, 150);  // Five deviations.
}

TEST(ConfigSpaceTest, PositionsOutsideTheSpaceHaveNoIndex) {
  const auto space = ConfigSpace::Create({Counted("a", 3), Counted("b", 3)}, {Rule("a != b")});
  ASSERT_TRUE(space.ok());

  EXPECT_EQ(space->IndexOfPositions(std::vector<uint32_t>{0, 1}), 0u);
  EXPECT_EQ(space->IndexOfPositions(std::vector<uint32_t>{1, 1}), std::nullopt);
  EXPECT_EQ(space->IndexOfPositions(std::vector<uint32_t>{0, 3}), std::nullopt);
  EXPECT_EQ(space->IndexOfPositions(std::vector<uint32_t>{0}), std::nullopt);
}

TEST(ConfigSpaceTest, SpacesTooLargeToIndexAreRefused) {
  std::vector<Parameter> free;
  for (int i = 0; i < 20; ++i) free.push_back(Counted("p" + std::to_string(i), 10));
  EXPECT_NE(ErrorOf(free, {}).find("2^63"), std::string::npos);
  std::string sum = "p0";
  for (int i = 1; i < 20; ++i) sum += " + p" + std::to_string(i);
  EXPECT_NE(ErrorOf(free, {Rule(sum + " > 0")}).find("2^63"), std::string::npos);
}

TEST(ConfigSpaceTest, DefinitionErrorsNameTheCulprit) {
  EXPECT_EQ(ErrorOf({Integers("a", {})}, {}), "Parameter 'a' has no values.");
  EXPECT_EQ(ErrorOf({Integers("a", {1, 1})}, {}), "Parameter 'a' has the value 1 twice.");
  EXPECT_EQ(ErrorOf({Integers("a", {1}), Integers("a", {2})}, {}),
            "Parameter 'a' is defined twice.");
  EXPECT_EQ(ErrorOf({Integers("m", {1})}, {}, {{"m", int64_t{1}}}),
            "Parameter 'm' is defined twice.");
  EXPECT_NE(ErrorOf({Integers("a b", {1})}, {}).find("'a b'"), std::string::npos);
  EXPECT_NE(ErrorOf({Parameter{"a", {std::string("x,y")}}}, {}).find("'a'"), std::string::npos);
  EXPECT_EQ(
      ErrorOf({Integers("a", {1})}, {Rule("a < tile")}),
      "Constraint 'a < tile' reads 'tile', which is neither a parameter nor a constant of the "
      "space.");
}

TEST(ConfigSpaceTest, ConstraintsThatCannotBeEvaluatedSayWhere) {
  const std::string message =
      ErrorOf({Integers("a", {4, 2}), Integers("b", {1, 0})}, {Rule("a // b > 0")});

  EXPECT_NE(message.find("'a // b > 0' cannot be evaluated at {a=4,b=0}"), std::string::npos)
      << message;
  EXPECT_NE(message.find("division by zero"), std::string::npos);
}

TEST(ConfigSpaceTest, AConstraintNeedNotBeEvaluatedWhereAnotherRefuses) {
  const std::vector<Parameter> parameters = {Integers("a", {4, 2}), Integers("b", {0, 1, 2}),
                                             Integers("c", {1, 0})};

  for (const auto& rules :
       {std::vector{Rule("a % b == 0"), Rule("b != 0")},
        std::vector{Rule("b != 0"), Rule("a % b == 0")},
        std::vector{Rule("a // (b * c) > 0"), Rule("b + c > 1"), Rule("c == 1 and b > 0")}}) {
    const auto space = ConfigSpace::Create(parameters, rules);
    ASSERT_TRUE(space.ok()) << space.status().message();
  }
  EXPECT_EQ(ErrorOf(parameters, {Rule("a // (b * c) > 0"), Rule("b + c > 1")}),
            "Constraint 'a // (b * c) > 0' cannot be evaluated at {a=4,b=2,c=0}: Column 3 of "
            "expression 'a // (b * c) > 0': division by zero.");
}

TEST(ConfigSpaceTest, AFunctionThatFailsSaysWhere) {
  Constraint rule;
  rule.names = {"a", "b"};
  rule.text = "fits";
  rule.holds = [](const Expression::Lookup& lookup) -> Result<bool> {
    if (std::get<int64_t>(*lookup("a")) == 2) return Unavailable("No answer.");
    return true;
  };

  EXPECT_EQ(ErrorOf({Integers("a", {1, 2}), Integers("b", {3, 4})}, {rule}),
            "Constraint 'fits' cannot be evaluated at {a=2,b=3}: No answer.");
}

TEST(ConfigSpaceTest, EmptySpacesNameTheConstraintThatEmptiedThem) {
  EXPECT_EQ(
      ErrorOf({Integers("a", {1, 2}), Integers("b", {1, 2})}, {Rule("a > 1"), Rule("a + b > 10")}),
      "No config is valid: constraint 'a + b > 10' refuses the last ones.");
  EXPECT_EQ(ErrorOf({Integers("a", {1})}, {Rule("a == n")}, {{"n", int64_t{2}}}),
            "No config is valid: constraint 'a == n' refuses the last ones.");
}

TEST(ConfigSpaceTest, ConstantsAndPredicatesTakePartInConstraints) {
  Constraint odd;
  odd.names = {"a"};
  odd.text = "a is odd";
  odd.holds = [](const Expression::Lookup& lookup) -> Result<bool> {
    return std::get<int64_t>(*lookup("a")) % 2 == 1;
  };

  const auto space =
      ConfigSpace::Create({Counted("a", 10)}, {odd, Rule("a < limit")}, {{"limit", int64_t{6}}});

  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->size(), 3u);
  EXPECT_EQ(Text(space->At(2)), "a=5");
}

// The space of `count` parameters P0, P1, ... with the values 1 to `values` under one constraint.
Result<ConfigSpace> Factors(int count, int64_t values, std::string_view constraint) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < count; ++i) {
    Parameter& parameter = parameters.emplace_back();
    parameter.name = "P" + std::to_string(i);
    for (int64_t value = 1; value <= values; ++value) parameter.values.emplace_back(value);
  }
  return ConfigSpace::Create(std::move(parameters), {Rule(constraint)});
}

// Combinations of five and three factors up to 4096, and of eight that divide it, counted by a
// program of its own.
TEST(ConfigSpaceTest, ProductsOfManyValuedParametersAreBoundedFromTheirFirstFactors) {
  const auto five = Factors(5, 1024, "P0 * P1 * P2 * P3 * P4 <= 4096");
  const auto three = Factors(3, 4095, "4096 >= P0 * P1 * P2");
  const auto divisors = Factors(8, 100, "4096 % (P0*P1*P2*P3*P4*P5*P6*P7) == 0");

  ASSERT_TRUE(five.ok()) << five.status().message();
  EXPECT_EQ(five->size(), 1'807'575u);
  ASSERT_TRUE(three.ok()) << three.status().message();
  EXPECT_EQ(three->size(), 168'733u);
  ASSERT_TRUE(divisors.ok()) << divisors.status().message();
  EXPECT_EQ(divisors->size(), 115'674u);
}

TEST(ConfigSpaceTest, AProductThatIsAnotherParameterLeavesItsDivisorsAlone) {
  uint64_t expected = 0;
  for (uint64_t divisor = 1; divisor <= 1500; ++divisor) expected += 1500 / divisor;

  const auto space = Factors(3, 1500, "P0 == P1 * P2");

  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), expected);
}

TEST(ConfigSpaceTest, WhatCannotBeCountedSaysAtOnceWhichConstraintAndHowMuch) {
  const auto space = Factors(4, 4096, "(P0 * P1 + P2 * P3) * 4 <= 49152");

  EXPECT_EQ(space.status().message(),
            "The 4 parameters that constraints tie to 'P0' cannot be counted: some 38740883 steps "
            "are needed at 'P2', and 33554432 is the limit. 11145 different choices before it, "
            "times its 4096 values, matter to '(P0 * P1 + P2 * P3) * 4 <= 49152'; give these "
            "parameters fewer values, or split the constraint that reads all of them into several "
            "that read a few each.");
}

}  // namespace
}  // namespace attune
