#include "attune/space/config_space.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "attune/space/config_list.h"
#include "attune/space/space_builder.h"

namespace attune {
namespace {

// So many values are quicker looked through than searched.
constexpr size_t kFewValues = 256;
// Moves that are drawn in vain, one after the other, before neighbours are taken to be rare.
constexpr int kMostDraws = 64;
// So many moves are looked at one by one, where all are wanted.
constexpr uint64_t kMostListedMoves = 512;

// Position of a parameter with a choice: its group, and its level there.
struct Place {
  size_t parameter = 0;
  size_t group = 0;
  size_t level = 0;
};

// The position of the value of every parameter, in the order of the space.
using Row = std::vector<uint32_t>;
using NodeId = CountedGraph::NodeId;

}  // namespace

Constraint ConstraintFrom(Expression expression) {
  Constraint constraint;
  constraint.names = expression.names();
  constraint.text = expression.text();
  constraint.expression = expression;
  constraint.holds = [expression = std::move(expression)](const Expression::Lookup& lookup) {
    return expression.EvaluateBool(lookup);
  };
  return constraint;
}

// The index of a config is the number of configs before it in depth-first order over all
// parameters. It is the sum, over the parameters in order, of (combinations of the parameter's
// group with an earlier value) times (combinations of all other groups), both restricted to the
// values of earlier parameters.
struct ConfigSpace::Impl {
  std::vector<Parameter> parameters;
  std::vector<size_t> by_name;  // Parameters in the order of their names.
  // For each parameter with many values, their positions by ascending value; empty for the others.
  std::vector<std::vector<uint32_t>> by_value;
  std::vector<ParameterGroup> groups;
  std::vector<Place> places;  // Parameters with a choice, in order.
  uint64_t size = 1;
  // For a space in the order of a list that is not depth-first: the place of each index in
  // depth-first order, and the inverse. Empty otherwise.
  std::vector<uint64_t> place_of_index;
  std::vector<uint64_t> index_of_place;
  bool is_sorted = false;  // By the estimated cost of configs.

  void SetPlaces(std::vector<uint64_t> places_of_indices) {
    place_of_index = std::move(places_of_indices);
    index_of_place.resize(place_of_index.size());
    for (uint64_t index = 0; index < place_of_index.size(); ++index) {
      index_of_place[place_of_index[index]] = index;
    }
  }

  void Arrange() {
    by_name.resize(parameters.size());
    std::iota(by_name.begin(), by_name.end(), size_t{0});
    std::sort(by_name.begin(), by_name.end(),
              [this](size_t a, size_t b) { return parameters[a].name < parameters[b].name; });
    for (const Parameter& parameter : parameters) by_value.push_back(ByValue(parameter));
    for (size_t group = 0; group < groups.size(); ++group) {
      for (size_t level = 0; level < groups[group].parameters.size(); ++level) {
        places.push_back({groups[group].parameters[level], group, level});
      }
    }
    std::sort(places.begin(), places.end(),
              [](const Place& a, const Place& b) { return a.parameter < b.parameter; });
  }

  static std::vector<uint32_t> ByValue(const Parameter& parameter) {
    const std::vector<ParameterValue>& values = parameter.values;
    if (values.size() <= kFewValues) return {};
    std::vector<uint32_t> positions(values.size());
    std::iota(positions.begin(), positions.end(), uint32_t{0});
    std::sort(positions.begin(), positions.end(),
              [&values](uint32_t a, uint32_t b) { return values[a] < values[b]; });
    return positions;
  }

  // Nothing if the parameter number `i` cannot have `value`.
  std::optional<uint32_t> PositionOf(size_t i, const ParameterValue& value) const {
    const std::vector<ParameterValue>& values = parameters[i].values;
    const std::vector<uint32_t>& order = by_value[i];
    if (order.empty()) {
      const auto found = std::find(values.begin(), values.end(), value);
      if (found == values.end()) return std::nullopt;
      return static_cast<uint32_t>(found - values.begin());
    }
    const auto found = std::lower_bound(
        order.begin(), order.end(), value,
        [&values](uint32_t at, const ParameterValue& than) { return values[at] < than; });
    if (found == order.end() || values[*found] != value) return std::nullopt;
    return *found;
  }

  uint64_t PlaceOf(uint64_t index) const {
    return place_of_index.empty() ? index : place_of_index[index];
  }
  uint64_t IndexOfPlace(uint64_t place) const {
    return index_of_place.empty() ? place : index_of_place[place];
  }

