// Machine code on a device: a module and its functions.
#pragma once

#include <cuda.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// Threads of a block, blocks of a grid; dimensions that are not used are 1.
struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;    // Dynamic shared memory.
  bool is_cooperative = false;  // All blocks run at once, so that they may wait for each other.
  // Blocks of a cluster, if the launch sets it and not the code; all 0 otherwise.
  std::array<unsigned, 3> cluster = {0, 0, 0};
};

// True if code has global variables that it may write to.
bool HasVariables(const Artifact& cubin);

// kUnsupported, with the reason, if the blocks of `function` come in clusters that do not fit: no
// group of multiprocessors that may share memory has room for one, because some are disabled, or
// the device is a partition; or the driver launches no clusters. Ok where the driver does not
// report this (before CUDA 11.8).
// REQUIRES: the context of the function is current.
Status CheckClustersFit(const Driver& driver, CUfunction function, const LaunchShape& shape);

// kUnsupported, with both numbers, if the blocks of a cooperative launch cannot run at once on this
// device, or the driver has no such launches. Ok for other launches. REQUIRES: as above.
Status CheckBlocksFit(const Driver& driver, CUfunction function, const LaunchShape& shape,
                      int multiprocessors);

// Unloaded with its last user; the device outlives it. Thread-safe.
class Module {
 public:
  // The same code is loaded once on a device and shared while it has users. So the second shape of
  // a kernel for any size has nothing to load. Code with variables of its own (HasVariables) is
  // loaded anew for each caller: two shapes may be computed at the same time.
  static Result<std::shared_ptr<Module>> Load(CudaDevice& device, const Artifact& cubin);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  // The function `name`, ready for `shared_bytes` of dynamic shared memory and for the amounts of
  // earlier requests.
  Result<CUfunction> Function(const std::string& name, unsigned shared_bytes);

  // The number of parameters of a function; none where the driver does not report it (before CUDA
  // 12.4).
  std::optional<size_t> ParameterCount(CUfunction function) const;

  // Enqueues one launch; `arguments` are addresses of the values.
  Status Launch(CUfunction function, const LaunchShape& shape, void** arguments,
                CUstream stream) const;

 private:
  explicit Module(CudaDevice& device) : device_(device) {}
  static Result<std::shared_ptr<Module>> LoadAnew(CudaDevice& device, const Artifact& cubin);

  CudaDevice& device_;
  CUmodule module_ = nullptr;
  std::mutex mutex_;                              // Guards shared_bytes_.
  std::map<std::string, unsigned> shared_bytes_;  // Ready amount per function.
};

}  // namespace attune::cuda
