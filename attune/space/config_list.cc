#include "attune/space/config_list.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

// The weight of each parameter's value position in a rank.
Result<std::vector<uint64_t>> WeightsOf(const std::vector<Parameter>& parameters,
                                        const std::vector<size_t>& chosen) {
  std::vector<uint64_t> weights(chosen.size());
  unsigned __int128 weight = 1;
  for (size_t i = chosen.size(); i-- > 0;) {
    weights[i] = static_cast<uint64_t>(weight);
    weight *= parameters[chosen[i]].values.size();
    if (weight > std::numeric_limits<int64_t>::max()) {
      return ResourceExhausted(
          "The parameters of the listed configs have 2^63 combinations of values or more; a rank "
          "cannot count them.");
    }
  }
  return weights;
}

}  // namespace

Result<std::vector<Parameter>> ParametersOf(const std::vector<Config>& configs) {
  if (configs.empty()) return InvalidArgument("A space was to be made of an empty list.");
  std::map<std::string, std::set<ParameterValue>, std::less<>> values;
  for (const auto& [name, value] : configs.front()) values[name].insert(value);
  for (const Config& config : configs) {
    bool fits = config.size() == values.size();
    for (const auto& [name, value] : config) {
      const auto known = values.find(name);
      fits = fits && known != values.end();
      if (fits) known->second.insert(value);
    }
    if (!fits) {
      return InvalidArgument(fmt::format("Listed config '{}' has other parameters than '{}'.",
                                         Text(config), Text(configs.front())));
    }
  }
  std::vector<Parameter> parameters;
  for (auto& [name, of_name] : values)
    parameters.push_back({name, {of_name.begin(), of_name.end()}});
  return parameters;
}

Result<ListedComponent> ListComponent(const std::vector<Parameter>& parameters,
                                      const std::vector<Config>& configs) {
  ListedComponent listed;
  std::vector<size_t>& chosen = listed.component.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].values.size() > 1) chosen.push_back(i);
  }
  ATTUNE_ASSIGN_OR_RETURN(listed.component.weights, WeightsOf(parameters, chosen));
  std::vector<uint64_t> rank_of_config;
  for (const Config& config : configs) {
    uint64_t rank = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Parameter& parameter = parameters[chosen[i]];
      const auto value = std::lower_bound(parameter.values.begin(), parameter.values.end(),
                                          config.at(parameter.name));
      rank += static_cast<uint64_t>(value - parameter.values.begin()) * listed.component.weights[i];
    }
    rank_of_config.push_back(rank);
  }
  std::vector<uint64_t>& ranks = listed.component.ranks;
  ranks = rank_of_config;
  std::sort(ranks.begin(), ranks.end());
  const auto repeated = std::adjacent_find(ranks.begin(), ranks.end());
  if (repeated != ranks.end()) {
    const auto which = std::find(rank_of_config.begin(), rank_of_config.end(), *repeated);
    return InvalidArgument(
        fmt::format("Config '{}' is listed twice.",
                    Text(configs[static_cast<size_t>(which - rank_of_config.begin())])));
  }
  for (const uint64_t rank : rank_of_config) {
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
    listed.place_of_config.push_back(static_cast<uint64_t>(place - ranks.begin()));
  }
  return listed;
}

}  // namespace attune
