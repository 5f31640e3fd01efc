// Random small spaces under random constraints, against all combinations tried one by one.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/space/config_space.h"
#include "attune/space/first_config.h"

namespace attune {
namespace {

constexpr std::array<const char*, 6> kNames = {"a", "b", "c", "d", "e", "f"};

// Kinds of values that the parameters of a space have.
enum class Values { kIntegers, kAnything };

ParameterValue RandomValue(Random& random, uint64_t kind) {
  if (random.Below(40) == 0) return int64_t{1} << 62;  // Sums and products of it overflow.
  if (kind == 0) return static_cast<int64_t>(random.Below(9)) - 2;
  if (kind == 1) return static_cast<double>(random.Below(12)) / 4 - 1;
  return std::string(1, static_cast<char>('u' + random.Below(5)));
}

Parameter RandomParameter(Random& random, std::string name, Values values) {
  Parameter parameter{std::move(name), {}};
  // Integers, reals, texts, or each value of any kind.
  const uint64_t kind = values == Values::kIntegers ? 0 : random.Below(4);
  const uint64_t count = 1 + random.Below(4);
  while (parameter.values.size() < count) {
    const ParameterValue value = RandomValue(random, kind == 3 ? random.Below(3) : kind);
    const auto begin = parameter.values.begin();
    if (std::find(begin, parameter.values.end(), value) == parameter.values.end()) {
      parameter.values.push_back(value);
    }
  }
  return parameter;
}

// Text of an expression over the names; not every one can be evaluated everywhere, nor parsed in
// both dialects.
std::string RandomExpression(Random& random, int depth) {
  static constexpr const char* kOperators[] = {
      "+", "-", "*", "/",  "//",    "%",    "<",  "<=", ">=", "==", "!=", "<",
      "+", "*", "%", "==", " and ", " or ", "<<", ">>", "&",  "|",  "^",  "**"};
  if (depth == 0 || random.Below(8) == 0) {
    if (random.Below(3) > 0) return kNames[random.Below(kNames.size())];
    static constexpr const char* kLiterals[] = {"0", "1", "2", "3", "7", "0.5", "'w'", "true"};
    return kLiterals[random.Below(std::size(kLiterals))];
  }
  const auto inner = [&random, depth] { return RandomExpression(random, depth - 1); };
  switch (random.Below(14)) {
    case 12:
      return "(~" + inner() + ")";
    case 13:
      return "int(" + inner() + ")";
    case 0:
      return "(not " + inner() + ")";
    case 1:
      return "(-" + inner() + ")";
    case 2:
      return "(" + inner() + " if " + inner() + " else " + inner() + ")";
    case 3:
      return (random.Below(2) == 0 ? "min(" : "max(") + inner() + ", " + inner() + ")";
    case 4:
      return (random.Below(2) == 0 ? "ceil_div(" : "gcd(") + inner() + ", " + inner() + ")";
    case 5:
      return "(" + inner() + " in (" + inner() + ", " + inner() + "))";
    case 6:
      return "(" + inner() + " < " + inner() + " <= " + inner() + ")";
    default:
      return "(" + inner() + kOperators[random.Below(std::size(kOperators))] + inner() + ")";
  }
}

struct RandomSpace {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::string texts;  // For messages.
};

RandomSpace MakeSpace(Random& random, Values values) {
  RandomSpace space;
  for (const char* name : kNames) {
    space.parameters.push_back(RandomParameter(random, name, values));
  }
  const uint64_t count = random.Below(5);
  while (space.constraints.size() < count) {
    const auto dialect = random.Below(2) == 0 ? ExpressionDialect::kC : ExpressionDialect::kPython;
    const std::string text = RandomExpression(random, 1 + static_cast<int>(random.Below(3)));
    auto expression = Expression::Parse(text, dialect);
    if (!expression.ok()) continue;
    space.texts += (dialect == ExpressionDialect::kC ? "C: " : "Python: ") + text + "\n";
    space.constraints.push_back(ConstraintFrom(*std::move(expression)));
    // Some are functions, of which only the inputs are known.
    if (random.Below(4) == 0) space.constraints.back().expression.reset();
  }
  return space;
}

struct BruteForce {
  std::vector<Config> valid;  // Depth first.
  // A constraint cannot be evaluated at a config that no other refuses.
  bool has_failure = false;
};

BruteForce TryAll(const RandomSpace& space) {
  BruteForce result;
  std::vector<Config> configs = {Config()};
  for (const Parameter& parameter : space.parameters) {
    std::vector<Config> extended;
    for (const Config& config : configs) {
      for (const ParameterValue& value : parameter.values) {
        extended.push_back(config);
        extended.back().emplace(parameter.name, value);
      }
    }
    configs = std::move(extended);
  }
  for (const Config& config : configs) {
    bool refused = false;
    bool failed = false;
    for (const Constraint& constraint : space.constraints) {
      const auto holds = constraint.holds([&config](std::string_view name) {
        const auto found = config.find(name);
        return found == config.end() ? nullptr : &found->second;
      });
      failed = failed || !holds.ok();
      refused = refused || (holds.ok() && !*holds);
    }
    result.has_failure = result.has_failure || (failed && !refused);
    if (!failed && !refused) result.valid.push_back(config);
  }
  return result;
}

std::vector<uint64_t> NeighboursByForce(const std::vector<Parameter>& parameters,
                                        const std::vector<uint32_t>& rows, uint64_t from,
                                        bool adjacent_only) {
  const size_t width = parameters.size();
  std::vector<uint64_t> neighbours;
  for (uint64_t to = 0; to < rows.size() / width; ++to) {
    int changed = 0;
    int64_t distance = 0;
    for (size_t i = 0; i < width; ++i) {
      const int64_t step = int64_t{rows[from * width + i]} - int64_t{rows[to * width + i]};
      changed += step == 0 ? 0 : 1;
      distance += std::abs(step);
    }
    if (changed == 1 && (!adjacent_only || distance == 1)) neighbours.push_back(to);
  }
  return neighbours;
}

void ExpectNeighbours(const ConfigSpace& space, Random& random) {
  const std::vector<uint32_t> rows = space.Positions(0, space.size());
  for (int i = 0; i < 3; ++i) {
    const uint64_t from = space.Sample(random);
    for (const bool adjacent_only : {false, true}) {
      std::vector<uint64_t> found = space.Neighbours(from, adjacent_only);
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, NeighboursByForce(space.parameters(), rows, from, adjacent_only));
    }
  }
}

void ExpectSpaceIs(const ConfigSpace& space, const std::vector<Config>& configs, Random& random) {
  ASSERT_EQ(space.size(), configs.size());
  const size_t width = space.parameters().size();
  const std::vector<uint32_t> rows = space.Positions(0, space.size());
  ASSERT_EQ(rows.size(), configs.size() * width);
  for (uint64_t i = 0; i < configs.size(); ++i) {
    ASSERT_EQ(space.At(i), configs[i]);
    ASSERT_EQ(space.IndexOf(configs[i]), i);
    const std::span<const uint32_t> row(rows.data() + i * width, width);
    ASSERT_EQ(space.IndexOfPositions(row), i);
    for (size_t p = 0; p < width; ++p) {
      const Parameter& parameter = space.parameters()[p];
      ASSERT_EQ(parameter.values[row[p]], configs[i].at(parameter.name));
    }
  }
  const uint64_t first = space.Sample(random);
  const uint64_t count = random.Below(space.size() - first + 1);
  const auto begin = rows.begin() + static_cast<ptrdiff_t>(first * width);
  EXPECT_EQ(space.Positions(first, count),
            std::vector<uint32_t>(begin, begin + static_cast<ptrdiff_t>(count * width)));
}

// How many spaces had valid configs, and how many a failure.
struct Seen {
  int valid = 0;
  int failed = 0;
};

Seen CompareSpaces(uint64_t seed, int spaces, Values values) {
  Random random(seed);
  Seen seen;
  for (int round = 0; round < spaces; ++round) {
    const RandomSpace made = MakeSpace(random, values);
    SCOPED_TRACE("space " + std::to_string(round) + "\n" + made.texts);
    const BruteForce expected = TryAll(made);

    const auto space = ConfigSpace::Create(made.parameters, made.constraints);

    EXPECT_EQ(space.ok(), !expected.has_failure && !expected.valid.empty())
        << space.status().message();
    seen.failed += expected.has_failure ? 1 : 0;
    if (!space.ok() || testing::Test::HasFailure()) continue;
    ++seen.valid;
    ExpectSpaceIs(*space, expected.valid, random);
    ExpectNeighbours(*space, random);
    const auto first = FirstConfig({made.parameters, made.constraints});
    EXPECT_TRUE(first.ok() && *first == expected.valid.front());
    if (testing::Test::HasFailure()) return seen;
  }
  return seen;
}

TEST(SpacePropertyTest, RandomSpacesOfIntegersAreWhatTryingAllFinds) {
  const Seen seen = CompareSpaces(101, 1500, Values::kIntegers);

  EXPECT_GT(seen.valid, 300);
  EXPECT_GT(seen.failed, 100);
}

TEST(SpacePropertyTest, RandomSpacesOfMixedKindsAreWhatTryingAllFinds) {
  const Seen seen = CompareSpaces(103, 1500, Values::kAnything);

  EXPECT_GT(seen.valid, 300);
  EXPECT_GT(seen.failed, 100);
}

}  // namespace
}  // namespace attune