  std::vector<NodeId> Roots() const {
    std::vector<NodeId> roots;
    for (const ParameterGroup& group : groups) roots.push_back(group.graph.root());
    return roots;
  }

  // Nothing if the combination is not valid.
  std::optional<uint64_t> IndexOfRow(std::span<const uint32_t> row) const {
    std::vector<NodeId> nodes = Roots();
    uint64_t before = 0;
    uint64_t remaining = size;  // Product of the counts of `nodes`.
    for (const Place& place : places) {
      const CountedGraph& graph = groups[place.group].graph;
      NodeId& node = nodes[place.group];
      const auto step = graph.Follow(node, row[place.parameter]);
      if (!step.has_value()) return std::nullopt;
      const uint64_t others = remaining / graph.Count(node);
      before += step->before * others;
      remaining = others * graph.Count(step->child);
      node = step->child;
    }
    return IndexOfPlace(before);
  }

  Row RowOf(uint64_t index) const {
    uint64_t offset = PlaceOf(index);
    Row row(parameters.size(), 0);
    std::vector<NodeId> nodes = Roots();
    uint64_t remaining = size;
    for (const Place& place : places) {
      const CountedGraph& graph = groups[place.group].graph;
      NodeId& node = nodes[place.group];
      const uint64_t others = remaining / graph.Count(node);
      const CountedGraph::Step step = graph.Locate(node, offset / others);
      row[place.parameter] = step.value;
      offset -= step.before * others;
      remaining = others * graph.Count(step.child);
      node = step.child;
    }
    return row;
  }

  Config ConfigOf(const Row& row) const {
    Config config;
    for (const size_t i : by_name) {
      config.emplace_hint(config.end(), parameters[i].name, parameters[i].values[row[i]]);
    }
    return config;
  }

  // Possible moves of one config: another value of one parameter, from those that earlier
  // parameters allow.
  struct Moves {
    Row row;
    std::vector<NodeId> nodes;  // At the level of each of `places`.
    uint64_t count = 0;
  };

  Moves MovesFrom(uint64_t index) const {
    Moves moves{RowOf(index), {}, 0};
    std::vector<NodeId> nodes = Roots();
    for (const Place& place : places) {
      const CountedGraph& graph = groups[place.group].graph;
      NodeId& node = nodes[place.group];
      moves.nodes.push_back(node);
      moves.count += graph.Values(node).size() - 1;
      node = graph.Follow(node, moves.row[place.parameter])->child;
    }
    return moves;
  }

  // True if the parameters of its group allow `value` at the place number `at`.
  bool Allows(const Moves& moves, size_t at, uint32_t value) const {
    const ParameterGroup& group = groups[places[at].group];
    auto step = group.graph.Follow(moves.nodes[at], value);
    for (size_t level = places[at].level + 1; step.has_value() && level < group.parameters.size();
         ++level) {
      step = group.graph.Follow(step->child, moves.row[group.parameters[level]]);
    }
    return step.has_value();
  }

  // Nothing if it is not valid.
  std::optional<uint64_t> IndexOfMove(Moves& moves, size_t at, uint32_t value) const {
    uint32_t& place = moves.row[places[at].parameter];
    const uint32_t chosen = std::exchange(place, value);
    const std::optional<uint64_t> index = IndexOfRow(moves.row);
    place = chosen;
    return index;
  }

  // In the order of the parameters, values ascending.
  std::vector<uint64_t> Neighbours(Moves& moves, bool adjacent_only) const {
    std::vector<uint64_t> neighbours;
    for (size_t at = 0; at < places.size(); ++at) {
      const uint32_t chosen = moves.row[places[at].parameter];
      std::span<const uint32_t> values = groups[places[at].group].graph.Values(moves.nodes[at]);
      if (adjacent_only) {
        const auto low = std::lower_bound(values.begin(), values.end(), chosen - (chosen > 0));
        values = {low, std::upper_bound(low, values.end(), chosen + 1)};
      }
      for (const uint32_t value : values) {
        // Where there are many, most may be refused, which the group alone says sooner.
        if (value == chosen || (!adjacent_only && !Allows(moves, at, value))) continue;
        if (const auto index = IndexOfMove(moves, at, value)) neighbours.push_back(*index);
      }
    }
    return neighbours;
  }

