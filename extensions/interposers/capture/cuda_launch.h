// One stored launch of CUDA: its buffers are copied before and after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extensions/interposers/capture/cuda_objects.h"
#include "extensions/interposers/capture/spool_file.h"

namespace attune::capture {

// As cuLaunchKernel has them.
struct CudaLaunchCall {
  const void* caller = nullptr;
  CUfunction function = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared_bytes = 0;
  unsigned attribute_count = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// As ClLaunch is.
class CudaLaunch {
 public:
  CudaLaunch(const CudaLaunchCall& call, CudaFunction function)
      : call_(call), function_(std::move(function)) {}

  std::string Look();
  uint64_t Shape() const;
  std::string Begin(uint64_t number);
  std::string End(bool& is_changed);

 private:
  struct Argument {
    SpoolArgument told;
    std::string value;
    CUdeviceptr address = 0;  // A buffer.
    CUdeviceptr allocation = 0;
    uint64_t hash = 0;
  };

  std::string LookAtArguments();
  void LookForBuffer(Argument& argument) const;
  // Memory between two buffers of one allocation belongs to the first.
  void DivideAllocations();
  bool PutCode();
  bool PutAll(uint64_t number);
  SpoolFile::Reader ReaderOf(CUdeviceptr address) const;

  const CudaLaunchCall call_;
  const CudaFunction function_;
  SpoolGeometry geometry_;
  std::vector<Argument> arguments_;
  SpoolFile file_;
};

}  // namespace attune::capture
