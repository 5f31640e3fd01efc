// The verifier's work on a CUDA device's own memory.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "attune/base/status.h"
#include "attune/device/memory_operations.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// Recipe of the kernels below, on any machine.
Result<BuildRecipe> CudaMemoryRecipe(const Nvrtc& nvrtc, const std::string& arch);

class CudaMemory final : public MemoryOperations {
 public:
  // Compiles its two kernels. Borrows `device`. kUnavailable without a compiler.
  static Result<std::unique_ptr<CudaMemory>> Create(CudaDevice& device, const Nvrtc& nvrtc);

  Status Fill(BufferView to, size_t size_bytes, uint16_t pattern) override;
  Status Copy(BufferView from, BufferView to, size_t size_bytes) override;
  Result<uint64_t> Fingerprint(BufferView of, size_t size_bytes) override;
  Result<OutputComparison> Compare(BufferView output, BufferView reference,
                                   const ComparisonTerms& terms) override;

 private:
  explicit CudaMemory(CudaDevice& device) : device_(device) {}

  Status Check(CUresult code, const char* what) const;
  // Blocks of a grid for `items`: each thread loops over its share.
  unsigned BlocksFor(int64_t items) const;

  CudaDevice& device_;
  std::shared_ptr<Module> module_;
  CUfunction fingerprint_ = nullptr;
  CUfunction compare_ = nullptr;
  std::unique_ptr<Buffer> parts_;  // The result of each block.
};

}  // namespace attune::cuda
