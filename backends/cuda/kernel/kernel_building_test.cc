#include "backends/cuda/kernel/kernel_building_test.h"

namespace attune::cuda {

const char* const kShippedKernels = ATTUNE_SOURCE_KERNEL_DIR;
const char* const kExampleKernels = ATTUNE_EXAMPLE_KERNEL_DIR;

}  // namespace attune::cuda