  // Where the move number `move` leads; nothing if it is not valid. REQUIRES: move < moves.count.
  std::optional<uint64_t> Follow(Moves& moves, uint64_t move) const {
    for (size_t at = 0;; ++at) {
      const auto values = groups[places[at].group].graph.Values(moves.nodes[at]);
      if (move >= values.size() - 1) {
        move -= values.size() - 1;
        continue;
      }
      const uint32_t chosen = moves.row[places[at].parameter];
      const uint32_t value = values[move] < chosen ? values[move] : values[move + 1];
      return Allows(moves, at, value) ? IndexOfMove(moves, at, value) : std::nullopt;
    }
  }
};

namespace {

Result<uint64_t> ProductOfSizes(const std::vector<ParameterGroup>& groups) {
  unsigned __int128 size = 1;
  for (const ParameterGroup& group : groups) {
    size *= group.graph.size();
    if (size >= CountedGraph::kTooMany) {
      return ResourceExhausted(
          "The space has 2^63 valid configs or more; an index cannot count them.");
    }
  }
  return static_cast<uint64_t>(size);
}

// Lists rows in depth-first order, from one place on.
class RowLister {
 public:
  RowLister(std::span<const ParameterGroup> groups, std::span<const Place> places, size_t width)
      : groups_(groups), places_(places), row_(width, 0) {
    for (const ParameterGroup& group : groups) nodes_.push_back(group.graph.root());
  }

  // `count` rows behind the first `skipped`. REQUIRES: there are so many.
  std::vector<uint32_t> List(uint64_t skipped, uint64_t count) && {
    skip_ = skipped;
    rows_.resize(count * row_.size());
    out_ = rows_.data();
    end_ = out_ + rows_.size();
    if (count > 0) Visit(0);
    return std::move(rows_);
  }

 private:
  void Emit() { out_ = std::copy(row_.begin(), row_.end(), out_); }

  void Visit(size_t at) {
    if (at == places_.size()) return Emit();
    const Place& place = places_[at];
    const CountedGraph& graph = groups_[place.group].graph;
    const NodeId node = nodes_[place.group];
    const std::span<const uint32_t> values = graph.Values(node);
    const bool is_last = at + 1 == places_.size();
    for (size_t i = 0; i < values.size() && out_ != end_; ++i) {
      nodes_[place.group] = graph.Child(node, i);
      if (skip_ > 0 && Skips()) continue;
      row_[place.parameter] = values[i];
      is_last ? Emit() : Visit(at + 1);
    }
    nodes_[place.group] = node;
  }

  // True if all rows below the nodes are skipped.
  bool Skips() {
    uint64_t below = 1;
    for (size_t i = 0; i < groups_.size(); ++i) below *= groups_[i].graph.Count(nodes_[i]);
    if (skip_ < below) return false;
    skip_ -= below;
    return true;
  }

