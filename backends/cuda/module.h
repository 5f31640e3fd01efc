// Machine code on a device: a module and its functions.
#pragma once

#include <cuda.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/solver.h"
#include "backends/cuda/cuda_device.h"

namespace attune::cuda {

// Threads of a block, blocks of a grid; dimensions that are not used are 1.
struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;  // Of dynamic shared memory.
};

// Unloaded when it goes out of scope; the device outlives it.
class Module {
 public:
  static Result<std::unique_ptr<Module>> Load(CudaDevice& device, const Artifact& cubin);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  // The function `name`, ready for `shared_bytes` of dynamic shared memory.
  Result<CUfunction> Function(const std::string& name, unsigned shared_bytes) const;

  // How many parameters a function has; none where the driver does not tell (before CUDA 12.4).
  std::optional<size_t> ParameterCount(CUfunction function) const;

  // Enqueues one launch; `arguments` are addresses of the values.
  Status Launch(CUfunction function, const LaunchShape& shape, void** arguments,
                CUstream stream) const;

 private:
  explicit Module(CudaDevice& device) : device_(device) {}

  CudaDevice& device_;
  CUmodule module_ = nullptr;
};

}  // namespace attune::cuda
