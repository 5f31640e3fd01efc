// Layers between the convolutions of a network, as libraries run them: no operators that candidates
// compute, but still measured (attune seer collect).
#pragma once

#include <cstdint>
#include <memory>

#include "attune/base/status.h"
#include "attune/device/device.h"

namespace attune {

enum class LayerKind {
  kMaxPool,          // Operands: images, output.
  kMaxPoolGradient,  // Images, gradients of the output, output, gradients of the images.
  kToChannelsLast,   // Images, the same with the channels innermost.
};

// A layer on square images, f32, channels outermost.
struct NetworkLayer {
  LayerKind kind = LayerKind::kMaxPool;
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t width = 1;
  int64_t out_width = 1;
  // For pooling alone.
  int64_t window = 1;
  int64_t stride = 1;
  int64_t pad = 0;
};

// A second interface of solvers for libraries with such layers.
class LayerLibrary {
 public:
  virtual ~LayerLibrary() = default;

  // kUnsupported if the library does not compute the layer, kUnavailable if it is missing.
  virtual Result<std::unique_ptr<Executable>> LoadLayer(const NetworkLayer& layer,
                                                        Device& device) const = 0;
};

}  // namespace attune
