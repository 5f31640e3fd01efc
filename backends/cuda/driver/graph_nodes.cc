#include "backends/cuda/driver/graph_nodes.h"

#include <string_view>

#include <fmt/format.h>

namespace attune::cuda {

bool ListsGraphs(const Driver& driver) {
  return driver.cuGraphGetNodes != nullptr && driver.cuGraphNodeGetType != nullptr;
}

Result<std::vector<CUgraphNode>> NodesOf(const Driver& driver, CUgraph graph) {
  size_t count = 0;
  constexpr std::string_view kWhat = "Cannot list what a graph has";
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver, driver.cuGraphGetNodes(graph, nullptr, &count), kWhat));
  std::vector<CUgraphNode> nodes(count);
  ATTUNE_RETURN_IF_ERROR(
      CudaStatus(driver, driver.cuGraphGetNodes(graph, nodes.data(), &count), kWhat));
  return nodes;
}

Result<CUgraphNodeType> TypeOf(const Driver& driver, CUgraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver, driver.cuGraphNodeGetType(node, &type),
                                    "Cannot tell what a node of a graph is"));
  return type;
}

Status CheckComputesOnly(const Driver& driver, CUgraph graph) {
  if (!ListsGraphs(driver)) return Unsupported("The driver does not tell what a graph has.");
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CUgraphNode> nodes, NodesOf(driver, graph));
  for (const CUgraphNode node : nodes) {
    ATTUNE_ASSIGN_OR_RETURN(const CUgraphNodeType type, TypeOf(driver, node));
    const bool computes = type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMSET ||
                          type == CU_GRAPH_NODE_TYPE_EMPTY;
    if (computes) continue;
    return Unsupported(
        fmt::format("The graph has a node of type {}, which is neither a kernel nor fills memory.",
                    static_cast<int>(type)));
  }
  return Status::Ok();
}

}  // namespace attune::cuda
