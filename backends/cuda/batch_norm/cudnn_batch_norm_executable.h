// Batch norms that cuDNN is ready to run, as executables.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "attune/device/device.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/replayed_executable.h"

namespace attune::cuda {

// `Norm` has workspace_bytes(), library() and Run(arguments, stream).
template <class Norm>
class CudnnBatchNormExecutable final : public Executable {
 public:
  CudnnBatchNormExecutable(CudaDevice& device, std::unique_ptr<const Norm> norm)
      : device_(device), norm_(std::move(norm)) {}

  size_t workspace_bytes() const override { return norm_->workspace_bytes(); }
  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    return norm_->Run(arguments, device_.StreamOf(arguments));
  }

 private:
  CudaDevice& device_;
  const std::unique_ptr<const Norm> norm_;
};

// Borrows `device`. Launches that keep the calling thread long become replays (ReplayIfSlow).
template <class Norm>
std::unique_ptr<Executable> MakeCudnnBatchNormExecutable(CudaDevice& device,
                                                         std::unique_ptr<const Norm> norm) {
  const ReplayTerms terms{.library = &norm->library().enqueue_mutex()};
  return ReplayIfSlow(
      device, std::make_unique<CudnnBatchNormExecutable<Norm>>(device, std::move(norm)), terms);
}

}  // namespace attune::cuda
