// The valid combinations of some parameters as a graph that knows how many there are. Private to
// this module.
//
// A node stands for all possible continuations of a choice of the first parameters. Choices with
// the same continuations share a node, so that the graph is small even if the combinations are
// many. Each node has the allowed values of its parameter in the author's order and, for each, the
// node of the next parameter. Paths through the graph are counted: the place of a combination is
// the number of combinations before it in depth-first order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune {

// Made by a GraphWriter. Immutable then, and thread-safe.
class CountedGraph {
 public:
  using NodeId = uint32_t;
  static constexpr NodeId kEnd = 0;  // Behind the last parameter: exactly one, empty continuation.
  // Counts stop here, where they no longer fit an index.
  static constexpr uint64_t kTooMany = uint64_t{1} << 63;

  // A value of a node, and the node that follows it.
  struct Step {
    uint32_t value = 0;   // Position in the list of the parameter's values.
    NodeId child = kEnd;  // Node of the next parameter.
    uint64_t before = 0;  // Combinations below the node that have an earlier value.
  };

  NodeId root() const { return root_; }
  uint64_t size() const { return Count(root_); }
  // Combinations of the parameter of `node` and those after it.
  uint64_t Count(NodeId node) const { return nodes_[node].count; }
  // Positions of the allowed values, ascending.
  std::span<const uint32_t> Values(NodeId node) const {
    return {values_.data() + nodes_[node].first_value, nodes_[node].degree};
  }
  // The node that follows the allowed value number `i`. REQUIRES: i < Values(node).size().
  NodeId Child(NodeId node, size_t i) const {
    const Node& at = nodes_[node];
    return at.first_edge == kNoEdges ? at.child : children_[at.first_edge + i];
  }

  // The step to `value`; nothing if it is not allowed here.
  std::optional<Step> Follow(NodeId node, uint32_t value) const;
  // The step to the value that has combination number `offset` of the node below it.
  // REQUIRES: offset < Count(node).
  Step Locate(NodeId node, uint64_t offset) const;

 private:
  friend class GraphWriter;
  static constexpr uint32_t kNoEdges = UINT32_MAX;

  struct Node {
    uint64_t count = 1;
    uint32_t first_value = 0;
    uint32_t degree = 0;
    uint32_t first_edge = kNoEdges;  // None if every value leads to `child`.
    NodeId child = kEnd;
  };

  Step StepAt(const Node& node, size_t i) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // The end.
  std::vector<uint32_t> values_;  // Values of all nodes; nodes with the same values share them.
  std::vector<NodeId> children_;
  std::vector<uint64_t> before_;  // Beside `children_`.
  NodeId root_ = kEnd;
};

// Writes a graph from its last parameter to its first.
class GraphWriter {
 public:
  using NodeId = CountedGraph::NodeId;

  // A list of positions that nodes can have, ascending and not empty.
  struct Values {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  Values AddValues(std::span<const uint32_t> positions);

  // Adds a node with `child` behind all its values.
  NodeId AddUniform(Values values, NodeId child);
  // A node with one child for each value.
  NodeId AddNode(Values values, std::span<const NodeId> children);

  // Number of stored children and values, without nodes.
  size_t steps() const { return graph_.children_.size() + graph_.values_.size(); }

  CountedGraph Finish(NodeId root) &&;

 private:
  CountedGraph graph_;
};

}  // namespace attune
