#include "attune/space/counted_graph.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

using NodeId = CountedGraph::NodeId;

// Value 1, then 0 or 2; or value 4, then 2.
CountedGraph TwoLevels() {
  GraphWriter writer;
  const std::vector<uint32_t> both = {0, 2};
  const std::vector<uint32_t> one = {2};
  const std::vector<uint32_t> first = {1, 4};
  const NodeId wide = writer.AddUniform(writer.AddValues(both), CountedGraph::kEnd);
  const NodeId narrow = writer.AddUniform(writer.AddValues(one), CountedGraph::kEnd);
  const std::vector<NodeId> children = {wide, narrow};
  return std::move(writer).Finish(writer.AddNode(writer.AddValues(first), children));
}

TEST(CountedGraphTest, CountsTheWays) {
  const CountedGraph graph = TwoLevels();

  EXPECT_EQ(graph.size(), 3u);
  EXPECT_EQ(graph.Count(graph.Child(graph.root(), 0)), 2u);
  EXPECT_EQ(graph.Count(graph.Child(graph.root(), 1)), 1u);
  EXPECT_EQ(graph.Count(CountedGraph::kEnd), 1u);
}

TEST(CountedGraphTest, StepsToAValueKnowWhatIsBefore) {
  const CountedGraph graph = TwoLevels();

  const auto step = graph.Follow(graph.root(), 4);

  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->before, 2u);
  EXPECT_EQ(step->child, graph.Child(graph.root(), 1));
  EXPECT_FALSE(graph.Follow(graph.root(), 2).has_value());
  EXPECT_FALSE(graph.Follow(graph.root(), 5).has_value());
}

TEST(CountedGraphTest, StepsToAPlaceAreTheInverse) {
  const CountedGraph graph = TwoLevels();

  EXPECT_EQ(graph.Locate(graph.root(), 0).value, 1u);
  EXPECT_EQ(graph.Locate(graph.root(), 1).value, 1u);
  EXPECT_EQ(graph.Locate(graph.root(), 2).value, 4u);
  EXPECT_EQ(graph.Locate(graph.root(), 2).before, 2u);
  EXPECT_EQ(graph.Locate(graph.Child(graph.root(), 0), 1).value, 2u);
}

TEST(CountedGraphTest, NodesWhoseChildrenAreOneAreUniform) {
  GraphWriter writer;
  const std::vector<uint32_t> values = {0, 1, 2};
  const NodeId last = writer.AddUniform(writer.AddValues(values), CountedGraph::kEnd);
  const size_t before = writer.steps();

  const NodeId root = writer.AddNode({0, 3}, std::vector<NodeId>(3, last));

  EXPECT_EQ(writer.steps(), before);
  const CountedGraph graph = std::move(writer).Finish(root);
  EXPECT_EQ(graph.size(), 9u);
  EXPECT_EQ(graph.Locate(root, 7).value, 2u);
  EXPECT_EQ(graph.Locate(root, 7).before, 6u);
}

TEST(CountedGraphTest, CountsStopWhereNoIndexReaches) {
  GraphWriter writer;
  std::vector<uint32_t> positions(1024);
  for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  const GraphWriter::Values values = writer.AddValues(positions);
  NodeId node = CountedGraph::kEnd;
  for (int level = 0; level < 20; ++level) node = writer.AddUniform(values, node);

  EXPECT_EQ(std::move(writer).Finish(node).size(), CountedGraph::kTooMany);
}

}  // namespace
}  // namespace attune
