// A graph captured from a stream, and its executable form.
#pragma once

#include <cuda.h>

#include <functional>

#include "attune/base/status.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// A graph that is destroyed when it goes out of scope.
class CapturedGraph {
 public:
  explicit CapturedGraph(const Driver& driver) : driver_(driver) {}
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (graph_ != nullptr) driver_.cuGraphDestroy(graph_);
  }

  // Ok if everything that `enqueue` enqueues could be captured, else the first error. Leaves the
  // stream as it was, also where `enqueue` throws. Called once.
  Status Capture(CUstream stream, const std::function<Status()>& enqueue) {
    // Restricts this thread only: other threads may allocate meanwhile.
    ATTUNE_RETURN_IF_ERROR(CudaStatus(
        driver_, driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "Cannot begin to capture a stream"));
    Ending ending{driver_, stream, &graph_};
    const Status enqueued = enqueue();
    const CUresult ended = ending.End();
    if (!enqueued.ok()) return enqueued;
    return CudaStatus(driver_, ended, "The capture of a launch is void");
  }

  CUgraph graph() const { return graph_; }

 private:
  // Ends a capture on every path.
  struct Ending {
    const Driver& driver;
    const CUstream stream;
    CUgraph* const graph;
    bool is_over = false;

    ~Ending() {
      if (!is_over) (void)End();
    }
    CUresult End() {
      is_over = true;
      return driver.cuStreamEndCapture(stream, graph);
    }
  };

  const Driver& driver_;
  CUgraph graph_ = nullptr;
};

// A graph that can be executed; destroyed when it goes out of scope, or when the device is done
// with it.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(const Driver& driver) : driver_(driver) {}
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;
  ~ExecutableGraph() {
    if (executable_ != nullptr) driver_.cuGraphExecDestroy(executable_);
  }

  // Called once. `graph` is not needed afterwards.
  Status Make(CUgraph graph) {
    return CudaStatus(driver_, driver_.cuGraphInstantiate(&executable_, graph, 0),
                      "A captured launch makes no graph that can be replayed");
  }

  // Brings it to the device, so that a replay does not wait for that.
  Status Upload(CUstream stream) const {
    return CudaStatus(driver_, driver_.cuGraphUpload(executable_, stream), "Cannot upload a graph");
  }

  Status Replay(CUstream stream) const {
    return CudaStatus(driver_, driver_.cuGraphLaunch(executable_, stream), "Cannot replay a graph");
  }

 private:
  const Driver& driver_;
  CUgraphExec executable_ = nullptr;
};

}  // namespace attune::cuda
