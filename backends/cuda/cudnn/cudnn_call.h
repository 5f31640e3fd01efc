// One call of cuDNN: its operands, and the stream that it is enqueued on.
#pragma once

#include <cuda.h>

#include "attune/device/device.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// Addresses in the order of Operands(conv).
struct CudnnCall {
  const void* first = nullptr;
  const void* second = nullptr;
  void* output = nullptr;
  void* workspace = nullptr;
  CUstream stream = nullptr;
};

// REQUIRES: convolutions without a bias, which have three operands.
inline CudnnCall CallOf(const Arguments& arguments, const CudaDevice& device) {
  const auto& operands = arguments.operands;
  return {AddressOf(operands[0]), AddressOf(operands[1]), AddressOf(operands.back()),
          AddressOf(arguments.workspace), device.StreamOf(arguments)};
}

}  // namespace attune::cuda