  std::span<const ParameterGroup> groups_;
  std::span<const Place> places_;
  std::vector<NodeId> nodes_;  // Per group, after the choices so far.
  Row row_;
  uint64_t skip_ = 0;
  std::vector<uint32_t> rows_;
  uint32_t* out_ = nullptr;
  uint32_t* end_ = nullptr;
};

}  // namespace

ConfigSpace::ConfigSpace() : impl_(std::make_shared<const Impl>()) {}
ConfigSpace::ConfigSpace(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<ConfigSpace> ConfigSpace::Create(std::vector<Parameter> parameters,
                                        std::vector<Constraint> constraints, Config constants) {
  auto impl = std::make_shared<Impl>();
  impl->parameters = std::move(parameters);
  ATTUNE_ASSIGN_OR_RETURN(impl->groups, BuildGroups(impl->parameters, constraints, constants));
  ATTUNE_ASSIGN_OR_RETURN(impl->size, ProductOfSizes(impl->groups));
  impl->Arrange();
  return ConfigSpace(std::move(impl));
}

Result<ConfigSpace> ConfigSpace::FromConfigs(const std::vector<Config>& configs) {
  auto impl = std::make_shared<Impl>();
  ATTUNE_ASSIGN_OR_RETURN(impl->parameters, ParametersOf(configs));
  ATTUNE_ASSIGN_OR_RETURN(ListedGroup listed, ListGroup(impl->parameters, configs));
  impl->size = configs.size();
  if (!listed.group.parameters.empty()) impl->groups.push_back(std::move(listed.group));
  impl->Arrange();
  impl->SetPlaces(std::move(listed.place_of_config));
  return ConfigSpace(std::move(impl));
}

Result<ConfigSpace> ConfigSpace::SortedBy(
    const std::function<Result<int64_t>(const Config&)>& cost) const {
  if (size() > kMaxSortedConfigs) {
    return ResourceExhausted(fmt::format("A space of {} configs was to be sorted; {} can be.",
                                         size(), kMaxSortedConfigs));
  }
  std::vector<std::pair<int64_t, uint64_t>> order;  // Cost, and place.
  for (uint64_t index = 0; index < size(); ++index) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t estimate, cost(At(index)));
    order.emplace_back(estimate, impl_->PlaceOf(index));
  }
  std::stable_sort(order.begin() + 1, order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<uint64_t> places;
  for (const auto& [estimate, place] : order) places.push_back(place);
  auto impl = std::make_shared<Impl>(*impl_);
  impl->SetPlaces(std::move(places));
  impl->is_sorted = true;
  return ConfigSpace(std::move(impl));
}

uint64_t ConfigSpace::guesses() const { return impl_->is_sorted ? size() : 1; }

const std::vector<Parameter>& ConfigSpace::parameters() const { return impl_->parameters; }

uint64_t ConfigSpace::size() const { return impl_->size; }

Config ConfigSpace::At(uint64_t index) const {
  assert(index < size());
  return impl_->ConfigOf(impl_->RowOf(index));
}

std::optional<uint64_t> ConfigSpace::IndexOf(const Config& config) const {
  if (config.size() != impl_->parameters.size()) return std::nullopt;
  Row row(impl_->parameters.size());
  auto given = config.begin();
  for (const size_t i : impl_->by_name) {
    if (given->first != impl_->parameters[i].name) return std::nullopt;
    const auto position = impl_->PositionOf(i, given->second);
    if (!position.has_value()) return std::nullopt;
    row[i] = *position;
    ++given;
  }
  return impl_->IndexOfRow(row);
}

std::vector<uint64_t> ConfigSpace::Neighbours(uint64_t index, bool adjacent_only) const {
  assert(index < size());
  Impl::Moves moves = impl_->MovesFrom(index);
  return impl_->Neighbours(moves, adjacent_only);
}

std::optional<uint64_t> ConfigSpace::SampleNeighbour(uint64_t index, Random& random) const {
  assert(index < size());
  Impl::Moves moves = impl_->MovesFrom(index);
  std::optional<uint64_t> neighbour;
  for (int draw = 0; draw < kMostDraws && moves.count > 0 && !neighbour.has_value(); ++draw) {
    neighbour = impl_->Follow(moves, random.Below(moves.count));
  }
  return neighbour;
}

std::vector<uint64_t> ConfigSpace::SampleNeighbours(uint64_t index, size_t most,
                                                    Random& random) const {
  assert(index < size());
  Impl::Moves moves = impl_->MovesFrom(index);
  std::vector<uint64_t> neighbours;
  if (moves.count <= kMostListedMoves) {
    neighbours = impl_->Neighbours(moves, false);
    if (neighbours.size() <= most) return neighbours;
    random.Shuffle(std::span<uint64_t>(neighbours));
    neighbours.resize(most);
    return neighbours;
  }
  std::unordered_set<uint64_t> known;
  for (int in_vain = 0; in_vain < kMostDraws && neighbours.size() < most;) {
    const auto neighbour = impl_->Follow(moves, random.Below(moves.count));
    const bool is_new = neighbour.has_value() && known.insert(*neighbour).second;
    if (is_new) neighbours.push_back(*neighbour);
    in_vain = is_new ? 0 : in_vain + 1;
  }
  return neighbours;
}

std::vector<uint32_t> ConfigSpace::Positions(uint64_t first, uint64_t count) const {
  assert(first <= size() && count <= size() - first);
  const size_t width = impl_->parameters.size();
  if (impl_->place_of_index.empty()) {
    return RowLister(impl_->groups, impl_->places, width).List(first, count);
  }
  std::vector<uint32_t> rows;
  rows.reserve(count * width);
  for (uint64_t index = first; index < first + count; ++index) {
    const Row row = impl_->RowOf(index);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

std::optional<uint64_t> ConfigSpace::IndexOfPositions(std::span<const uint32_t> positions) const {
  const std::vector<Parameter>& parameters = impl_->parameters;
  if (positions.size() != parameters.size()) return std::nullopt;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (positions[i] >= parameters[i].values.size()) return std::nullopt;
  }
  return impl_->IndexOfRow(positions);
}

}  // namespace attune
