// The parameters of a solver and which combinations are valid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/base/status.h"
#include "attune/space/config.h"
#include "attune/space/expression.h"

namespace attune {

struct Parameter {
  std::string name;  // [A-Za-z_][A-Za-z0-9_]*
  std::vector<ParameterValue>
      values;  // Distinct, at least one; order is the author's, neighbours are adjacent.

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// A rule over parameters (and constants such as problem sizes): text, or a predicate with the names
// it reads.
struct Constraint {
  std::vector<std::string> names;
  // Depends on the values of `names` alone, and so is asked about the same values only once. It may
  // be asked about values that another constraint refuses.
  std::function<Result<bool>(const Expression::Lookup&)> holds;
  std::string text;  // For messages.
  // The text that `holds` evaluates, if any: then many values are checked at once.
  std::optional<Expression> expression = std::nullopt;
  // Its position in the source, with which messages begin; may be empty.
  std::string place = {};
};
Constraint ConstraintFrom(Expression expression);

// An immutable set of valid configs with a dense index [0, size()). The index of a config depends
// only on parameters and constraints, so a searcher can be resumed. Thread-safe.
class ConfigSpace {
 public:
  // The space with exactly one config that has no parameters.
  ConfigSpace();

  // `constants` are names that constraints may read beside the parameters. Indices are in
  // depth-first order: all configs with the first value of the first parameter, then those with
  // its second. Fails on a duplicate or unknown name, an empty value list, a constraint that cannot
  // be evaluated at a config that no other refuses (which one, at which config), a space with no
  // valid config (naming the constraint that removed the last ones); kResourceExhausted at 2^63
  // configs or more, or where constraints tie too many parameters together.
  static Result<ConfigSpace> Create(std::vector<Parameter> parameters,
                                    std::vector<Constraint> constraints, Config constants = {});

  // Exactly these configs, each at its position in the list, as a library enumerated them.
  // Neighbours differ in one parameter, by adjacent values in ascending order. kInvalidArgument if
  // there is none, one repeats another, or one has other parameters than the first.
  static Result<ConfigSpace> FromConfigs(const std::vector<Config>& configs);

  // The same configs by ascending `cost`, an estimate for each, behind the first, which stays;
  // configs of equal cost keep their order. Neighbours stay the same. Fails as `cost` does;
  // kResourceExhausted above kMaxSortedConfigs.
  Result<ConfigSpace> SortedBy(const std::function<Result<int64_t>(const Config&)>& cost) const;
  static constexpr uint64_t kMaxSortedConfigs = 1 << 16;

  // So many of the first configs are worth trying before others: all of a sorted space, and of
  // others the first.
  uint64_t guesses() const;

  const std::vector<Parameter>& parameters() const;
  // Number of valid configs.
  uint64_t size() const;
  // REQUIRES: index < size().
  Config At(uint64_t index) const;
  // Nothing if `config` is not in the space.
  std::optional<uint64_t> IndexOf(const Config& config) const;
  // Indices of valid configs that differ from `index` in exactly one parameter, by one step in its
  // value list
  // (`adjacent`) or by any amount: which costs as much as the parameters have values.
  std::vector<uint64_t> Neighbours(uint64_t index, bool adjacent_only) const;
  // One of Neighbours(index, false), each as likely as another; nothing if some tens of changes of
  // one parameter were drawn and none is valid. Costs the same however many values there are.
  std::optional<uint64_t> SampleNeighbour(uint64_t index, Random& random) const;
  // At most `most` of Neighbours(index, false). All of them, if there are no more and parameters
  // have a few hundred values together. With more values, it stops after some tens of draws in a
  // row that found nothing new.
  std::vector<uint64_t> SampleNeighbours(uint64_t index, size_t most, Random& random) const;
  uint64_t Sample(Random& random) const { return random.Below(size()); }

  // `count` configs from index `first` on, as numbers, which is much quicker than At. For each
  // config, and in it for each of parameters(): the position of its value in the parameter's list.
  // REQUIRES: first + count <= size().
  std::vector<uint32_t> Positions(uint64_t first, uint64_t count) const;
  // The index of one config as Positions has it; nothing if it is not in the space.
  std::optional<uint64_t> IndexOfPositions(std::span<const uint32_t> positions) const;

 private:
  struct Impl;
  explicit ConfigSpace(std::shared_ptr<const Impl> impl);
  // Shared: copies of a space share one immutable table.
  std::shared_ptr<const Impl> impl_;
};

}  // namespace attune
