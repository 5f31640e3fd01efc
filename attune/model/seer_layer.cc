#include "attune/model/seer_layer.h"

#include <cassert>

namespace attune::seer {

int64_t OutputWidth(const Layer& layer) {
  return (layer.w + 2 * layer.pad - layer.f) / layer.s + 1;
}

int CudnnNumber(int number, AlgorithmOrder order) {
  assert(number >= 0 && number < kAlgorithms);
  if (order == AlgorithmOrder::kCudnn || number < 4) return number;
  return number < 6 ? number + 2 : number - 2;
}

}  // namespace attune::seer
