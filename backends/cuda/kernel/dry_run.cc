#include "backends/cuda/kernel/dry_run.h"

#include "backends/cuda/driver/captured_graph.h"
#include "backends/cuda/driver/graph_nodes.h"

namespace attune::cuda {
namespace {

bool ReadsGraphs(const Driver& driver) {
  return ListsGraphs(driver) && driver.cuGraphKernelNodeGetParams != nullptr &&
         driver.cuFuncGetName != nullptr && driver.cuKernelGetFunction != nullptr &&
         driver.cuFuncGetAttribute != nullptr &&
         driver.cuOccupancyMaxActiveBlocksPerMultiprocessor != nullptr;
}

// 0 if the driver does not report it.
int64_t AttributeOf(const Driver& driver, CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  return driver.cuFuncGetAttribute(&value, attribute, function) == CUDA_SUCCESS ? value : 0;
}

Result<ObservedLaunch> LaunchOf(const Driver& driver, CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver, driver.cuGraphKernelNodeGetParams(node, &params),
                                    "Cannot read a captured launch"));
  CUfunction function = params.func;
  if (function == nullptr) {
    ATTUNE_RETURN_IF_ERROR(CudaStatus(driver, driver.cuKernelGetFunction(&function, params.kern),
                                      "Cannot find the function of a captured kernel"));
  }
  ObservedLaunch launch;
  const char* name = nullptr;
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver, driver.cuFuncGetName(&name, function),
                                    "Cannot read the name of a captured kernel"));
  launch.name = name;
  launch.blocks = int64_t{params.gridDimX} * params.gridDimY * params.gridDimZ;
  launch.threads = int64_t{params.blockDimX} * params.blockDimY * params.blockDimZ;
  launch.registers = AttributeOf(driver, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  launch.shared_bytes = AttributeOf(driver, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) +
                        int64_t{params.sharedMemBytes};
  int resident = 0;
  const CUresult told = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, function, static_cast<int>(launch.threads), params.sharedMemBytes);
  if (told == CUDA_SUCCESS) launch.blocks_per_multiprocessor = resident;
  return launch;
}

}  // namespace

Result<std::vector<ObservedLaunch>> DryRun(const Driver& driver, CUstream stream,
                                           const std::function<Status()>& launch) {
  if (!ReadsGraphs(driver)) {
    return Unsupported(
        "The driver does not tell what a captured graph launches. Install a newer "
        "one: that of CUDA 12.3 does.");
  }
  CapturedGraph graph(driver);
  ATTUNE_RETURN_IF_ERROR(graph.Capture(stream, launch));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CUgraphNode> nodes, NodesOf(driver, graph.graph()));
  std::vector<ObservedLaunch> launches;
  for (const CUgraphNode node : nodes) {
    ATTUNE_ASSIGN_OR_RETURN(const CUgraphNodeType type, TypeOf(driver, node));
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    ATTUNE_ASSIGN_OR_RETURN(ObservedLaunch one, LaunchOf(driver, node));
    launches.push_back(std::move(one));
  }
  return launches;
}

}  // namespace attune::cuda
