#include "attune/space/config_list.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

// Positions of values, one for each parameter that has a choice.
using Row = std::vector<uint32_t>;

// Graph of rows in ascending order.
class RowGraph {
 public:
  RowGraph(const std::vector<const Row*>& rows, size_t levels) : rows_(rows), levels_(levels) {}

  CountedGraph Write() && {
    const GraphWriter::NodeId root = NodeOf(0, rows_.size(), 0);
    return std::move(writer_).Finish(root);
  }

 private:
  // Node of the rows [begin, end), which agree up to `level`.
  GraphWriter::NodeId NodeOf(size_t begin, size_t end, size_t level) {
    if (level == levels_) return CountedGraph::kEnd;
    std::vector<uint32_t> values;
    std::vector<GraphWriter::NodeId> children;
    while (begin < end) {
      const uint32_t value = (*rows_[begin])[level];
      size_t behind = begin + 1;
      while (behind < end && (*rows_[behind])[level] == value) ++behind;
      values.push_back(value);
      children.push_back(NodeOf(begin, behind, level + 1));
      begin = behind;
    }
    return writer_.AddNode(writer_.AddValues(values), children);
  }

  const std::vector<const Row*>& rows_;
  size_t levels_;
  GraphWriter writer_;
};

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

Result<ListedGroup> ListGroup(const std::vector<Parameter>& parameters,
                              const std::vector<Config>& configs) {
  ListedGroup listed;
  std::vector<size_t>& chosen = listed.group.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].values.size() > 1) chosen.push_back(i);
  }
  std::vector<Row> rows;
  for (const Config& config : configs) {
    Row& row = rows.emplace_back();
    for (const size_t i : chosen) {
      const std::vector<ParameterValue>& values = parameters[i].values;
      const auto value =
          std::lower_bound(values.begin(), values.end(), config.at(parameters[i].name));
      row.push_back(static_cast<uint32_t>(value - values.begin()));
    }
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&rows](size_t a, size_t b) { return rows[a] < rows[b]; });
  listed.place_of_config.resize(rows.size());
  std::vector<const Row*> sorted;
  for (const size_t which : order) {
    if (!sorted.empty() && *sorted.back() == rows[which]) {
      return InvalidArgument(fmt::format("Config '{}' is listed twice.", Text(configs[which])));
    }
    listed.place_of_config[which] = sorted.size();
    sorted.push_back(&rows[which]);
  }
  listed.group.graph = RowGraph(sorted, chosen.size()).Write();
  return listed;
}

}  // namespace attune
