#include "backends/cuda/cudnn/cudnn_executable.h"

#include <utility>

#include "backends/cuda/driver/replayed_executable.h"
#include "backends/cuda/driver/scratch.h"

namespace attune::cuda {
namespace {

// `Convolution` runs a `Way` to compute it, which has workspace_bytes.
template <class Convolution, class Way>
class CudnnExecutable final : public Executable {
 public:
  CudnnExecutable(CudaDevice& device, Convolution convolution, Way way)
      : device_(device), convolution_(std::move(convolution)), way_(std::move(way)) {}

  size_t workspace_bytes() const override { return ScratchBytes(way_.workspace_bytes); }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    return convolution_.Run(way_, CallOf(arguments, device_));
  }

 private:
  CudaDevice& device_;
  const Convolution convolution_;
  const Way way_;
};

template <class Convolution, class Way>
std::unique_ptr<Executable> Made(CudaDevice& device, Convolution convolution, Way way) {
  const ReplayTerms terms{.library = &convolution.library().enqueue_mutex()};
  return ReplayIfSlow(device,
                      std::make_unique<CudnnExecutable<Convolution, Way>>(
                          device, std::move(convolution), std::move(way)),
                      terms);
}

}  // namespace

std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnProduct product,
                                                CudnnProduct::Algorithm algorithm) {
  return Made(device, std::move(product), algorithm);
}

std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnGraph graph,
                                                CudnnPlan plan) {
  return Made(device, std::move(graph), std::move(plan));
}

}  // namespace attune::cuda
