#include "backends/hip/cuda_on_hip.h"

namespace attune::hip {
namespace {

// Kernels count on warps of 32 threads. A wavefront of 64 is two of them: a shuffle of width 32
// stays within each, and threads that have no partner in the mask of CUDA are in no kernel of ours.
constexpr std::string_view kCudaPrelude = R"hip(#include <hip/hip_runtime.h>
#line 1 "cuda_on_hip"
#define __shfl_sync(mask, value, lane) __shfl(value, lane, 32)
#define __shfl_xor_sync(mask, value, step) __shfl_xor(value, step, 32)
#define __shfl_up_sync(mask, value, step) __shfl_up(value, step, 32)
#define __shfl_down_sync(mask, value, step) __shfl_down(value, step, 32)
)hip";

// HIP's header leaves a macro of that name defined, with another meaning.
constexpr std::string_view kOpenClPrelude = R"hip(#undef __local
#pragma clang force_cuda_host_device begin
)hip";

}  // namespace

std::string_view CudaOnHip() { return kCudaPrelude; }

std::string_view OpenClOnCudaOnHip() { return kOpenClPrelude; }

}  // namespace attune::hip
