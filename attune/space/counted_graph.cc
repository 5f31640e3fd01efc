#include "attune/space/counted_graph.h"

#include <algorithm>
#include <utility>

namespace attune {
namespace {

uint64_t Limited(unsigned __int128 count) {
  return count < CountedGraph::kTooMany ? static_cast<uint64_t>(count) : CountedGraph::kTooMany;
}

}  // namespace

CountedGraph::Step CountedGraph::StepAt(const Node& node, size_t i) const {
  const uint32_t value = values_[node.first_value + i];
  if (node.first_edge == kNoEdges) return {value, node.child, i * nodes_[node.child].count};
  return {value, children_[node.first_edge + i], before_[node.first_edge + i]};
}

std::optional<CountedGraph::Step> CountedGraph::Follow(NodeId node, uint32_t value) const {
  const std::span<const uint32_t> values = Values(node);
  const auto found = std::lower_bound(values.begin(), values.end(), value);
  if (found == values.end() || *found != value) return std::nullopt;
  return StepAt(nodes_[node], static_cast<size_t>(found - values.begin()));
}

CountedGraph::Step CountedGraph::Locate(NodeId node, uint64_t offset) const {
  const Node& at = nodes_[node];
  if (at.first_edge == kNoEdges) return StepAt(at, offset / nodes_[at.child].count);
  const auto first = before_.begin() + at.first_edge;
  const auto behind = std::upper_bound(first, first + at.degree, offset);
  return StepAt(at, static_cast<size_t>(behind - first) - 1);
}

GraphWriter::Values GraphWriter::AddValues(std::span<const uint32_t> positions) {
  const auto first = static_cast<uint32_t>(graph_.values_.size());
  graph_.values_.insert(graph_.values_.end(), positions.begin(), positions.end());
  return {first, static_cast<uint32_t>(positions.size())};
}

GraphWriter::NodeId GraphWriter::AddUniform(Values values, NodeId child) {
  CountedGraph::Node node;
  node.count = Limited(static_cast<unsigned __int128>(graph_.nodes_[child].count) * values.count);
  node.first_value = values.first;
  node.degree = values.count;
  node.child = child;
  graph_.nodes_.push_back(node);
  return static_cast<NodeId>(graph_.nodes_.size() - 1);
}

GraphWriter::NodeId GraphWriter::AddNode(Values values, std::span<const NodeId> children) {
  if (std::all_of(children.begin(), children.end(),
                  [&children](NodeId child) { return child == children.front(); })) {
    return AddUniform(values, children.front());
  }
  CountedGraph::Node node;
  node.first_value = values.first;
  node.degree = values.count;
  node.first_edge = static_cast<uint32_t>(graph_.children_.size());
  unsigned __int128 count = 0;
  for (const NodeId child : children) {
    graph_.children_.push_back(child);
    graph_.before_.push_back(Limited(count));
    count += graph_.nodes_[child].count;
  }
  node.count = Limited(count);
  graph_.nodes_.push_back(node);
  return static_cast<NodeId>(graph_.nodes_.size() - 1);
}

CountedGraph GraphWriter::Finish(NodeId root) && {
  graph_.root_ = root;
  return std::move(graph_);
}

}  // namespace attune
