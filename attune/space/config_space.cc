#include "attune/space/config_space.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attune/space/config_list.h"
#include "attune/space/space_builder.h"

namespace attune {
namespace {

// Where a parameter with a choice stands.
struct Place {
  size_t parameter = 0;
  size_t component = 0;
  uint64_t weight = 1;
  uint64_t radix = 1;
};

// The valid combinations of one component that agree with what is chosen so far: positions in its
// ranks.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

}  // namespace

Constraint ConstraintFrom(Expression expression) {
  Constraint constraint;
  constraint.names = expression.names();
  constraint.text = expression.text();
  constraint.holds = [expression = std::move(expression)](const Expression::Lookup& lookup) {
    return expression.EvaluateBool(lookup);
  };
  return constraint;
}

// The index of a config counts the configs before it in depth-first order over all parameters. It
// is the sum, over the parameters in order, of (combinations of the parameter's component with a
// smaller value) times (combinations of all other components), both restricted to what the earlier
// parameters fix.
struct ConfigSpace::Impl {
  std::vector<Parameter> parameters;
  std::vector<Component> components;
  std::vector<Place> places;  // Parameters with a choice, in order.
  uint64_t size = 1;
  // Of a space that keeps the order of a list, where it is not the depth-first one: the place of
  // each index in depth-first order, and the inverse. Empty otherwise.
  std::vector<uint64_t> place_of_index;
  std::vector<uint64_t> index_of_place;
  bool is_sorted = false;  // By what configs are estimated to take.

  void SetPlaces(std::vector<uint64_t> places_of_indices) {
    place_of_index = std::move(places_of_indices);
    index_of_place.resize(place_of_index.size());
    for (uint64_t index = 0; index < place_of_index.size(); ++index) {
      index_of_place[place_of_index[index]] = index;
    }
  }

  uint64_t PlaceOf(uint64_t index) const {
    return place_of_index.empty() ? index : place_of_index[index];
  }
  uint64_t IndexOfPlace(uint64_t place) const {
    return index_of_place.empty() ? place : index_of_place[place];
  }

  std::vector<Range> FullRanges() const {
    std::vector<Range> ranges;
    for (const Component& component : components) ranges.push_back({0, component.ranks.size()});
    return ranges;
  }

  // The part of `range` whose ranks agree with `rank` down to the parameter at `place`.
  Range Narrow(const Range& range, const Place& place, uint64_t rank) const {
    const std::vector<uint64_t>& ranks = components[place.component].ranks;
    const uint64_t low = rank - rank % place.weight;
    const auto begin = ranks.begin() + static_cast<ptrdiff_t>(range.begin);
    const auto end = ranks.begin() + static_cast<ptrdiff_t>(range.end);
    const auto first = std::lower_bound(begin, end, low);
    const auto last = std::upper_bound(first, end, low + (place.weight - 1));
    return {static_cast<uint64_t>(first - ranks.begin()),
            static_cast<uint64_t>(last - ranks.begin())};
  }

  // One position in each component's ranks -> index.
  uint64_t IndexOfPositions(const std::vector<uint64_t>& positions) const {
    return IndexOfPlace(DepthFirstPlace(positions));
  }

  uint64_t DepthFirstPlace(const std::vector<uint64_t>& positions) const {
    std::vector<Range> ranges = FullRanges();
    uint64_t index = 0;
    uint64_t remaining = size;  // Product of the sizes of `ranges`.
    for (const Place& place : places) {
      Range& range = ranges[place.component];
      const uint64_t position = positions[place.component];
      const uint64_t others = remaining / range.size();
      if (others == 1) return index + (position - range.begin);
      const uint64_t rank = components[place.component].ranks[position];
      const Range narrowed = Narrow(range, place, rank);
      index += (narrowed.begin - range.begin) * others;
      remaining = others * narrowed.size();
      range = narrowed;
    }
    return index;
  }

  std::vector<uint64_t> PositionsOf(uint64_t index) const {
    index = PlaceOf(index);
    std::vector<Range> ranges = FullRanges();
    uint64_t remaining = size;
    for (const Place& place : places) {
      Range& range = ranges[place.component];
      const uint64_t others = remaining / range.size();
      const uint64_t position = range.begin + index / others;
      const uint64_t rank = components[place.component].ranks[position];
      const Range narrowed =
          others == 1 ? Range{position, position + 1} : Narrow(range, place, rank);
      index -= (narrowed.begin - range.begin) * others;
      remaining = others * narrowed.size();
      range = narrowed;
    }
    std::vector<uint64_t> positions;
    for (const Range& range : ranges) positions.push_back(range.begin);
    return positions;
  }

  uint64_t DigitAt(const std::vector<uint64_t>& positions, const Place& place) const {
    const uint64_t rank = components[place.component].ranks[positions[place.component]];
    return rank / place.weight % place.radix;
  }

  // The position of `rank` in its component; nothing if the combination is not valid.
  std::optional<uint64_t> PositionOf(size_t component, uint64_t rank) const {
    const std::vector<uint64_t>& ranks = components[component].ranks;
    const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
    if (found == ranks.end() || *found != rank) return std::nullopt;
    return static_cast<uint64_t>(found - ranks.begin());
  }

  void AppendNeighboursAt(const Place& place, bool adjacent_only,
                          const std::vector<uint64_t>& positions,
                          std::vector<uint64_t>& neighbours) const {
    const uint64_t rank = components[place.component].ranks[positions[place.component]];
    const uint64_t digit = rank / place.weight % place.radix;
    const uint64_t first = !adjacent_only ? 0 : digit == 0 ? 0 : digit - 1;
    const uint64_t last = adjacent_only ? std::min(digit + 1, place.radix - 1) : place.radix - 1;
    std::vector<uint64_t> moved = positions;
    for (uint64_t other = first; other <= last; ++other) {
      if (other == digit) continue;
      const auto position =
          PositionOf(place.component, rank - digit * place.weight + other * place.weight);
      if (!position.has_value()) continue;
      moved[place.component] = *position;
      neighbours.push_back(IndexOfPositions(moved));
    }
  }
};

namespace {

Result<uint64_t> ProductOfSizes(const std::vector<Component>& components) {
  unsigned __int128 size = 1;
  for (const Component& component : components) {
    size *= component.ranks.size();
    if (size > std::numeric_limits<int64_t>::max()) {
      return ResourceExhausted(
          "The space has 2^63 valid configs or more; an index cannot count them.");
    }
  }
  return static_cast<uint64_t>(size);
}

std::vector<Place> PlacesOf(const std::vector<Parameter>& parameters,
                            const std::vector<Component>& components) {
  std::vector<Place> places;
  for (size_t c = 0; c < components.size(); ++c) {
    for (size_t i = 0; i < components[c].parameters.size(); ++i) {
      const size_t parameter = components[c].parameters[i];
      places.push_back(
          {parameter, c, components[c].weights[i], parameters[parameter].values.size()});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.parameter < b.parameter; });
  return places;
}

}  // namespace

ConfigSpace::ConfigSpace() : impl_(std::make_shared<const Impl>()) {}
ConfigSpace::ConfigSpace(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<ConfigSpace> ConfigSpace::Create(std::vector<Parameter> parameters,
                                        std::vector<Constraint> constraints, Config constants) {
  auto impl = std::make_shared<Impl>();
  impl->parameters = std::move(parameters);
  ATTUNE_ASSIGN_OR_RETURN(impl->components,
                          BuildComponents(impl->parameters, constraints, constants));
  ATTUNE_ASSIGN_OR_RETURN(impl->size, ProductOfSizes(impl->components));
  impl->places = PlacesOf(impl->parameters, impl->components);
  return ConfigSpace(std::move(impl));
}

Result<ConfigSpace> ConfigSpace::FromConfigs(const std::vector<Config>& configs) {
  auto impl = std::make_shared<Impl>();
  ATTUNE_ASSIGN_OR_RETURN(impl->parameters, ParametersOf(configs));
  ATTUNE_ASSIGN_OR_RETURN(ListedComponent listed, ListComponent(impl->parameters, configs));
  impl->size = configs.size();
  if (!listed.component.parameters.empty()) impl->components.push_back(std::move(listed.component));
  impl->places = PlacesOf(impl->parameters, impl->components);
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
  const std::vector<uint64_t> positions = impl_->PositionsOf(index);
  Config config;
  auto place = impl_->places.begin();
  for (size_t i = 0; i < impl_->parameters.size(); ++i) {
    const Parameter& parameter = impl_->parameters[i];
    const bool has_choice = place != impl_->places.end() && place->parameter == i;
    const uint64_t digit = has_choice ? impl_->DigitAt(positions, *place++) : 0;
    config.emplace(parameter.name, parameter.values[digit]);
  }
  return config;
}

std::optional<uint64_t> ConfigSpace::IndexOf(const Config& config) const {
  if (config.size() != impl_->parameters.size()) return std::nullopt;
  std::vector<uint64_t> ranks(impl_->components.size(), 0);
  auto place = impl_->places.begin();
  for (size_t i = 0; i < impl_->parameters.size(); ++i) {
    const Parameter& parameter = impl_->parameters[i];
    const auto given = config.find(parameter.name);
    if (given == config.end()) return std::nullopt;
    const auto value = std::find(parameter.values.begin(), parameter.values.end(), given->second);
    if (value == parameter.values.end()) return std::nullopt;
    if (place == impl_->places.end() || place->parameter != i) continue;
    ranks[place->component] +=
        static_cast<uint64_t>(value - parameter.values.begin()) * place->weight;
    ++place;
  }
  std::vector<uint64_t> positions;
  for (size_t c = 0; c < ranks.size(); ++c) {
    const auto position = impl_->PositionOf(c, ranks[c]);
    if (!position.has_value()) return std::nullopt;
    positions.push_back(*position);
  }
  return impl_->IndexOfPositions(positions);
}

std::vector<uint64_t> ConfigSpace::Neighbours(uint64_t index, bool adjacent_only) const {
  assert(index < size());
  const std::vector<uint64_t> positions = impl_->PositionsOf(index);
  std::vector<uint64_t> neighbours;
  for (const Place& place : impl_->places) {
    impl_->AppendNeighboursAt(place, adjacent_only, positions, neighbours);
  }
  return neighbours;
}

}  // namespace attune
